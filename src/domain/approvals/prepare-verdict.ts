/** What a verdict is before it is judged: checked as far as that needs no lock, with the arguments that an approver has edited. */
import { z } from 'zod'
import { check, text } from '../../core/check.ts'
import type { ToolResult } from '../../core/content.ts'
import { AppError, invalid, invalidAt, type Issue } from '../../core/errors.ts'
import {
  copyJson,
  hashJson,
  isJsonObject,
  isNestedTooDeep,
  jsonTooBig,
  tryParseJson,
  valueAt,
  writeJson,
  type Json,
  type JsonObject,
} from '../../core/json.ts'
import { mask } from '../../core/scrub.ts'
import { idOf, openPart, optional, scalar } from '../../core/shapes.ts'
import { query } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import { ownerOf, type Owner } from '../../store/work/owner.ts'
import { denialError, type Ctx } from '../access/index.ts'
import { judgeGate, stricter, type GatePolicy, type Requirement } from '../gates/index.ts'
import { loadCall, type ToolCall } from '../tool-calls/index.ts'
import {
  argumentLimits,
  maskAt,
  maskedPaths,
  policiesOf,
  prepareCall,
  proposedCallable,
  resultFault,
  withAttachments,
  type Callable,
} from '../tools/index.ts'
import { type Approval, type Vote, currentArguments, respondedResult, verdictChoice } from './approval.ts'
import { coveredToolOf, digestOf } from './digest.ts'
import { grantShape } from './grants.ts'
import { assertMayDecide, decides, findForVerdict, whatOf, type VerdictSnapshot } from './read.ts'
import { personsIn, whyNot, type Persons } from './rights.ts'
import { runsToEnd } from './stop.ts'

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
  stop: optional(
    z
      .boolean()
      .describe(
        'Whether the rejection also ends the run of the call and every run that waits for it, which needs generations:Cancel, or ' +
          'the session that a program has named in the argument session, whose later calls are refused for a day. For REJECT ' +
          'only, without response and grant.',
      ),
    'false',
  ),
}).describe('A verdict about one approval.')

export type DecideApprovalInput = z.input<typeof decision>

/** The input of one decision, validated. `expectedDigest` of an APPROVE that named none: the digest at the beginning of the request. */
export type Decision = z.output<typeof decision>
/** A validated decision, to be applied under the lock. */
export interface PreparedVerdict {
  given: Decision
  /** As it was read, without a lock. */
  approval: Approval
  owner: Owner
  /** The runs that end with it, from the bottom up. */
  ends: Owner[]
  /** What else was read with it. */
  seen: VerdictSnapshot
  /** The persons behind caller, requester and voters; empty where nothing depends on them. */
  persons: Persons
  edit: Edit | null
  /** What the call results in when the verdict answers it with text; null when it does not. */
  response: ToolResult | null
  /** The vote of an earlier statement for this decision whose response was lost; it may have been written. */
  lost?: Vote | null
  /** Path of the decision in the request, for the paths of INVALID errors. */
  root: string[]
}

/** The arguments with which an approver replaces the current ones. */
export interface Edit {
  /** The arguments without presets, as the model or caller would have sent them. */
  own: JsonObject
  merged: JsonObject
  /** Names of the arguments that differ from those that were asked about. */
  keys: string[]
  /** Preset keys that the approver sent; they were dropped. */
  dropped: string[]
  digest: string
  masked: string[][]
  requirement: Requirement
}

/**
 * The arguments with every mask replaced by the value that it hides. A mask at a path without a value is an issue,
 * and so is a mask inside a changed list, where it is not clear which value it means. Pure.
 */
export function unmaskEdit(
  given: JsonObject,
  approval: Approval,
  tool: Callable,
): { arguments: JsonObject } | { issues: Issue[] } {
  const before = currentArguments(approval)
  const paths = [approval.masked ?? [], maskedPaths(tool, before), maskedPaths(tool, given)].flat()
  const [shownBefore, shownGiven] = [maskAt(before, paths), maskAt(given, paths)]
  const places = new Map(paths.map((path) => [writeJson(path), path]))
  const result = copyJson(given)
  const issues: Issue[] = []
  for (const path of places.values()) {
    if (valueAt(given, path) !== mask) continue
    const list = path.findIndex((_key, i) => Array.isArray(valueAt(given, path.slice(0, i))))
    const around = list === -1 ? null : path.slice(0, list)
    const value = valueAt(before, path)
    if (value === undefined)
      issues.push({ path, message: 'is a mask, but there is no value at this path: send the value' })
    else if (around && hashJson(valueAt(shownGiven, around)) !== hashJson(valueAt(shownBefore, around)))
      issues.push({ path, message: 'is a mask in a list that was changed: send the value' })
    else put(result, path, value)
  }
  return issues.length > 0 ? { issues } : { arguments: result }
}

function put(value: Json, path: readonly string[], to: Json): void {
  const parent = valueAt(value, path.slice(0, -1)) as Record<string, Json>
  Object.defineProperty(parent, path.at(-1)!, {
    value: to,
    enumerable: true,
    configurable: true,
    writable: true,
  })
}

/**
 * Checks what needs no lock: shape, permission, roles and edited arguments. What can change meanwhile is checked
 * again under the lock. `isAlone`: it may be written at once.
 */
export async function prepareVerdict(
  ctx: Ctx,
  input: unknown,
  root: string[],
  isAlone = false,
): Promise<PreparedVerdict> {
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
  const ends = given.stop ? await runsToEnd(ctx, approval) : []
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
  return { given: { ...given, expectedDigest }, approval, owner, ends, seen, persons, edit, response, root }
}

/** INVALID where the parts of a decision do not go together. */
function assertFits({ verdict, ...given }: Decision, root: string[]): void {
  const isApproval = verdict === 'APPROVE'
  const fault = (name: string, message: string) => invalidAt([...root, name], message)
  if (!isApproval && given.arguments !== undefined && given.arguments !== null)
    throw fault('arguments', 'goes with the verdict APPROVE only')
  if (isApproval && given.response) throw fault('response', 'goes with the verdict REJECT only')
  if (given.response && given.reason)
    throw fault('reason', 'has no place beside a response, which is what the model gets')
  if (given.stop && (isApproval || given.response || given.grant))
    throw fault('stop', 'goes with the verdict REJECT only, without response and grant')
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

async function editOf(ctx: Ctx, approval: Approval, given: Decision, root: string[]): Promise<Edit> {
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
