/** Event types as GraphQL objects that do not declare themselves: its description, and its fields in addition to those of all events. */
import type { DeclaredType, EventType } from '../../../domain/events/index.ts'
import type { EventObject } from './event-fields.ts'
import { resourceEvents } from './resource-events.ts'

/** An event type that is missing here does not compile, nor does a field that reads data the type does not have. */
export const eventObjects: { [Type in Exclude<EventType, DeclaredType>]: EventObject<Type> } = {
  GENERATION_QUEUED: {
    description: 'A generation was created.',
  },
  GENERATION_STARTED: {
    description: 'A worker claimed the generation for the first time.',
  },
  GENERATION_RESUMED: {
    description: 'A worker claimed the generation again after a pause.',
  },
  STEP_RESET: {
    description: 'An attempt of a step failed and another one begins: discard the text of the step.',
    fields: (t, f) => ({ stepIndex: f.stepIndex(t), attempt: f.attempt(t), reason: f.reason(t) }),
  },
  MESSAGE_COMMITTED: {
    description: "The model's response is committed, with its whole text.",
    fields: (t, f) => ({ stepIndex: f.stepIndex(t), step: f.step(t) }),
  },
  TOOL_CALL_PROPOSED: {
    description: 'The model requested a tool call.',
    fields: (t, f) => ({ toolCall: f.toolCall(t), name: f.name(t), stepIndex: f.stepIndex(t) }),
  },
  TOOL_CALL_STARTED: {
    description: 'A tool call is being sent.',
    fields: (t, f) => ({ toolCall: f.toolCall(t), name: f.name(t), attempt: f.attempt(t) }),
  },
  TOOL_CALL_SETTLED: {
    description: 'A tool call has its outcome.',
    fields: (t, f) => ({ toolCall: f.toolCall(t), name: f.name(t), status: f.callStatus(t) }),
  },
  TOOL_CALL_UNKNOWN: {
    description:
      'The outcome of a tool call is unknown: it was sent and may have taken effect, and is not repeated. A ' +
      'ToolCallSettledEvent with the status UNKNOWN follows; resolveUnknownCall sets the outcome.',
    fields: (t, f) => ({ toolCall: f.toolCall(t), name: f.name(t), reason: f.unknownReason(t) }),
  },
  REQUIRES_ACTION: {
    description:
      'The generation waits for client tool calls: run them in the client, then submitToolOutputs.',
    fields: (t, f) => ({ toolCalls: f.toolCalls(t), descendantId: f.descendantId(t) }),
  },
  APPROVAL_REQUESTED: {
    description: 'The gate stopped a tool call until approvers decide.',
    fields: (t, f) => ({
      approval: f.approval(t),
      toolCall: f.toolCall(t),
      name: f.name(t),
      descendantId: f.descendantId(t),
    }),
  },
  APPROVAL_VOTED: {
    description: 'A person approved a tool call, and the quorum is not reached yet.',
    fields: (t, f) => ({
      approval: f.approval(t),
      toolCall: f.toolCall(t),
      name: f.name(t),
      verdict: f.verdict(t),
      decidedBy: f.decidedBy(t),
      decider: f.decider(t),
      via: f.via(t),
      descendantId: f.descendantId(t),
    }),
  },
  APPROVAL_DECIDED: {
    description: 'An approval was decided.',
    fields: (t, f) => ({
      approval: f.approval(t),
      toolCall: f.toolCall(t),
      name: f.name(t),
      verdict: f.verdict(t),
      decidedBy: f.decidedBy(t),
      decider: f.decider(t),
      via: f.via(t),
      descendantId: f.descendantId(t),
    }),
  },
  APPROVAL_EXPIRED: {
    description: 'No verdict was given in time, and the call was rejected.',
    fields: (t, f) => ({
      approval: f.approval(t),
      toolCall: f.toolCall(t),
      name: f.name(t),
      descendantId: f.descendantId(t),
    }),
  },
  APPROVAL_ESCALATED: {
    description: 'An approval had no verdict for escalateAfterSeconds; from now on, admins may decide too.',
    fields: (t, f) => ({
      approval: f.approval(t),
      toolCall: f.toolCall(t),
      name: f.name(t),
      descendantId: f.descendantId(t),
    }),
  },
  APPROVAL_VOIDED: {
    description:
      'An approval became void. When it can be requested again, an ApprovalRequestedEvent follows.',
    fields: (t, f) => ({
      approval: f.approval(t),
      toolCall: f.toolCall(t),
      name: f.name(t),
      reason: f.reason(t),
      descendantId: f.descendantId(t),
    }),
  },
  APPROVAL_CLAIMED: {
    description:
      'An approver claimed an approval with claimApproval, or renewed the claim; a claim expires without an event.',
    fields: (t, f) => ({
      approval: f.approval(t),
      toolCall: f.toolCall(t),
      name: f.name(t),
      claimedBy: f.claimedBy(t),
    }),
  },
  APPROVAL_RELEASED: {
    description: 'The claim of an approval was given up with releaseApproval.',
    fields: (t, f) => ({
      approval: f.approval(t),
      toolCall: f.toolCall(t),
      name: f.name(t),
      claimedBy: f.claimedBy(t),
    }),
  },
  APPROVAL_EXTENDED: {
    description: 'An approval has a later deadline, given by extendApproval.',
    fields: (t, f) => ({
      approval: f.approval(t),
      toolCall: f.toolCall(t),
      name: f.name(t),
      extendedBy: f.extendedBy(t),
      expiresAt: f.expiresAt(t),
      descendantId: f.descendantId(t),
    }),
  },
  CHILD_STARTED: {
    description:
      'A tool call of an agent started a child run, in this generation or in one of its child runs.',
    fields: (t, f) => ({
      toolCall: f.toolCall(t),
      name: f.name(t),
      childId: f.childId(t),
      child: f.child(t),
      agentId: f.agentId(t),
      descendantId: f.descendantId(t),
    }),
  },
  CHILD_ENDED: {
    description:
      'A child run ended, in this generation or in one of its child runs; its final answer is the result of the call.',
    fields: (t, f) => ({
      toolCall: f.toolCall(t),
      name: f.name(t),
      childId: f.childId(t),
      child: f.child(t),
      status: f.childStatus(t),
      descendantId: f.descendantId(t),
    }),
  },
  GENERATION_COMPLETED: {
    description: 'The generation completed.',
    fields: (t, f) => ({ stopReason: f.stopReason(t) }),
  },
  GENERATION_FAILED: {
    description: 'The generation failed.',
    fields: (t, f) => ({ code: f.failureCode(t) }),
  },
  GENERATION_CANCELLED: {
    description: 'The generation was cancelled.',
  },
  GENERATION_EXPIRED: {
    description: 'The generation reached its deadline.',
  },
  UNKNOWN_CALL_RESOLVED: {
    description:
      'The outcome of a tool call with status UNKNOWN became known: a person set it, or the result arrived late.',
    fields: (t, f) => ({
      toolCall: f.toolCall(t),
      name: f.name(t),
      outcome: f.outcome(t),
      decidedBy: f.decidedBy(t),
      decider: f.decider(t),
    }),
  },
  GRANT_CREATED: {
    description: 'A verdict was remembered as a grant for later calls.',
    fields: (t, f) => ({ grant: f.grant(t), approval: f.approval(t), name: f.name(t) }),
  },
  GRANT_REVOKED: {
    description: 'A grant was revoked.',
    fields: (t, f) => ({ grant: f.grant(t), approval: f.approval(t), name: f.name(t) }),
  },
  API_KEY_CREATED: {
    description: 'An API key was created.',
    fields: (t, f) => ({ apiKeyId: f.apiKeyId(t) }),
  },
  API_KEY_ACCEPTED: {
    description: 'The invitation to an API key was accepted.',
    fields: (t, f) => ({ apiKeyId: f.apiKeyId(t) }),
  },
  API_KEY_REVOKED: {
    description: 'An API key was revoked.',
    fields: (t, f) => ({ apiKeyId: f.apiKeyId(t) }),
  },
  PROJECT_UPDATED: {
    description: 'The settings of the project were changed.',
  },
  ...resourceEvents,
  GATE_CHANGED: {
    description: 'The gate of a tool or agent was changed, or gatesNeedSecond of the project.',
    fields: (t, f) => ({
      target: f.target(t),
      name: f.name(t),
      decidedBy: f.decidedBy(t),
      decider: f.decider(t),
    }),
  },
  GATE_CHANGE_PROPOSED: {
    description: 'A gate change was proposed and waits for another person to confirm it.',
    fields: (t, f) => ({
      gateChangeId: f.gateChangeId(t),
      target: f.target(t),
      name: f.name(t),
      proposedBy: f.proposedBy(t),
      proposer: f.proposer(t),
    }),
  },
  GATE_CHANGE_DECIDED: {
    description: 'A person confirmed or rejected a proposed gate change.',
    fields: (t, f) => ({
      gateChangeId: f.gateChangeId(t),
      target: f.target(t),
      name: f.name(t),
      verdict: f.verdict(t),
      decidedBy: f.decidedBy(t),
      decider: f.decider(t),
    }),
  },
}
