/** Every kind of event: its name on the wire, what it means and what it tells. */

export interface EventKind {
  type: string
  name: string
  description: string
  /** Which feeds it stands in. */
  of: 'generation' | 'project' | 'both'
  fields?: readonly EventFieldName[]
}

export type EventFieldName =
  | 'stepIndex'
  | 'attempt'
  | 'reason'
  | 'step'
  | 'toolCall'
  | 'name'
  | 'callStatus'
  | 'toolCalls'
  | 'toolId'
  | 'agentId'
  | 'child'
  | 'childId'
  | 'childStatus'
  | 'descendantId'
  | 'apiKeyId'
  | 'target'
  | 'gateChangeId'
  | 'proposedBy'
  | 'stopReason'
  | 'code'
  | 'approval'
  | 'verdict'
  | 'decidedBy'
  | 'outcome'
  | 'grant'
  | 'upstreamStatus'
  | 'faultCode'
  | 'added'
  | 'removed'
  | 'changed'

export const eventKinds: readonly EventKind[] = [
  {
    type: 'GENERATION_QUEUED',
    name: 'GenerationQueuedEvent',
    description: 'A generation was made.',
    of: 'both',
  },
  {
    type: 'GENERATION_STARTED',
    name: 'GenerationStartedEvent',
    description: 'A worker took it for the first time.',
    of: 'both',
  },
  {
    type: 'GENERATION_RESUMED',
    name: 'GenerationResumedEvent',
    description: 'A worker took it again after a pause.',
    of: 'both',
  },
  {
    type: 'STEP_RESET',
    name: 'StepResetEvent',
    description: 'The attempt failed: drop the text of this step, another attempt begins.',
    of: 'both',
    fields: ['stepIndex', 'attempt', 'reason'],
  },
  {
    type: 'MESSAGE_COMMITTED',
    name: 'MessageCommittedEvent',
    description: "The model's answer is a fact; it repeats the whole text.",
    of: 'both',
    fields: ['stepIndex', 'step'],
  },
  {
    type: 'TOOL_CALL_PROPOSED',
    name: 'ToolCallProposedEvent',
    description: 'The model asked for a tool.',
    of: 'both',
    fields: ['toolCall', 'name', 'stepIndex'],
  },
  {
    type: 'TOOL_CALL_STARTED',
    name: 'ToolCallStartedEvent',
    description: 'The call is being sent.',
    of: 'both',
    fields: ['toolCall', 'name', 'attempt'],
  },
  {
    type: 'TOOL_CALL_SETTLED',
    name: 'ToolCallSettledEvent',
    description: 'The call has its outcome.',
    of: 'both',
    fields: ['toolCall', 'name', 'callStatus'],
  },
  {
    type: 'REQUIRES_ACTION',
    name: 'RequiresActionEvent',
    description: 'Client calls are open: run them and submitToolOutputs.',
    of: 'both',
    fields: ['toolCalls', 'descendantId'],
  },
  {
    type: 'APPROVAL_REQUESTED',
    name: 'ApprovalRequestedEvent',
    description: 'The gate stopped a call: somebody must decide.',
    of: 'both',
    fields: ['approval', 'toolCall', 'name', 'descendantId'],
  },
  {
    type: 'APPROVAL_VOTED',
    name: 'ApprovalVotedEvent',
    description: 'Somebody agreed; the quorum is not reached yet.',
    of: 'both',
    fields: ['approval', 'toolCall', 'name', 'verdict', 'decidedBy', 'descendantId'],
  },
  {
    type: 'APPROVAL_DECIDED',
    name: 'ApprovalDecidedEvent',
    description: 'The verdict is given.',
    of: 'both',
    fields: ['approval', 'toolCall', 'name', 'verdict', 'decidedBy', 'descendantId'],
  },
  {
    type: 'APPROVAL_EXPIRED',
    name: 'ApprovalExpiredEvent',
    description: 'Nobody answered in time; the call was rejected.',
    of: 'both',
    fields: ['approval', 'toolCall', 'name', 'descendantId'],
  },
  {
    type: 'APPROVAL_ESCALATED',
    name: 'ApprovalEscalatedEvent',
    description: 'Nobody answered for a while; admins may decide too from now on.',
    of: 'both',
    fields: ['approval', 'toolCall', 'name', 'descendantId'],
  },
  {
    type: 'APPROVAL_VOIDED',
    name: 'ApprovalVoidedEvent',
    description: 'The question is void. When it can be asked again, an ApprovalRequestedEvent follows.',
    of: 'both',
    fields: ['approval', 'toolCall', 'name', 'reason', 'descendantId'],
  },
  {
    type: 'CHILD_STARTED',
    name: 'ChildStartedEvent',
    description: 'A call of an agent started a run within the run, here or in a run under it.',
    of: 'both',
    fields: ['toolCall', 'name', 'childId', 'child', 'agentId', 'descendantId'],
  },
  {
    type: 'CHILD_ENDED',
    name: 'ChildEndedEvent',
    description: 'A run within the run has ended, here or under it; its answer is the result of the call.',
    of: 'both',
    fields: ['toolCall', 'name', 'childId', 'child', 'childStatus', 'descendantId'],
  },
  {
    type: 'GENERATION_COMPLETED',
    name: 'GenerationCompletedEvent',
    description: 'It ended well.',
    of: 'both',
    fields: ['stopReason'],
  },
  {
    type: 'GENERATION_FAILED',
    name: 'GenerationFailedEvent',
    description: 'It failed.',
    of: 'both',
    fields: ['code'],
  },
  {
    type: 'GENERATION_CANCELLED',
    name: 'GenerationCancelledEvent',
    description: 'It was cancelled.',
    of: 'both',
  },
  {
    type: 'GENERATION_EXPIRED',
    name: 'GenerationExpiredEvent',
    description: 'Its time was over.',
    of: 'both',
  },
  {
    type: 'UNKNOWN_CALL_RESOLVED',
    name: 'UnknownCallResolvedEvent',
    description:
      'A person said, or an answer that came late told, what became of a call whose outcome was unknown.',
    of: 'project',
    fields: ['toolCall', 'name', 'outcome', 'decidedBy'],
  },
  {
    type: 'GRANT_CREATED',
    name: 'GrantCreatedEvent',
    description: 'A verdict was remembered for next calls.',
    of: 'project',
    fields: ['grant', 'approval', 'name'],
  },
  {
    type: 'GRANT_REVOKED',
    name: 'GrantRevokedEvent',
    description: 'A grant was ended early.',
    of: 'project',
    fields: ['grant', 'approval', 'name'],
  },
  {
    type: 'TOOL_CREATED',
    name: 'ToolCreatedEvent',
    description: 'A tool was saved.',
    of: 'project',
    fields: ['toolId', 'name'],
  },
  {
    type: 'TOOL_UPDATED',
    name: 'ToolUpdatedEvent',
    description: 'A tool was changed.',
    of: 'project',
    fields: ['toolId', 'name'],
  },
  {
    type: 'TOOL_DELETED',
    name: 'ToolDeletedEvent',
    description: 'A tool was deleted.',
    of: 'project',
    fields: ['toolId', 'name'],
  },
  {
    type: 'UPSTREAM_STATUS',
    name: 'UpstreamStatusEvent',
    description: 'The server behind an mcp tool answers again, or does not.',
    of: 'project',
    fields: ['toolId', 'upstreamStatus', 'faultCode'],
  },
  {
    type: 'UPSTREAM_CHANGED',
    name: 'UpstreamChangedEvent',
    description: 'The server behind an mcp tool offers something else. Each list of names holds at most 50.',
    of: 'project',
    fields: ['toolId', 'added', 'removed', 'changed'],
  },
  {
    type: 'AGENT_CREATED',
    name: 'AgentCreatedEvent',
    description: 'An agent was saved.',
    of: 'project',
    fields: ['agentId', 'name'],
  },
  {
    type: 'AGENT_UPDATED',
    name: 'AgentUpdatedEvent',
    description: 'An agent was changed.',
    of: 'project',
    fields: ['agentId', 'name'],
  },
  {
    type: 'AGENT_DELETED',
    name: 'AgentDeletedEvent',
    description: 'An agent was deleted.',
    of: 'project',
    fields: ['agentId', 'name'],
  },
  {
    type: 'API_KEY_CREATED',
    name: 'ApiKeyCreatedEvent',
    description: 'An API key was made.',
    of: 'project',
    fields: ['apiKeyId'],
  },
  {
    type: 'API_KEY_REVOKED',
    name: 'ApiKeyRevokedEvent',
    description: 'An API key was revoked.',
    of: 'project',
    fields: ['apiKeyId'],
  },
  {
    type: 'PROJECT_UPDATED',
    name: 'ProjectUpdatedEvent',
    description: 'The settings of the project were changed.',
    of: 'project',
  },
  {
    type: 'GATE_CHANGED',
    name: 'GateChangedEvent',
    description: 'The gate of a tool or agent was changed, or the rule of the project about such changes.',
    of: 'project',
    fields: ['target', 'name', 'decidedBy'],
  },
  {
    type: 'GATE_CHANGE_PROPOSED',
    name: 'GateChangeProposedEvent',
    description: 'A change of a gate waits for another person.',
    of: 'project',
    fields: ['gateChangeId', 'target', 'name', 'proposedBy'],
  },
  {
    type: 'GATE_CHANGE_DECIDED',
    name: 'GateChangeDecidedEvent',
    description: 'A person confirmed or rejected a proposed change of a gate.',
    of: 'project',
    fields: ['gateChangeId', 'target', 'name', 'verdict', 'decidedBy'],
  },
]
