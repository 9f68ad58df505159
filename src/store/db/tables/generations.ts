/** Threads, generations (each row is state, queue entry and timer at once), their steps, and model providers. */
import { sql } from 'drizzle-orm'
import {
  boolean,
  doublePrecision,
  index,
  integer,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
} from 'drizzle-orm/pg-core'
import {
  count,
  createdAt,
  jsonb,
  moment,
  projectId,
  searchColumn,
  updatedAt,
  workColumns,
} from './columns.ts'

export const threads = pgTable(
  'threads',
  {
    id: text('id').primaryKey(),
    projectId: projectId(),
    /** Null for a thread that an earlier release opened without an agent. */
    agentId: text('agent_id'),
    /** The id that a client chose; the id of the row is derived from it. */
    externalId: text('external_id'),
    /** Messages before the first generation. */
    messages: jsonb('messages'),
    // These three are of the release before; the next one drops them.
    waitingMessages: jsonb('waiting_messages'),
    waitingId: text('waiting_id'),
    waitingSince: moment('waiting_since'),
    /** Null in older rows. */
    createdBy: text('created_by'),
    createdAt: createdAt(),
    /** When an MCP client ended the session of the thread; no generation is added afterwards. */
    closedAt: moment('closed_at'),
  },
  (t) => [
    // Threads by age, for retention.
    index('threads_list').on(t.projectId, t.createdAt, t.id),
    index('threads_by_agent').on(t.agentId, t.createdAt, t.id),
    index('threads_files')
      .using('gin', sql`(jsonb_path_query_array(messages, '$.**.fileId')) jsonb_path_ops`)
      .where(sql`jsonb_path_exists(messages, '$.**.fileId')`),
  ],
)

export const generations = pgTable(
  'generations',
  {
    id: text('id').primaryKey(),
    projectId: projectId(),
    agentId: text('agent_id').notNull(),
    agentVersion: integer('agent_version').notNull(),
    threadId: text('thread_id').notNull(),
    /** QUEUED RUNNING WAITING COMPLETED FAILED CANCELLED EXPIRED. What it waits for is read from its open calls. */
    status: text('status').notNull(),
    /** The agent's definition with the overrides of this generation. Set at the start, never changes. */
    settings: jsonb('settings').notNull(),
    /** The input messages. */
    input: jsonb('input').notNull(),
    requestedBy: text('requested_by').notNull(),
    /** For a person with a token: role and expiry of that token. For a program: for whom it acts. Null for any other key. */
    requester: jsonb('requester'),
    /** The trace context that the run was started with, later that of its newest activation: a StoredTrace. */
    trace: jsonb('trace'),
    /** For a child: its parent generation, the call of the parent that waits for it, and the first ancestor. */
    parentId: text('parent_id'),
    parentCallId: text('parent_call_id'),
    rootId: text('root_id'),
    /** The number of ancestors. */
    depth: integer('depth').notNull().default(0),
    /** For a retry: the generation whose history it begins with, and the last step of that; 0: none of its own. */
    retryOfId: text('retry_of_id'),
    retryStep: integer('retry_step'),
    /** Model steps committed so far, over all pauses and restarts. */
    stepCount: integer('step_count').notNull().default(0),
    /** Attempts of the current step so far. */
    attempt: integer('attempt').notNull().default(0),
    /** Settings of the next step only (see NextStep in domain/generations/decide.ts). */
    nextStep: jsonb('next_step'),
    stopReason: text('stop_reason'),
    truncated: boolean('truncated').notNull().default(false),
    errorCode: text('error_code'),
    errorMessage: text('error_message'),
    outputText: text('output_text'),
    outputObject: jsonb('output_object'),
    /** The model of the last step, `provider/model`, and the kind of its provider. */
    model: text('model'),
    modelKind: text('model_kind'),
    inputTokens: count('input_tokens'),
    /** Those of the input tokens that the provider read from its cache. */
    cachedInputTokens: count('cached_input_tokens'),
    outputTokens: count('output_tokens'),
    lastSeq: integer('last_seq').notNull().default(0),
    cancelRequestedAt: moment('cancel_requested_at'),
    cancelReason: text('cancel_reason'),
    deadlineAt: moment('deadline_at').notNull(),
    createdAt: createdAt(),
    startedAt: moment('started_at'),
    finishedAt: moment('finished_at'),
    ...workColumns(),
    /** The words of the agent's name and of the first line that was asked. Null in older rows. */
    search: searchColumn('search'),
  },
  (t) => [
    index('generations_wake')
      .on(t.wakeAt)
      .where(sql`wake_at is not null`),
    index('generations_list').on(t.projectId, t.createdAt, t.id),
    index('generations_open')
      .on(t.projectId, t.status)
      .where(sql`status in ('QUEUED', 'RUNNING', 'WAITING')`),
    index('generations_search').using('gin', t.search).with({ gin_pending_list_limit: 512 }),
    // Finished roots by age, for retention.
    index('generations_finished')
      .on(t.projectId, t.finishedAt, t.id)
      .where(sql`root_id is null and finished_at is not null`),
    index('generations_files')
      .using('gin', sql`(jsonb_path_query_array(input, '$.**.fileId')) jsonb_path_ops`)
      .where(sql`jsonb_path_exists(input, '$.**.fileId')`),
    index('generations_by_agent').on(t.agentId, t.createdAt, t.id),
    index('generations_by_requester').on(t.requestedBy, t.createdAt, t.id),
    index('generations_not_completed')
      .on(t.projectId, t.status, t.createdAt, t.id)
      .where(sql`status in ('FAILED', 'CANCELLED', 'EXPIRED')`),
    index('generations_by_thread').on(t.threadId, t.createdAt, t.id),
    index('generations_by_root')
      .on(t.rootId, t.createdAt, t.id)
      .where(sql`root_id is not null`),
    index('generations_by_parent')
      .on(t.parentId)
      .where(sql`parent_id is not null`),
    index('generations_by_retry')
      .on(t.retryOfId, t.createdAt, t.id)
      .where(sql`retry_of_id is not null`),
  ],
)

/** Requests without an idempotency key whose run goes on, or whose answer was not delivered: equal ones join them. */
export const awaitedRequests = pgTable(
  'awaited_requests',
  {
    projectId: projectId(),
    principalId: text('principal_id').notNull(),
    operation: text('operation').notNull(),
    /** Hash of everything in the request that changes the run. */
    requestHash: text('request_hash').notNull(),
    generationId: text('generation_id').notNull(),
    /** Whether the caller has an answer, such as a question of the gate. */
    delivered: boolean('delivered').notNull().default(false),
    expiresAt: moment('expires_at').notNull(),
  },
  (t) => [
    primaryKey({
      name: 'awaited_requests_pk',
      columns: [t.projectId, t.principalId, t.operation, t.requestHash],
    }),
    index('awaited_requests_of').on(t.generationId),
    index('awaited_requests_expiry').on(t.expiresAt),
  ],
)

/** Conversations of clients that send all of their messages: how far a caller's conversation goes, and the run that is there. */
export const conversationPlaces = pgTable(
  'conversation_places',
  {
    projectId: projectId(),
    /** The caller, and behind it the person for whom it acts. */
    principalId: text('principal_id').notNull(),
    /** Hash of the agent and of what the client sends there. */
    hash: text('hash').notNull(),
    generationId: text('generation_id').notNull(),
    /** The number of the event of the run after which what follows begins. */
    after: integer('after').notNull(),
    /** When the caller was told how the run went on from here; null while that is owed. */
    toldAt: moment('told_at'),
  },
  (t) => [
    primaryKey({ name: 'conversation_places_pk', columns: [t.projectId, t.principalId, t.hash] }),
    index('conversation_places_of').on(t.generationId),
  ],
)

export const steps = pgTable(
  'steps',
  {
    id: text('id').primaryKey(),
    projectId: projectId(),
    generationId: text('generation_id').notNull(),
    /** From 1. */
    stepIndex: integer('step_index').notNull(),
    attempt: integer('attempt').notNull(),
    model: text('model').notNull(),
    modelKind: text('model_kind').notNull(),
    /** The parts of the assistant message. */
    parts: jsonb('parts').notNull(),
    /** The tools that were sent to the model: runtime name, tool id and version. */
    surface: jsonb('surface').notNull(),
    toolChoice: jsonb('tool_choice').notNull(),
    finishReason: text('finish_reason').notNull(),
    usage: jsonb('usage').notNull(),
    /** What the loop added to the instructions in this step. */
    notice: text('notice'),
    /** What was left out of the history that was sent to the model; null: nothing. */
    elided: jsonb('elided'),
    /** The tools that were left out of the request: name, tool id, version and reason; null: none. */
    leftOut: jsonb('left_out'),
    /** How many tools the request had, their bytes, and their tokens by estimate; null in older rows. */
    toolSize: jsonb('tool_size'),
    /** When the request of the successful attempt was sent; null in older rows. */
    startedAt: moment('started_at'),
    /** When the first part of its response arrived; null in older rows. */
    firstTokenAt: moment('first_token_at'),
    createdAt: createdAt(),
  },
  (t) => [uniqueIndex('steps_place').on(t.generationId, t.stepIndex)],
)

/** One row for each attempt that reached a model, failed ones included. */
export const modelAttempts = pgTable(
  'model_attempts',
  {
    generationId: text('generation_id').notNull(),
    stepIndex: integer('step_index').notNull(),
    attempt: integer('attempt').notNull(),
    projectId: projectId(),
    agentId: text('agent_id').notNull(),
    model: text('model').notNull(),
    usage: jsonb('usage').notNull(),
    /** Input and output tokens together, for budgets. */
    totalTokens: count('total_tokens'),
    errorCode: text('error_code'),
    /** What went wrong, as people read it, and the HTTP status of the provider; null in older rows and without a failure. */
    errorMessage: text('error_message'),
    httpStatus: integer('http_status'),
    /** When the request was sent; null in older rows. `createdAt` is when the attempt ended. */
    startedAt: moment('started_at'),
    createdAt: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.generationId, t.stepIndex, t.attempt] }),
    index('model_attempts_budget').on(t.projectId, t.agentId, t.createdAt),
  ],
)

export const providers = pgTable(
  'providers',
  {
    id: text('id').primaryKey(),
    projectId: projectId(),
    name: text('name').notNull(),
    kind: text('kind').notNull(),
    baseUrl: text('base_url'),
    /** The name of the secret that holds the API key. */
    secretName: text('secret_name'),
    defaultModel: text('default_model').notNull(),
    capabilities: jsonb('capabilities').notNull(),
    contextWindow: integer('context_window'),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (t) => [
    uniqueIndex('providers_name').on(t.projectId, t.name),
    index('providers_list').on(t.projectId, t.createdAt, t.id),
  ],
)

/** What models cost in a project, where that is not their list price. In US dollars for a million tokens. */
export const modelPrices = pgTable(
  'model_prices',
  {
    projectId: projectId(),
    /** `provider/model`. */
    model: text('model').notNull(),
    input: doublePrecision('input').notNull(),
    /** Tokens that the provider read from its cache. */
    cachedInput: doublePrecision('cached_input').notNull(),
    output: doublePrecision('output').notNull(),
    updatedAt: updatedAt(),
  },
  (t) => [primaryKey({ columns: [t.projectId, t.model] })],
)
