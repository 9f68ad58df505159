/** Tools, every version of every tool, and tool calls. */
import { sql } from 'drizzle-orm'
import { boolean, index, integer, pgTable, primaryKey, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { createdAt, jsonb, moment, projectId, updatedAt, workColumns } from './columns.ts'

export const tools = pgTable(
  'tools',
  {
    id: text('id').primaryKey(),
    projectId: projectId(),
    name: text('name').notNull(),
    kind: text('kind').notNull(),
    version: integer('version').notNull().default(1),
    /** The definition, equal to that of the newest row of tool_versions. */
    definition: jsonb('definition').notNull(),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (t) => [
    uniqueIndex('tools_name').on(t.projectId, t.name),
    index('tools_list').on(t.projectId, t.createdAt, t.id),
  ],
)

/** The definitions that calls ran with, kept after a tool is changed or deleted. */
export const toolVersions = pgTable(
  'tool_versions',
  {
    toolId: text('tool_id').notNull(),
    version: integer('version').notNull(),
    projectId: projectId(),
    definition: jsonb('definition').notNull(),
    /** The principal that made the version; null in older rows. */
    createdBy: text('created_by'),
    createdAt: createdAt(),
  },
  (t) => [primaryKey({ columns: [t.toolId, t.version] })],
)

export const toolCalls = pgTable(
  'tool_calls',
  {
    id: text('id').primaryKey(),
    projectId: projectId(),
    /** Null for a call outside a generation. Such a call is a work row of its own. */
    generationId: text('generation_id'),
    stepIndex: integer('step_index'),
    callIndex: integer('call_index'),
    providerCallId: text('provider_call_id'),
    source: text('source').notNull(),
    /** An agent's id for a call of an agent; null when the model named a tool that does not exist. */
    toolId: text('tool_id'),
    toolVersion: integer('tool_version'),
    runtimeName: text('runtime_name').notNull(),
    kind: text('kind'),
    /** The upstream's tool or the platform action; null for kinds without actions. */
    action: text('action'),
    /** Hash of the definition of that action when the call was proposed. */
    definitionHash: text('definition_hash'),
    /** The child generation that this call waits for. */
    childId: text('child_id'),
    status: text('status').notNull(),
    /** The arguments of the model or caller, presets removed. */
    arguments: jsonb('arguments'),
    /** In which order people see them: a KeyOrder; null: that of jsonb. */
    argumentOrder: jsonb('argument_order'),
    /** The text of the model when it was not valid JSON. */
    rawArguments: text('raw_arguments'),
    /** Files attached to the call: a list of Attachment; null: none. */
    attachments: jsonb('attachments'),
    attempt: integer('attempt').notNull().default(0),
    /** A ToolResult, once settled. */
    result: jsonb('result'),
    isError: boolean('is_error'),
    errorCode: text('error_code'),
    /** Hash of a submitted output, to tell an identical repeat from a conflict. */
    outputHash: text('output_hash'),
    requestedBy: text('requested_by').notNull(),
    /** For a person with a token: role and expiry of that token. For a program: for whom it acts. Null for any other key. */
    requester: jsonb('requester'),
    /** For a call outside a generation: the trace context of its request, a TraceContext. */
    trace: jsonb('trace'),
    /** For a call over MCP: the agent that served it, the agent's gate at that time, and the thread. */
    agentId: text('agent_id'),
    agentGate: jsonb('agent_gate'),
    threadId: text('thread_id'),
    /** Hash of agent, name and arguments, by which a caller finds a call that waits at the gate. */
    requestHash: text('request_hash'),
    /** Whether it was stopped at the gate and its caller has not fetched the outcome. */
    awaited: boolean('awaited').notNull().default(false),
    /** Of the release before; the next one drops it. */
    callerGoneAt: moment('caller_gone_at'),
    /** Until when the program waits that asked for permission; null when none has waited. */
    callerWaitsUntil: moment('caller_waits_until'),
    /** When the caller asked to cancel it while it ran. */
    cancelRequestedAt: moment('cancel_requested_at'),
    /** The input that an upstream requests from the caller before it continues: an AskedBack. */
    asked: jsonb('asked'),
    /** A list of ToolCallAttempt, one for each time the call was sent. */
    attempts: jsonb('attempts')
      .notNull()
      .default(sql`'[]'::jsonb`),
    /** The newest approval of the call. */
    approvalId: text('approval_id'),
    /** The grant that was used instead of an approval. */
    grantId: text('grant_id'),
    /** Names of the arguments that an approver changed. */
    editedKeys: jsonb('edited_keys'),
    /** Paths of arguments that are masked in responses (`writeOnly` in the input schema). */
    masked: jsonb('masked'),
    /** How a person resolved an UNKNOWN call: SUCCEEDED FAILED RUN_AGAIN. */
    resolution: text('resolution'),
    resolvedBy: text('resolved_by'),
    resolvedAt: moment('resolved_at'),
    /** A rate limit delays the call until then. */
    notBefore: moment('not_before'),
    /** When an open client call times out. */
    deadlineAt: moment('deadline_at'),
    startedAt: moment('started_at'),
    settledAt: moment('settled_at'),
    createdAt: createdAt(),
    ...workColumns(),
  },
  (t) => [
    uniqueIndex('tool_calls_place')
      .on(t.generationId, t.stepIndex, t.callIndex)
      .where(sql`generation_id is not null`),
    index('tool_calls_list').on(t.projectId, t.createdAt, t.id),
    index('tool_calls_by_tool').on(t.toolId, t.createdAt, t.id),
    // Calls outside generations by age, for retention.
    index('tool_calls_settled')
      .on(t.projectId, t.settledAt, t.id)
      .where(sql`generation_id is null and settled_at is not null`),
    index('tool_calls_files')
      .using('gin', sql`(jsonb_path_query_array(attachments, '$.**.fileId')) jsonb_path_ops`)
      .where(sql`jsonb_path_exists(attachments, '$.**.fileId')`),
    index('tool_calls_wake')
      .on(t.wakeAt)
      .where(sql`wake_at is not null`),
    index('tool_calls_awaited')
      .on(t.requestedBy, t.requestHash)
      .where(sql`awaited`),
    index('tool_calls_by_status')
      .on(t.projectId, t.status, t.createdAt, t.id)
      .where(sql`status <> 'SUCCEEDED'`),
    index('tool_calls_by_agent')
      .on(t.agentId, t.createdAt, t.id)
      .where(sql`agent_id is not null`),
    index('tool_calls_unknown')
      .on(t.projectId, t.createdAt, t.id)
      .where(sql`status = 'UNKNOWN'`),
  ],
)
