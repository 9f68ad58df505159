/**
 * All kinds of events, and the types that follow from them. An event kind is declared in this module and named
 * nowhere else.
 */
import type { EventRow } from '../../store/events/read.ts'
import * as access from './access-events.ts'
import * as agents from './agent-events.ts'
import * as approvals from './approval-events.ts'
import type { EventKind } from './define.ts'
import * as gates from './gate-events.ts'
import * as generations from './generation-events.ts'
import * as pauses from './pause-events.ts'
import * as resources from './resource-events.ts'
import * as retention from './retention-events.ts'
import * as calls from './tool-call-events.ts'
import * as slack from './slack-events.ts'
import * as tools from './tool-events.ts'
import * as triggers from './trigger-events.ts'
import * as webhooks from './webhook-events.ts'

/** The data of each kind as it is written. */
export interface EventData
  extends
    generations.GenerationEvents,
    calls.ToolCallEvents,
    approvals.ApprovalEvents,
    tools.ToolEvents,
    agents.AgentEvents,
    access.AccessEvents,
    gates.GateEvents,
    pauses.PauseEvents,
    resources.ResourceEvents,
    webhooks.WebhookEvents,
    slack.SlackEvents,
    triggers.TriggerEvents,
    retention.RetentionEvents {}

export type EventType = keyof EventData

/** An event that has happened, to be written in the transaction of the change that it reports. */
export type DomainEvent = { [Type in EventType]: { type: Type; data: EventData[Type] } }[EventType]

export const eventKinds = {
  GENERATION_QUEUED: generations.generationQueued,
  GENERATION_STARTED: generations.generationStarted,
  GENERATION_RESUMED: generations.generationResumed,
  STEP_RESET: generations.stepReset,
  MESSAGE_COMMITTED: generations.messageCommitted,
  TOOL_CALL_PROPOSED: calls.toolCallProposed,
  TOOL_CALL_STARTED: calls.toolCallStarted,
  TOOL_CALL_SETTLED: calls.toolCallSettled,
  TOOL_CALL_UNKNOWN: calls.toolCallUnknown,
  REQUIRES_ACTION: generations.requiresAction,
  APPROVAL_REQUESTED: approvals.approvalRequested,
  APPROVAL_VOTED: approvals.approvalVoted,
  APPROVAL_DECIDED: approvals.approvalDecided,
  APPROVAL_EXPIRED: approvals.approvalExpired,
  APPROVAL_ESCALATED: approvals.approvalEscalated,
  APPROVAL_VOIDED: approvals.approvalVoided,
  APPROVAL_CLAIMED: approvals.approvalClaimed,
  APPROVAL_RELEASED: approvals.approvalReleased,
  APPROVAL_EXTENDED: approvals.approvalExtended,
  CHILD_STARTED: generations.childStarted,
  CHILD_ENDED: generations.childEnded,
  GENERATION_COMPLETED: generations.generationCompleted,
  GENERATION_FAILED: generations.generationFailed,
  GENERATION_CANCELLED: generations.generationCancelled,
  GENERATION_EXPIRED: generations.generationExpired,
  UNKNOWN_CALL_RESOLVED: calls.unknownCallResolved,
  GRANT_CREATED: approvals.grantCreated,
  GRANT_REVOKED: approvals.grantRevoked,
  TOOL_CREATED: tools.toolCreated,
  TOOL_UPDATED: tools.toolUpdated,
  TOOL_DELETED: tools.toolDeleted,
  UPSTREAM_STATUS: tools.upstreamStatus,
  UPSTREAM_CHANGED: tools.upstreamChanged,
  AGENT_CREATED: agents.agentCreated,
  AGENT_UPDATED: agents.agentUpdated,
  AGENT_DELETED: agents.agentDeleted,
  API_KEY_CREATED: access.apiKeyCreated,
  API_KEY_ACCEPTED: access.apiKeyAccepted,
  API_KEY_REVOKED: access.apiKeyRevoked,
  PROJECT_UPDATED: access.projectUpdated,
  PAUSE_STARTED: pauses.pauseStarted,
  PAUSE_ENDED: pauses.pauseEnded,
  SECRET_SET: resources.secretSet,
  SECRET_DELETED: resources.secretDeleted,
  PROVIDER_SET: resources.providerSet,
  PROVIDER_DELETED: resources.providerDeleted,
  FILE_CREATED: resources.fileCreated,
  FILE_UPLOADED: resources.fileUploaded,
  FILE_DELETED: resources.fileDeleted,
  GATE_CHANGED: gates.gateChanged,
  GATE_CHANGE_PROPOSED: gates.gateChangeProposed,
  GATE_CHANGE_DECIDED: gates.gateChangeDecided,
  WEBHOOK_CREATED: webhooks.webhookCreated,
  WEBHOOK_UPDATED: webhooks.webhookUpdated,
  WEBHOOK_DELETED: webhooks.webhookDeleted,
  WEBHOOK_DISABLED: webhooks.webhookDisabled,
  WEBHOOK_CURSOR_EXPIRED: webhooks.webhookCursorExpired,
  WEBHOOK_FAILING: webhooks.webhookFailing,
  WEBHOOK_RECOVERED: webhooks.webhookRecovered,
  WEBHOOK_DELIVERY_DEAD: webhooks.webhookDeliveryDead,
  SLACK_SET: slack.slackSet,
  SLACK_DELETED: slack.slackDeleted,
  SLACK_DISABLED: slack.slackDisabled,
  TRIGGER_CREATED: triggers.triggerCreated,
  TRIGGER_UPDATED: triggers.triggerUpdated,
  TRIGGER_DELETED: triggers.triggerDeleted,
  TRIGGER_STARTED: triggers.triggerStarted,
  TRIGGER_SKIPPED: triggers.triggerSkipped,
  RETENTION_CHANGED: retention.retentionChanged,
  LEGAL_HOLD_PUT: retention.legalHoldPut,
  LEGAL_HOLD_LIFTED: retention.legalHoldLifted,
  DATA_REMOVAL_REQUESTED: retention.dataRemovalRequested,
  DATA_REMOVAL_FINISHED: retention.dataRemovalFinished,
} satisfies { [Type in EventType]: EventKind<Type, EventData[Type]> }

type With<Traits> = {
  [Type in EventType]: (typeof eventKinds)[Type]['traits'] extends Traits ? Type : never
}[EventType]

/** An event that the log of a generation can hold. */
export type GenerationEvent = Extract<DomainEvent, { type: With<{ inGeneration: true }> }>

/** An event of what a principal requested. */
export type RequestedEvent = Extract<DomainEvent, { type: With<{ ofRequester: true }> }>

/** An event for the feed of a project alone: with its requester, where it is of one. */
export type ProjectEvent =
  | Exclude<DomainEvent, RequestedEvent>
  | (RequestedEvent & { requestedBy: string | null })

/** Kinds that a generation copies into the log of its root. */
export type CopiedType = With<{ copiedToRoot: true }>

/** The name of a type in webhooks: `approval.requested` for APPROVAL_REQUESTED. */
export function publicName(type: EventType): string {
  if (type === generations.requiresAction.type) return 'generation.requires_action'
  const words = type.toLowerCase().split('_')
  return `${words.slice(0, -1).join('_')}.${words.at(-1)}`
}

/** A copy in the log of a root; `descendantId` is the generation that it happened to. */
export type RootCopy = {
  [Type in CopiedType]: { type: Type; data: EventData[Type] & { descendantId: string } }
}[CopiedType]

/**
 * The data of a kind as it is read. `descendantId` is there in copies only. Fields that are optional in EventData are
 * those that an event of the same kind may have been written without, now or by an earlier release.
 */
export type RecordedData<Type extends EventType> = EventData[Type] &
  (Type extends CopiedType ? { descendantId?: string } : unknown)

/** An event out of the log, with its place there. Its `type` narrows its `data`. */
export type RecordedEvent = { [Type in EventType]: EventRow<Type, RecordedData<Type>> }[EventType]
