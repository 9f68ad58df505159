/** An approval: one stop of a call at the gate, with its votes and its outcome. Pure. */
import * as view from '../../core/view.ts'
import { z } from 'zod'
import { errorResult, type ToolResult } from '../../core/content.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { choice, entity, part, idOf } from '../../core/shapes.ts'
import { inKeyOrder, inSchemaOrder, type KeyOrder } from '../../core/key-order.ts'
import type { approvals } from '../../store/db/tables/approvals.ts'
import { requirementShape, verdictChoice } from '../gates/index.ts'
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
export const voidReason = choice('ApprovalVoidReason', 'The reason why an approval became void.', {
  TOOL_CHANGED:
    'The tool or its gate changed before the call ran. A new approval was requested if the call is still valid.',
  TOOL_DELETED: 'The tool was deleted before the call ran.',
  GENERATION_ENDED: 'The generation ended before the verdict.',
  WITHDRAWN: 'The caller withdrew the call, or disconnected.',
})
export type VoidReason = z.output<typeof voidReason>

const verdictWay = choice('VerdictWay', 'How a vote was given.', {
  KEY: 'The vote was given with an API key or a token.',
  SESSION: 'The vote was given in a signed-in browser.',
  SLACK: 'The vote was given in Slack.',
  LINK: 'The vote was given with a link and a one-time code.',
  LOGIN: 'The person for whom the call is made logged in at the server of the tool.',
})
/** How a vote was given. */
export type VerdictWay = z.output<typeof verdictWay>

/** The vote of one person. */
export const voteShape = part('ApprovalVote', 'The vote of one person about an approval.', {
  verdict: verdictChoice.describe('The verdict of the vote.'),
  by: view.principal(
    'voter',
    'The principal that voted, with its name as it is now.',
    'The id of the API key or person that voted.',
  ),
  byName: view.text('The name of the API key or person at that time.'),
  at: view.isoDate('When the vote was given.'),
  from: view.text('The network address of the voter; null when it is unknown.').nullable(),
  via: verdictWay.describe('How the vote was given; null for votes of earlier releases.').optional(),
  reason: view
    .text('The reason of the vote, which the model receives with a rejection; null when none was given.')
    .nullable(),
  note: view
    .text('A note for other approvers, which the model never receives; null when none was given.')
    .nullable(),
  response: view
    .text(
      'The text that became the result of the call in place of that of its tool; null when there was none.',
    )
    .optional(),
  stop: view.mark('Whether the vote also ended the run or session that asked.'),
})
export type Vote = z.output<typeof voteShape>

/** Somebody says to be deciding. It blocks nobody, and ends by itself. */
export const claimShape = part(
  'ApprovalClaim',
  'A note that an approver is deciding an approval. A claim blocks no other approver.',
  {
    by: view.id('The id of the API key or person that made the claim.'),
    byName: view.text('The name of the API key or person at that time.'),
    at: view.isoDate('When the claim was made.'),
    until: view.isoDate('When the claim ends by itself, 10 minutes after it was made.'),
  },
)
export type Claim = z.output<typeof claimShape>

/**
 * What happens after an approval. RUN: the server runs the call; CLIENT: the client runs it; SKIP: nothing runs, the
 * approved arguments are the final answer.
 */
export type OnApprove = 'RUN' | 'CLIENT' | 'SKIP'

/** What an approver was told about the tool. */
export const askedTool = part(
  'AskedTool',
  'A tool as it was when an approval was requested; it may have changed since.',
  {
    title: view.text('The display name of the tool; null when it had none.').nullable(),
    description: view.text('The description that the model read; null when the tool had none.').nullable(),
    inputSchema: view.jsonSchema('The JSON Schema of the arguments, without preset parameters.'),
  },
)
export interface AskedTool extends z.output<typeof askedTool> {
  /** The title of its gate; absent without one, or when the arguments that it names did not exist. */
  titleTemplate?: string
}

/** With the order in which people see the names; absent in approvals of earlier releases, which used that of jsonb. */
export interface StoredQuestion extends AskedTool {
  order?: { schema: KeyOrder | null; arguments: KeyOrder | null }
}

export const approvalShape = part(
  'Approval',
  'A tool call that the gate stopped, with frozen arguments, until approvers decide.',
  {
    id: idOf('approval'),
    toolCallId: view.object(
      'toolCall',
      'ToolCall',
      'The stopped tool call, with its result once it ran; null when it is hidden from this API key.',
    ),
    generationId: view
      .object('generation', 'Generation', 'The generation that waits; null for a direct call.')
      .nullable(),
    agentId: view
      .object('agent', 'Agent', 'The agent whose model requested the call; null for a direct call.')
      .nullable(),
    toolId: view.object(
      'tool',
      'Tool',
      'The tool as it is now; null when it was deleted or is hidden from this API key.',
    ),
    toolVersion: view.int('The version of the tool that the approval is for.'),
    runtimeName: view.under('toolName', view.text('The runtime name of the tool.')),
    status: approvalStatus.describe('The status of the approval.'),
    question: askedTool
      .describe(
        'The tool as it was when the approval was requested, which the approver decides about; null for an approval of ' +
          'an earlier release.',
      )
      .nullable(),
    digest: view.text(
      'A hash over the tool, the arguments and the gate; pass it as expectedDigest to decide about exactly these.',
    ),
    requestedBy: view.principal(
      'requester',
      'The principal for whom the call is made.',
      'The id of the API key or person for whom the call is made.',
    ),
    requirement: requirementShape.describe('The verdict that the gate requires.'),
    votes: z.array(voteShape).describe('All votes, oldest first.'),
    expiresAt: view.date('When the approval expires without a verdict, which rejects the call.'),
    escalatedAt: view
      .date('When the approval was escalated, so that admins may decide too; null when it was not.')
      .nullable(),
    settledAt: view
      .date('When the approval was decided, expired or became void; null while it is pending.')
      .nullable(),
    voidReason: voidReason
      .describe('Why the approval became void; null unless the status is VOIDED.')
      .nullable(),
    createdAt: view.date('When the approval was requested.'),
  },
)
export interface Approval extends z.output<typeof approvalShape> {
  question: AskedTool | null
  projectId: string
  threadId: string | null
  action: string | null
  definitionHash: string | null
  /** The frozen arguments, presets merged in and nothing masked. Never return them to a client. */
  arguments: JsonObject
  editedArguments: JsonObject | null
  masked: string[][] | null
  onApprove: OnApprove
  clientTimeoutMs: number | null
  /** As it was stored; see claimOf. */
  claim: Claim | null
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

/** Why a call is rejected: an approver's reason, and whether the run or session of the call ends with it. */
export interface Rejection {
  reason: string | null
  stop?: boolean | null | undefined
}

/**
 * The result for the model when a call is rejected, by a verdict or by a refusal that stands: a message, and what its approver
 * said.
 */
export function rejectedResult({ reason, stop }: Rejection, refusedUntil: Date | null = null): ToolResult {
  const because = reason ? ` The reason: ${reason}` : ''
  const until = refusedUntil?.toISOString()
  const denied = stop
    ? 'A person denied this call, which was not run, and told you to stop: end your turn now, and call nothing else.' +
      (until ? ` Whatever needs approval is denied in this session until ${until}.` : '')
    : until
      ? `A person has denied calls like this one until ${until}; it was not run. Do not repeat it.`
      : 'A person denied this call; it was not run.'
  const said = { ...(reason ? { reason } : {}), ...(stop ? { stop: true } : {}) }
  return errorResult('approval_rejected', `${denied}${because}`, said)
}

/** Whether the result of a call that did not run is a rejection that also ends what asked. */
export function saysStop(result: ToolResult | null): boolean {
  const { error } = (result?.structuredContent ?? {}) as { error?: { code?: unknown; stop?: unknown } }
  return error?.code === 'approval_rejected' && error.stop === true
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

/** The result for the model when a person did not log in in time. */
export const loginExpiredResult = errorResult(
  'login_expired',
  'This call needed the login of the person for whom it was made at the server of the tool. Nobody logged in there in time; it ' +
    'was not run.',
)

/** The result for the model when the approval expired. */
export const expiredResult = errorResult(
  'approval_expired',
  'Nobody approved this call in time; it was rejected and not run.',
)
