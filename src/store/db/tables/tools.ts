/** The registry of tools, every version of every tool, and each call. */
import { sql } from 'drizzle-orm'
import { boolean, index, integer, jsonb, pgTable, primaryKey, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { createdAt, moment, projectId, updatedAt, workColumns } from './columns.ts'

export const tools = pgTable(
  'tools',
  {
    id: text('id').primaryKey(),
    projectId: projectId(),
    name: text('name').notNull(),
    kind: text('kind').notNull(),
    version: integer('version').notNull().default(1),
    /** The whole definition, as in the newest row of tool_versions. */
    definition: jsonb('definition').notNull(),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (t) => [
    uniqueIndex('tools_name').on(t.projectId, t.name),
    index('tools_list').on(t.projectId, t.createdAt, t.id),
  ],
)

/** What a call ran with, even after the tool was changed or deleted. */
export const toolVersions = pgTable(
  'tool_versions',
  {
    toolId: text('tool_id').notNull(),
    version: integer('version').notNull(),
    projectId: projectId(),
    definition: jsonb('definition').notNull(),
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
    /** An agent's id for a call of that agent; null when the model named something that does not exist. */
    toolId: text('tool_id'),
    toolVersion: integer('tool_version'),
    runtimeName: text('runtime_name').notNull(),
    kind: text('kind'),
    /** Which of the tool's own: the upstream's tool or the platform action; null where a tool has one name. */
    action: text('action'),
    /** Hash of what the upstream or platform said of that action when the call was proposed. */
    definitionHash: text('definition_hash'),
    /** The run of another agent that this call waits for. */
    childId: text('child_id'),
    status: text('status').notNull(),
    /** As the model or caller gave them, presets removed. */
    arguments: jsonb('arguments'),
    /** What the model wrote when it was not legal JSON. */
    rawArguments: text('raw_arguments'),
    /** Files that came with the call: a list of Attachment; null when there were none. */
    attachments: jsonb('attachments'),
    attempt: integer('attempt').notNull().default(0),
    /** A ToolResult, once settled. */
    result: jsonb('result'),
    isError: boolean('is_error'),
    errorCode: text('error_code'),
    /** Hash of a submitted output: tells an identical repeat from a conflict. */
    outputHash: text('output_hash'),
    requestedBy: text('requested_by').notNull(),
    /** Of a call outside a generation by a person with a token: the role and end of the token that asked for it. Null for a key, whose row says both. */
    requester: jsonb('requester'),
    /** For a call over the bridge: the agent whose surface it came through, its gate then, and the conversation. */
    agentId: text('agent_id'),
    agentGate: jsonb('agent_gate'),
    threadId: text('thread_id'),
    /** Hash of agent, name and arguments: how a caller finds a stopped call again. */
    requestHash: text('request_hash'),
    /** It was stopped at the gate, and its caller has not fetched the outcome yet. */
    awaited: boolean('awaited').notNull().default(false),
    /** The caller hung up while it waited: it is withdrawn after a while, unless the caller comes back. */
    callerGoneAt: moment('caller_gone_at'),
    /** The caller asked for its end while it ran. */
    cancelRequestedAt: moment('cancel_requested_at'),
    /** What an upstream wants to know from the caller before it goes on: an AskedBack. */
    asked: jsonb('asked'),
    /** Each time it was sent: a list of ToolCallAttempt. */
    attempts: jsonb('attempts')
      .notNull()
      .default(sql`'[]'::jsonb`),
    /** The newest approval that was asked for. */
    approvalId: text('approval_id'),
    /** The grant that let it through the gate. */
    grantId: text('grant_id'),
    /** Arguments that an approver changed, by name. */
    editedKeys: jsonb('edited_keys'),
    /** Paths of arguments that are never shown (see core/json-schema, writeOnly). */
    masked: jsonb('masked'),
    /** What a person said of an UNKNOWN call: SUCCEEDED FAILED RUN_AGAIN. */
    resolution: text('resolution'),
    resolvedBy: text('resolved_by'),
    resolvedAt: moment('resolved_at'),
    /** A limit holds it back until then. */
    notBefore: moment('not_before'),
    /** When an open client call is given up. */
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
    index('tool_calls_wake')
      .on(t.wakeAt)
      .where(sql`wake_at is not null`),
    index('tool_calls_awaited')
      .on(t.requestedBy, t.requestHash)
      .where(sql`awaited`),
    index('tool_calls_unknown')
      .on(t.projectId, t.createdAt, t.id)
      .where(sql`status = 'UNKNOWN'`),
  ],
)
