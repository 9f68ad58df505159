/**
 * The refs of all shared object types, declared here so that the files that implement them need not import each other.
 */
import type { ErrorCode } from '../../../core/errors.ts'
import type { ApiKey, NamedPrincipal, RateLimit, Session } from '../../../domain/access/index.ts'
import type { Project, SavedView } from '../../../domain/projects/index.ts'
import type { AuditEntry } from '../../../domain/audit/index.ts'
import type { Approval, ApprovalGroup, CallSummary, Grant } from '../../../domain/approvals/index.ts'
import type { Agent, AgentSettings } from '../../../domain/agents/index.ts'
import type { StoredFile } from '../../../domain/files/index.ts'
import type { GateChange } from '../../../domain/gate-changes/index.ts'
import type { Pause } from '../../../domain/pauses/index.ts'
import type { EventType, RecordedEvent } from '../../../domain/events/index.ts'
import type { Generation, Step, UsedModel } from '../../../domain/generations/index.ts'
import type { Provider } from '../../../domain/models/index.ts'
import type {
  DataRemoval,
  KeptCounts,
  LegalHold,
  RemovedCounts,
  Retention,
} from '../../../domain/retention/index.ts'
import type { Thread } from '../../../domain/threads/index.ts'
import type { Spending } from '../../../domain/statistics/index.ts'
import type { Secret } from '../../../domain/secrets/index.ts'
import { toolKinds, type Tool } from '../../../domain/tools/index.ts'
import type { ToolCall } from '../../../domain/tool-calls/index.ts'
import type { Trigger } from '../../../domain/triggers/index.ts'
import type {
  Answer,
  Delivery,
  SlackIntegration,
  SlackUser,
  Webhook,
} from '../../../domain/followers/index.ts'
import { builder } from './builder.ts'
import { addErrorTypes } from './errors.ts'
import { createShapes, mapValues } from './shapes.ts'

/** An event of the log, with the cursor to go on from. */
export type Fact<Type extends EventType = EventType> = Extract<RecordedEvent, { type: Type }> & {
  cursor: string
}

/** A piece of text on its way. Its cursor is that of the newest event before it. */
export interface DeltaShape {
  type: 'TEXT_DELTA'
  generationId: string
  projectId: string
  stepIndex: number
  attempt: number
  offset: number
  text: string
  at: Date
  cursor: string
}

/** Where a stream begins that named no cursor. */
export interface StartShape {
  type: 'STREAM_STARTED'
  projectId: string
  at: Date
  cursor: string
  generationId?: undefined
}

export type EventShape = Fact | DeltaShape | StartShape

export function declareRefs() {
  const entities = declareEntities()
  return {
    builder,
    ...addErrorTypes(builder),
    ...entities,
    /** The object type of each kind of tool. */
    toolTypes: mapValues(toolKinds, ({ object }) => builder.objectRef<Tool>(object.name)),
    shapes: createShapes(builder, entities),
  }
}

/** Why one item of several was refused. */
interface ItemError {
  code: ErrorCode
  message: string
}

function declareEntities() {
  return {
    Project: builder.objectRef<Project>('Project'),
    ApiKey: builder.objectRef<ApiKey>('ApiKey'),
    Session: builder.objectRef<Session>('Session'),
    Principal: builder.objectRef<NamedPrincipal>('Principal'),
    Tool: builder.interfaceRef<Tool>('Tool'),
    ToolCall: builder.objectRef<ToolCall>('ToolCall'),
    Approval: builder.objectRef<Approval>('Approval'),
    ApprovalGroup: builder.objectRef<ApprovalGroup>('ApprovalGroup'),
    ItemError: builder.objectRef<ItemError>('ItemError'),
    CallSummary: builder.objectRef<CallSummary>('CallSummary'),
    Grant: builder.objectRef<Grant>('Grant'),
    Pause: builder.objectRef<Pause>('Pause'),
    GateChange: builder.objectRef<GateChange>('GateChange'),
    File: builder.objectRef<StoredFile>('File'),
    Agent: builder.objectRef<Agent>('Agent'),
    AgentSettings: builder.interfaceRef<AgentSettings>('AgentSettings'),
    Generation: builder.objectRef<Generation>('Generation'),
    Model: builder.objectRef<UsedModel>('Model'),
    Step: builder.objectRef<Step>('Step'),
    Thread: builder.objectRef<Thread>('Thread'),
    Provider: builder.objectRef<Provider>('Provider'),
    SavedView: builder.objectRef<SavedView>('SavedView'),
    Secret: builder.objectRef<Secret>('Secret'),
    Webhook: builder.objectRef<Webhook>('Webhook'),
    WebhookDelivery: builder.objectRef<Delivery>('WebhookDelivery'),
    WebhookAnswer: builder.objectRef<Answer>('WebhookAnswer'),
    SlackIntegration: builder.objectRef<SlackIntegration>('SlackIntegration'),
    SlackUser: builder.objectRef<SlackUser>('SlackUser'),
    RemovedCounts: builder.objectRef<RemovedCounts>('RemovedCounts'),
    KeptCounts: builder.objectRef<KeptCounts>('KeptCounts'),
    Retention: builder.objectRef<Retention>('Retention'),
    LegalHold: builder.objectRef<LegalHold>('LegalHold'),
    DataRemoval: builder.objectRef<DataRemoval>('DataRemoval'),
    Trigger: builder.objectRef<Trigger>('Trigger'),
    RateLimit: builder.objectRef<RateLimit>('RateLimit'),
    AuditEntry: builder.objectRef<AuditEntry>('AuditEntry'),
    Spending: builder.objectRef<Spending>('Spending'),
  }
}

export type Refs = ReturnType<typeof declareRefs>
