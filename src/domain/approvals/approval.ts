/** An approval: one stop of a call at the gate, with its votes and its outcome. Pure. */
import { z } from 'zod'
import { errorResult, type ToolResult } from '../../core/content.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { choice, entity, part } from '../../core/shapes.ts'
import { inKeyOrder, inSchemaOrder, type KeyOrder } from '../../core/key-order.ts'
import type { approvals } from '../../store/db/tables/approvals.ts'
import { verdictChoice, type Requirement } from '../gates/index.ts'
import { maskAt } from '../tools/index.ts'

/** PENDING is open; every other status is final. */
export const approvalStatus = choice(
  'ApprovalStatus',
  'The status of an approval. All but PENDING are final.',
  {
    PENDING: 'The approval waits for a verdict.',
    APPROVED: 'The call may run; toolCall has its result.',
    REJECTED: 'An approver rejected the call.',
    EXPIRED: 'No verdict was given in time; the call was rejected.',
    VOIDED: 'The approval became void; voidReason says why.',
  },
)
export type ApprovalStatus = z.output<typeof approvalStatus>

export { verdictChoice }
export type Verdict = z.output<typeof verdictChoice>

/**
 * Why an approval became VOIDED: the tool was changed or deleted after the question, the generation ended, or the
 * caller withdrew the call.
 */
export const voidReasons = ['TOOL_CHANGED', 'TOOL_DELETED', 'GENERATION_ENDED', 'WITHDRAWN'] as const
export type VoidReason = (typeof voidReasons)[number]

export const verdictWays = ['KEY', 'SESSION', 'SLACK', 'LINK'] as const
/** How a vote was given: with a key or token, in a signed-in browser, in Slack, or with a link and a code. */
export type VerdictWay = (typeof verdictWays)[number]

/** The vote of one person. */
export interface Vote {
  verdict: Verdict
  /** Id and name of the voter's key at the time of the vote. */
  by: string
  byName: string
  /** ISO 8601. */
  at: string
  /** The voter's network address. */
  from: string | null
  /** Absent in votes of earlier releases. */
  via?: VerdictWay
  /** Passed to the model when the call is rejected. */
  reason: string | null
  /** For other approvers; never passed to the model. */
  note: string | null
  /** With REJECT: the text that became the result of the call in place of the tool's. Absent without one. */
  response?: string
}

/** Somebody says to be deciding. It blocks nobody, and ends by itself. */
export interface Claim {
  /** Id and name of the key or person at that time. */
  by: string
  byName: string
  /** ISO 8601. */
  at: string
  until: string
}

/**
 * What happens after an approval. RUN: the server runs the call; CLIENT: the client runs it; SKIP: nothing runs, the
 * approved arguments are the final answer.
 */
export type OnApprove = 'RUN' | 'CLIENT' | 'SKIP'

/** What an approver was told about the tool. */
export interface AskedTool {
  title: string | null
  description: string | null
  /** As models and clients see it: without presets. */
  inputSchema: JsonObject
  /** The title of its gate; absent without one, or when the arguments that it names did not exist. */
  titleTemplate?: string
}

/** With the order in which people see the names; absent in approvals of earlier releases, which used that of jsonb. */
export interface StoredQuestion extends AskedTool {
  order?: { schema: KeyOrder | null; arguments: KeyOrder | null }
}

export interface Approval {
  id: string
  projectId: string
  toolCallId: string
  generationId: string | null
  agentId: string | null
  threadId: string | null
  toolId: string
  toolVersion: number
  runtimeName: string
  action: string | null
  definitionHash: string | null
  status: ApprovalStatus
  /** The frozen arguments, presets merged in and nothing masked. Never return them to a client. */
  arguments: JsonObject
  editedArguments: JsonObject | null
  masked: string[][] | null
  /** The tool as it was asked about; null in approvals of earlier releases. */
  question: AskedTool | null
  digest: string
  requestedBy: string
  requirement: Requirement
  onApprove: OnApprove
  clientTimeoutMs: number | null
  votes: Vote[]
  /** As it was stored; see claimOf. */
  claim: Claim | null
  expiresAt: Date
  escalatedAt: Date | null
  /** When it was approved, rejected, expired or voided. */
  settledAt: Date | null
  voidReason: VoidReason | null
  createdAt: Date
}

export const Approval = entity<Approval>()('Approval')

/** The payload of an operation on one approval. */
export const approvalPayload = part('ApprovalPayload', 'The approval after the mutation.', {
  // As in the errors, so that one document can select it in all members of the union.
  approval: Approval.nullable().describe('The approval after the mutation, never null here.'),
})

export function approvalOf(row: typeof approvals.$inferSelect): Approval {
  const { wakeAt: _wakeAt, search: _search, ...rest } = row
  const approval = rest as Approval
  const { question, arguments: args, editedArguments } = approval
  if (!question) return approval
  const { order, ...asked } = question as StoredQuestion
  const inputSchema = inKeyOrder(asked.inputSchema, order?.schema)
  const arranged = (given: JsonObject) => inSchemaOrder(inKeyOrder(given, order?.arguments), inputSchema)
  return {
    ...approval,
    question: { ...asked, inputSchema },
    arguments: arranged(args),
    editedArguments: editedArguments && arranged(editedArguments),
  }
}

/** An approval as far as its arguments are concerned. */
type OfArguments = Pick<Approval, 'arguments' | 'editedArguments' | 'masked'>

/** The arguments that will run: those of an approver's edit, else the frozen ones. Nothing is masked. */
export function currentArguments(approval: OfArguments): JsonObject {
  return approval.editedArguments ?? approval.arguments
}

/** The masked arguments that people may read: the current ones, or the original ones from before an edit. */
export function shownArguments(approval: OfArguments, which: 'current' | 'original' = 'current'): JsonObject {
  return maskAt(which === 'current' ? currentArguments(approval) : approval.arguments, approval.masked)
}

/** The claim that holds now: of a pending approval, until its time is over or its author has voted. */
export function claimOf({ status, claim, votes }: Approval, now: number): Claim | null {
  if (!claim || status !== 'PENDING' || Date.parse(claim.until) <= now) return null
  const hasVoted = votes.some(({ by, at }) => by === claim.by && Date.parse(at) >= Date.parse(claim.at))
  return hasVoted ? null : claim
}

/** The vote that settled the approval; null when no vote did (expired, voided or pending). */
export function decisionOf(approval: Approval): Vote | null {
  const decided = approval.status === 'APPROVED' || approval.status === 'REJECTED'
  return decided ? (approval.votes.at(-1) ?? null) : null
}

/**
 * The result for the model when a call is rejected, by a verdict or by a refusal that stands: a message, and the approver's
 * reason if there is one.
 */
export function rejectedResult(reason: string | null, refusedUntil: Date | null = null): ToolResult {
  const because = reason ? ` The reason: ${reason}` : ''
  const denied = refusedUntil
    ? `A person has denied calls like this one until ${refusedUntil.toISOString()}; it was not run. Do not repeat it.`
    : 'A person denied this call; it was not run.'
  return errorResult('approval_rejected', `${denied}${because}`, reason ? { reason } : {})
}

/** The result of a call that a person has answered: the text, marked as a person's words, with its value for a schema. */
export function respondedResult(text: string, structuredContent: Json | null): ToolResult {
  const mark = 'A person answered this call in place of the tool, which was not run:'
  return {
    content: [mark, text].map((one) => ({ type: 'text', text: one })),
    ...(structuredContent === null ? {} : { structuredContent }),
    isError: false,
  }
}

/** The result for the model when the approval expired. */
export const expiredResult = errorResult(
  'approval_expired',
  'Nobody approved this call in time; it was rejected and not run.',
)
