/** What is said of a kind of event. */

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
