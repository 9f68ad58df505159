/** Deciding approvals: the first verdict wins, exactly once, despite concurrent verdicts and crashes. */
import { idOf, optional, openPart, scalar } from '../../core/shapes.ts'
import { z } from 'zod'
import { check, text } from '../../core/check.ts'
import type { ToolResult } from '../../core/content.ts'
import { AppError, invalid, invalidAt, type Issue } from '../../core/errors.ts'
import {
  hashJson,
  isJsonObject,
  isNestedTooDeep,
  jsonTooBig,
  tryParseJson,
  type JsonObject,
} from '../../core/json.ts'
import { atomically, query } from '../../store/db/database.ts'
import { withProof } from '../basis/index.ts'
import { sql } from '../../store/db/sql.ts'
import type { Hint } from '../../store/pubsub/pubsub.ts'
import { lockOwners, ownerOf } from '../../store/work/owner.ts'
import { assertStillValid, denialError, type Ctx, operation } from '../access/index.ts'
import { judgeGate, stricter, type GatePolicy } from '../gates/index.ts'
import {
  argumentLimits,
  maskedPaths,
  policiesOf,
  prepareCall,
  proposedCallable,
  resultFault,
  withAttachments,
} from '../tools/index.ts'
import { loadCall, type ToolCall } from '../tool-calls/index.ts'
import { Approval, approvalPayload, verdictChoice } from './approval.ts'
import { coveredToolOf, digestOf } from './digest.ts'
import { applyVerdict } from './apply-verdict.ts'
import { decideAtOnce } from './fast-verdict.ts'
import { type Edit, type PreparedVerdict, unmaskEdit } from './decision.ts'
import { grantShape } from './grants.ts'
import { respondedResult } from './outcome.ts'
import { assertMayDecide, decides, findForVerdict, whatOf } from './read.ts'
import { personsIn, whyNot, type Persons } from './rights.ts'

/** The most decisions of one request. */
export const maxBatch = 50

export const decision = openPart('DecideApprovalInput', 'A verdict about one approval.', {
  approvalId: idOf('approval'),
  verdict: verdictChoice.describe('The verdict about the approval.'),
  reason: text(2000)
    .nullish()
    .describe('The reason, which the model receives with a rejection; at most 2,000 characters.'),
  note: text(2000)
    .nullish()
    .describe('A note for other approvers, which the model never receives; at most 2,000 characters.'),
  response: optional(
    text(20_000, 1).describe(
      'A text that becomes the result of the call in place of that of the tool, for REJECT only, where every gate that stops ' +
        'the call allows responses; at most 20,000 characters, and JSON that fits the outputSchema of the tool, if it has ' +
        'one. Not together with reason.',
    ),
    'the call is rejected',
  ),
  arguments: optional(
    scalar('JSONObject', z.unknown()).describe(
      'Edited arguments without presets, for APPROVE only; they are validated, and the model learns which ones changed.',
    ),
    'the frozen arguments',
  ),
  expectedDigest: optional(
    z
      .string()
      .max(100)
      .describe(
        'The digest that the verdict is for: with another current digest the mutation returns ConflictError.',
      ),
    'the digest at the time of the request',
  ),
  grant: optional(
    grantShape.describe(
      'A grant that remembers the verdict: with APPROVE it lets later calls pass the gate, with REJECT it refuses them.',
    ),
    'none',
  ),
}).describe('A verdict about one approval.')

export type DecideApprovalInput = z.input<typeof decision>

export const refuses = [
  'NOT_FOUND',
  'APPROVAL_ALREADY_DECIDED',
  'APPROVAL_EXPIRED',
  'CONFLICT',
  'LIMITED',
] as const

/**
 * Gives a verdict. Action `approvals:Decide` on the tool, or on the agent when the call asks one. The gate may
 * require a role, or somebody other than the requester. APPROVE with `arguments` edits them: they are validated, the
 * presets are merged in and the gates are evaluated again, which may then require more; a mask means the value that
 * it hides. Invalid arguments are INVALID and leave the approval pending. One REJECT settles the approval; APPROVE
 * settles it when the quorum is reached; an edit discards earlier votes. REJECT with a `response`, where the gates allow it,
 * settles the call with that text in place of the tool's result; with a `grant` it also refuses later calls. Verdict, call,
 * event, audit entry, grant and the owner's wake-up are written in one transaction. A verdict counts for the arguments that its author read, and
 * with the rights that its author has when it is written: key, roles and digest are checked again under the lock.
 * Errors: APPROVAL_ALREADY_DECIDED and APPROVAL_EXPIRED for a later verdict. CONFLICT for a second vote of the same
 * person, with any key that this person holds or has created; for a voided approval; and when `expectedDigest` (for
 * an APPROVE without it: the digest at the beginning of the request) is no longer the current digest, and for an APPROVE
 * without it of arguments that were edited since they were first asked about. A REJECT
 * without `expectedDigest` applies to any edit.
 */
export async function giveVerdict(
  ctx: Ctx,
  input: DecideApprovalInput,
  root: string[] = ['input'],
): Promise<Approval> {
  const [decided] = await decideAll(ctx, [await prepare(ctx, input, root, true)])
  return decided!
}

/** See giveVerdict. */
export const decideApproval = operation({
  name: 'decideApproval',
  does:
    'Gives a verdict about an approval. The first deciding verdict wins; later ones return ApprovalAlreadyDecidedError or ' +
    'ApprovalExpiredError.',
  permission: 'approvals:Decide',
  input: decision,
  payload: approvalPayload,
  refuses,
  checksItself: true,
  run: async (ctx, input) => ({ approval: await giveVerdict(ctx, input) }),
})

/** Gives several verdicts, all or none: the error of the first that fails names its index. Returns the approvals in their order. */
export async function giveAllVerdicts(
  ctx: Ctx,
  decisions: readonly DecideApprovalInput[],
): Promise<Approval[]> {
  const ready: PreparedVerdict[] = []
  for (const [i, one] of decisions.entries()) {
    const path = ['input', 'decisions', String(i)]
    const verdict = await prepare(ctx, one, path)
    if (ready.some((other) => other.approval.id === verdict.approval.id))
      throw invalidAt([...path, 'approvalId'], 'is in this batch twice')
    ready.push(verdict)
  }
  return decideAll(ctx, ready)
}

/**
 * Checks what needs no lock: shape, permission, roles and edited arguments. What can change meanwhile is checked
 * again under the lock. `isAlone`: it may be written at once.
 */
async function prepare(ctx: Ctx, input: unknown, root: string[], isAlone = false): Promise<PreparedVerdict> {
  const given = check(decision, input, root)
  const isEdited = given.arguments !== undefined && given.arguments !== null
  // What goes on is read for those alone who may decide, and who hand it over to a worker of this process.
  const handsOver = isAlone && !isEdited && !given.grant && decides(ctx) && ctx.slots.hasWorkers()
  const { approval, seen } = await findForVerdict(ctx, given.approvalId, handsOver ? given.verdict : null)
  const what = whatOf(approval)
  await assertMayDecide(ctx, approval)
  // An edit may bring a stricter requirement.
  const asksWho = isEdited || approval.requirement.excludeRequester || approval.votes.length > 0
  const persons: Persons = asksWho ? await personsIn(ctx.db, ctx, approval) : new Map()
  const refusal = whyNot(ctx, approval, persons)
  if (refusal) throw await denialError(ctx, what, refusal)
  assertFits(given, root)
  if (given.verdict === 'APPROVE' && !given.expectedDigest && !isEdited && approval.editedArguments !== null)
    throw new AppError(
      'CONFLICT',
      'The arguments were edited since they were first asked about. Read the approval again, and send its digest ' +
        'as expectedDigest.',
      { conflictingId: approval.id },
    )
  const edit = isEdited ? await editOf(ctx, approval, given, root) : null
  const response = given.response ? await responseOf(ctx, approval, given.response, root) : null
  const refusedEdit = edit ? whyNot(ctx, { ...approval, requirement: edit.requirement }, persons) : null
  if (refusedEdit) throw await denialError(ctx, what, refusedEdit)
  const owner = ownerOf({ ...approval, id: approval.toolCallId })
  // The verdict counts for what its author read, however often the rows are read.
  const expectedDigest = given.expectedDigest || (given.verdict === 'APPROVE' ? approval.digest : null)
  return { given: { ...given, expectedDigest }, approval, owner, seen, persons, edit, response, root }
}

/** INVALID where the parts of a decision do not go together. */
function assertFits({ verdict, ...given }: z.output<typeof decision>, root: string[]): void {
  const isApproval = verdict === 'APPROVE'
  const fault = (name: string, message: string) => invalidAt([...root, name], message)
  if (!isApproval && given.arguments !== undefined && given.arguments !== null)
    throw fault('arguments', 'goes with the verdict APPROVE only')
  if (isApproval && given.response) throw fault('response', 'goes with the verdict REJECT only')
  if (given.response && given.reason)
    throw fault('reason', 'has no place beside a response, which is what the model gets')
}

/** What the call results in when a person answers it: of a tool with an output schema, a value that fits it. */
async function responseOf(
  ctx: Ctx,
  { toolCallId }: Approval,
  given: string,
  root: string[],
): Promise<ToolResult> {
  const callable = await proposedCallable(ctx, await loadCall(ctx.db, toolCallId))
  const at = [...root, 'response']
  if (!callable) throw invalidAt(at, 'cannot be given: the tool has lost this action')
  if (callable.outputSchema === null) return respondedResult(given, null)
  const value = isNestedTooDeep(given) ? undefined : tryParseJson(given)
  const result = respondedResult(given, value ?? null)
  const fault = value === undefined ? 'is no JSON' : resultFault(callable, result)
  if (fault !== null) throw invalidAt(at, `must be JSON that fits the output schema of the tool: ${fault}`)
  return result
}

async function editOf(
  ctx: Ctx,
  approval: Approval,
  given: z.output<typeof decision>,
  root: string[],
): Promise<Edit> {
  const { requestedBy } = approval
  const call = await loadCall(ctx.db, approval.toolCallId)
  const callable = await proposedCallable(ctx, call)
  if (!callable) throw invalidAt([...root, 'arguments'], 'cannot be edited: the tool has lost this action')
  const inRoot = (issue: Issue) => ({ ...issue, path: [...root, ...issue.path] })
  const readable = isJsonObject(given.arguments) && !jsonTooBig(given.arguments, argumentLimits)
  const meant = readable
    ? unmaskEdit(given.arguments as JsonObject, approval, callable)
    : { arguments: given.arguments }
  if ('issues' in meant)
    throw invalid(meant.issues.map((issue) => inRoot({ ...issue, path: ['arguments', ...issue.path] })))
  const prepared = prepareCall(callable, meant.arguments)
  if (!prepared.ok) throw invalid(prepared.issues.map(inRoot))
  const { arguments: own, dropped } = prepared
  // Attached files stay as the caller sent them: an approver cannot change them.
  const merged = withAttachments(prepared.merged, call.attachments)
  const before = approval.arguments
  const keys = [...new Set([...Object.keys(before), ...Object.keys(merged)])].filter(
    (key) => hashJson(before[key]) !== hashJson(merged[key]),
  )
  // The gates are evaluated with the edited arguments, so that an edit cannot avoid a stricter requirement.
  const policies = policiesOf(callable, await agentGates(ctx, call))
  const requirement = stricter(approval.requirement, judgeGate(policies, merged, approval.projectId))
  // The digest covers the tool that the approver was asked about. If it has changed since, the drift check before the run
  // finds it.
  const digest = digestOf(ctx.masterKey, coveredToolOf(approval), {
    arguments: merged,
    requestedBy,
    requirement,
  })
  // Paths that were masked in the original arguments stay masked beside those of the edit.
  const masked = [...(approval.masked ?? []), ...maskedPaths(callable, merged)]
  return { own, merged, keys, dropped, digest, masked, requirement }
}

/**
 * The gates of the agents through which the call goes, as recorded when its generation started or when the call was
 * created.
 */
async function agentGates(ctx: Ctx, { generationId, agentGate: placed }: ToolCall): Promise<GatePolicy[]> {
  if (generationId === null) return placed ? [placed] : []
  const rows = await query<{ gate: GatePolicy | null; inherited: GatePolicy[] | null }>(
    ctx.db,
    sql`select settings->'gate' as gate, settings->'inheritedGates' as inherited from generations
      where id = ${generationId}`,
  )
  return rows.flatMap(({ gate, inherited }) => [...(gate ? [gate] : []), ...(inherited ?? [])])
}

/** What was prepared is judged again under the owners' locks, and prepared again when the rights of the caller have changed. */
function decideAll(ctx: Ctx, prepared: PreparedVerdict[]): Promise<Approval[]> {
  const underLock = (ready: PreparedVerdict[]) => decideUnderLock(ctx, ready)
  return withProof({
    remembered: prepared,
    read: () => prepareAgain(ctx, prepared),
    judge: async (ready) => ready,
    write: async (ready) => {
      const fast = ready === prepared ? await decideAtOnce(ctx, ready, underLock) : null
      return fast ? [fast] : underLock(ready)
    },
  })
}

async function prepareAgain(ctx: Ctx, ready: PreparedVerdict[]): Promise<PreparedVerdict[]> {
  const again: PreparedVerdict[] = []
  for (const { given, root } of ready) again.push(await prepare(ctx, given, root))
  return again
}

async function decideUnderLock(ctx: Ctx, ready: PreparedVerdict[]): Promise<Approval[]> {
  const done = await atomically(ctx.db, async (tx) => {
    await lockOwners(
      tx,
      ready.map((one) => one.owner),
    )
    await assertStillValid(tx, ctx.principal)
    const hints: Hint[] = []
    const decided: Approval[] = []
    for (const one of ready) {
      const made = await applyVerdict(tx, ctx, one)
      hints.push(...made.hints)
      decided.push(made.approval)
    }
    return { decided, hints }
  })
  ctx.pubsub.publish(done.hints)
  return done.decided
}
