/**
 * Approvals, grants, which are verdicts that also hold for later calls, and changes of gates that a second person must
 * confirm.
 */
import { sql } from 'drizzle-orm'
import { index, integer, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { vectorOfIdentifier } from '../lists.ts'
import { createdAt, jsonb, moment, projectId, searchColumn } from './columns.ts'

/** The ids of those who voted, as a list of JSON. */
export const voters = sql`jsonb_path_query_array(votes, '$[*].by')`

export const approvals = pgTable(
  'approvals',
  {
    id: text('id').primaryKey(),
    projectId: projectId(),
    toolCallId: text('tool_call_id').notNull(),
    /**
     * The generation that is locked first, gets the events and is woken; null for a call outside one. Never changes.
     */
    generationId: text('generation_id'),
    agentId: text('agent_id'),
    threadId: text('thread_id'),
    toolId: text('tool_id').notNull(),
    toolVersion: integer('tool_version').notNull(),
    runtimeName: text('runtime_name').notNull(),
    /** The action of the tool, and the hash of its definition, both copied from the call. */
    action: text('action'),
    definitionHash: text('definition_hash'),
    /** PENDING APPROVED REJECTED EXPIRED VOIDED. */
    status: text('status').notNull().default('PENDING'),
    /** The arguments when the approval was requested, presets merged in. Never change. */
    arguments: jsonb('arguments').notNull(),
    /** The arguments that an approver set instead. */
    editedArguments: jsonb('edited_arguments'),
    /** Paths in the arguments whose values are masked in responses. */
    masked: jsonb('masked'),
    /** Title, description and shown schema of the tool when the approval was requested; null in older rows. */
    question: jsonb('question'),
    /** Keyed hash over tool and version, arguments, requester and requirement. */
    digest: text('digest').notNull(),
    requestedBy: text('requested_by').notNull(),
    /** The Requirement of domain/approvals that stopped the call. */
    requirement: jsonb('requirement').notNull(),
    /** RUN, CLIENT or SKIP: what happens after the approval. */
    onApprove: text('on_approve').notNull(),
    clientTimeoutMs: integer('client_timeout_ms'),
    /** A list of Vote. */
    votes: jsonb('votes')
      .notNull()
      .default(sql`'[]'::jsonb`),
    /** Who says to be deciding, and until when: a Claim of domain/approvals. */
    claim: jsonb('claim'),
    expiresAt: moment('expires_at').notNull(),
    escalatedAt: moment('escalated_at'),
    /** When it was decided, expired or voided. */
    settledAt: moment('settled_at'),
    /** Why it was voided. */
    voidReason: text('void_reason'),
    createdAt: createdAt(),
    /** When a worker must process the row: at the escalation or the deadline. Null once it is settled. */
    wakeAt: moment('wake_at'),
    /**
     * The words of what people see: names, shown arguments, votes. Null in older rows and where arguments were hidden later:
     * these are found by the name of the tool.
     */
    search: searchColumn('search'),
  },
  (t) => [
    index('approvals_list').on(t.projectId, t.createdAt, t.id),
    index('approvals_pending')
      .on(t.projectId, t.createdAt, t.id)
      .where(sql`status = 'PENDING'`),
    index('approvals_pending_expiry')
      .on(t.projectId, t.expiresAt, t.id)
      .where(sql`status = 'PENDING'`),
    index('approvals_settled').on(t.projectId, t.settledAt),
    index('approvals_wake')
      .on(t.wakeAt)
      .where(sql`wake_at is not null`),
    index('approvals_by_generation')
      .on(t.generationId)
      .where(sql`generation_id is not null`),
    index('approvals_by_call').on(t.toolCallId),
    index('approvals_by_tool').on(t.toolId, t.settledAt, t.id),
    index('approvals_by_agent')
      .on(t.agentId, t.settledAt, t.id)
      .where(sql`agent_id is not null`),
    index('approvals_by_requester').on(t.requestedBy, t.createdAt, t.id),
    index('approvals_by_voter').using('gin', sql`(${voters}) jsonb_path_ops`),
    index('approvals_not_approved')
      .on(t.projectId, t.status, t.settledAt, t.id)
      .where(sql`status in ('REJECTED', 'EXPIRED', 'VOIDED')`),
    // New words wait in a list of this size (kB): the statement that fills it moves them, within milliseconds.
    index('approvals_search').using('gin', t.search).with({ gin_pending_list_limit: 512 }),
    index('approvals_search_by_name')
      .using('gin', vectorOfIdentifier(sql`runtime_name`))
      .where(sql`search is null`),
    uniqueIndex('approvals_one_pending')
      .on(t.toolCallId)
      .where(sql`status = 'PENDING'`),
  ],
)

export const grants = pgTable(
  'grants',
  {
    id: text('id').primaryKey(),
    projectId: projectId(),
    /** The approval whose verdict created the grant. */
    approvalId: text('approval_id').notNull(),
    toolId: text('tool_id').notNull(),
    toolVersion: integer('tool_version').notNull(),
    runtimeName: text('runtime_name').notNull(),
    /** The grant is valid for this action with this definition. */
    action: text('action'),
    definitionHash: text('definition_hash'),
    /** EXACT, SCHEMA or TOOL. */
    scope: text('scope').notNull(),
    /** For EXACT: hash of the merged arguments. */
    argumentsHash: text('arguments_hash'),
    /** For SCHEMA: the JSON Schema of the arguments. */
    schema: jsonb('schema'),
    /** Exactly one of agentId, threadId and requestedBy is set: the grant is valid for its calls. */
    agentId: text('agent_id'),
    threadId: text('thread_id'),
    requestedBy: text('requested_by'),
    maxUses: integer('max_uses').notNull(),
    uses: integer('uses').notNull().default(0),
    expiresAt: moment('expires_at').notNull(),
    grantedBy: text('granted_by').notNull(),
    revokedAt: moment('revoked_at'),
    revokedBy: text('revoked_by'),
    createdAt: createdAt(),
  },
  (t) => [
    index('grants_list').on(t.projectId, t.createdAt, t.id),
    index('grants_by_tool').on(t.toolId, t.expiresAt),
  ],
)

/** Changes of gates that a second person must confirm. */
export const gateChanges = pgTable(
  'gate_changes',
  {
    id: text('id').primaryKey(),
    projectId: projectId(),
    /** The id of the tool or agent whose gate is changed, or of the project whose rule for gate changes is. */
    target: text('target').notNull(),
    /**
     * The version of the tool or agent when the change was proposed; 0 for a project. Another version voids the change.
     */
    targetVersion: integer('target_version').notNull(),
    /** The new values, a GateEdit of domain/gates. */
    change: jsonb('change').notNull(),
    note: text('note'),
    /** PENDING CONFIRMED REJECTED. A pending change after `expiresAt` is shown as EXPIRED. */
    status: text('status').notNull().default('PENDING'),
    proposedBy: text('proposed_by').notNull(),
    decidedBy: text('decided_by'),
    decidedAt: moment('decided_at'),
    expiresAt: moment('expires_at').notNull(),
    createdAt: createdAt(),
  },
  (t) => [index('gate_changes_list').on(t.projectId, t.createdAt, t.id)],
)
