/** The direct call: runs a tool outside any generation, with the same states as a call inside one. */
import { idShape, scalar } from '../../core/shapes.ts'
import { z } from 'zod'
import { check, text } from '../../core/check.ts'
import { invalid, invalidAt } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import { StaleReadError, withProof } from '../../store/db/proof.ts'
import { assertMay, assertStillValid, basisOf, denied, operation, type Ctx } from '../access/index.ts'
import { attachmentsShape, resolveAttachments, type Attachment } from '../files/index.ts'
import {
  attachmentsName,
  requireCallable,
  prepareCall,
  readTool,
  recallTool,
  timeoutOf,
  type Callable,
  type RecalledTool,
} from '../tools/index.ts'
import { ToolCall } from '../tool-calls/index.ts'
import { assertCallback, callbackShape, secretForCallback } from '../followers/index.ts'
import { createCall, type CreatedCall } from './create.ts'
import { callPayload, type CallRequest } from './request.ts'
import { runCreated } from './run.ts'
import { isAnswered, waitForCall } from './wait.ts'

const fields = {
  toolId: idShape('The id of the tool; it begins with tool_. Tools of kind client are refused.'),
  action: text(200, 1)
    .nullish()
    .describe('The name of the action; required for mcp and platform tools, refused for others.'),
  arguments: scalar('JSONObject', z.unknown())
    .optional()
    .describe('The arguments of the call; preset parameters in it have no effect. Default: {}.'),
  callback: callbackShape
    .nullish()
    .describe('Where the events of the call are sent. Permission: webhooks:Callback.'),
  idempotencyKey: text(200, 1)
    .nullish()
    .describe(
      'A text that makes retries safe: a repeat with the same key returns the first call, until 24 hours after it was settled.',
    ),
}
/** Files are checked when they are resolved. */
const shape = z.object({ ...fields, attachments: z.unknown().optional() })
const callInput = z
  .object({
    ...fields,
    attachments: attachmentsShape
      .nullish()
      .describe(
        'Files for the call, at most 20; an http tool receives links to them as the argument attachments.',
      ),
  })
  .describe('The tool call to make.')

export type CallToolInput = z.input<typeof callInput>

/** Time for a worker to claim a call whose lease has ended, in milliseconds. */
const takeOverMs = 2000

/** See callDirectly. */
export const callTool = operation({
  name: 'callTool',
  does:
    'Calls a tool outside a generation and waits for the result; a tool failure is a result with isError. A gated call returns ' +
    'as AWAITING_APPROVAL and runs once approved.',
  permission: 'tools:Call',
  input: callInput,
  payload: callPayload,
  refuses: ['NOT_FOUND', 'IDEMPOTENCY_CONFLICT', 'LIMITED'],
  isAction: ['toolCall'],
  checksItself: true,
  async run(ctx, given) {
    const toolCall = await callDirectly(ctx, given)
    return { toolCall, callbackSecret: secretForCallback(ctx, given.callback, toolCall.id) }
  },
})

/**
 * Calls a tool and waits for its result. Action `tools:Call`; FORBIDDEN for a tool that only agents may use. The call
 * is committed as EXECUTING before anything is sent. A call that the gate stops is committed with its approval and
 * returned at once as AWAITING_APPROVAL, and one that a pause holds as PROPOSED; any replica runs it after that. A tool
 * that fails is a settled call with `isError`; only faults of the request are errors. With an `idempotencyKey`, a repeat joins the first call
 * (pending, running or settled) and never runs again. With `callback` its events are sent to a URL (action
 * `webhooks:Callback`).
 */
export async function callDirectly(ctx: Ctx, input: CallToolInput): Promise<ToolCall> {
  const given = check(shape, input)
  const { request, created } = await begin(ctx, given, input)
  if (isAnswered(created.call)) return created.call
  if (!created.joined) return runCreated(ctx, request, created)
  return waitForCall(ctx, created.call, {
    // The process that runs the call may crash at any moment: then its lease ends, and another worker claims the
    // call.
    maxMs: timeoutOf(ctx, request.tool) + ctx.limits.leaseMs + takeOverMs,
    enough: isAnswered,
  })
}

type CheckedCallInput = z.output<typeof shape>

interface StartedDirectCall {
  request: CallRequest
  created: CreatedCall
}

/** Begins the call with the tool that this process remembers, or reads it. */
async function begin(ctx: Ctx, given: CheckedCallInput, input: CallToolInput): Promise<StartedDirectCall> {
  const known = await recallTool(ctx, given.toolId)
  // Files are resolved once only, and a denial is audited, so it must not come from memory.
  const mayRemember = !input.attachments && !(known.basis && known.tool.agentsOnly)
  return withProof({
    remembered: mayRemember ? known : null,
    async read() {
      await assertStillValid(ctx.db, ctx.principal)
      return readTool(ctx, given.toolId)
    },
    judge: (tool) => requestOf(ctx, tool, given, input),
    async write(request) {
      const created = await createCall(ctx, request)
      // A repeat writes nothing that could prove it.
      if (created.joined && request.basis.toolVersion) throw new StaleReadError()
      return { request, created }
    },
  })
}

async function requestOf(
  ctx: Ctx,
  { tool, catalogs, basis }: RecalledTool,
  given: CheckedCallInput,
  input: CallToolInput,
): Promise<CallRequest> {
  const what = { action: 'tools:Call', projectId: tool.projectId, resource: `tool/${tool.id}` } as const
  await assertMay(ctx, what.action, what.projectId, what.resource)
  if (tool.agentsOnly)
    throw await denied(
      ctx,
      what,
      'This tool is for agents only: call it through one of them, whose gate then holds.',
    )
  if (tool.kind === 'client')
    throw invalidAt(
      ['input', 'toolId'],
      'is a client tool, which runs in the calling application and not here',
    )
  const action = given.action ?? null
  const callable = await requireCallable(ctx, tool, action, ['input', 'action'], catalogs)
  const prepared = prepareCall(callable, given.arguments ?? {})
  if (!prepared.ok)
    throw invalid(prepared.issues.map((issue) => ({ ...issue, path: ['input', ...issue.path] })))
  const attachments = await attachTo(ctx, callable, input.attachments, ['input', 'attachments'])
  const { callback } = given
  await assertCallback(ctx, tool.projectId, callback)
  const key = given.idempotencyKey ?? null
  const identity = {
    toolId: tool.id,
    ...(callable.action === null ? {} : { action: callable.action }),
    arguments: prepared.arguments,
    ...(attachments ? { attachments } : {}),
    ...(callback ? { callback } : {}),
  }
  const idempotency = key === null ? null : { operation: 'tools:Call', key, request: identity }
  return {
    tool: callable,
    prepared,
    attachments,
    idempotency,
    callback,
    via: null,
    // Its key may be remembered as well.
    basis: { ...basisOf(ctx.principal), ...basis },
  }
}

/**
 * The files that the call carries; null for none. INVALID unless the tool is an http tool without an argument of that
 * name.
 */
export async function attachTo(
  ctx: Ctx,
  tool: Callable,
  given: CallToolInput['attachments'] | null | undefined,
  root: readonly string[],
): Promise<Attachment[] | null> {
  if (!given || (Array.isArray(given) && given.length === 0)) return null
  const own = (tool.inputSchema['properties'] ?? {}) as JsonObject
  if (tool.kind !== 'http' || attachmentsName in own)
    throw invalidAt(
      [...root],
      'has no place in this tool: it takes no files, or has an argument of that name',
    )
  return resolveAttachments(ctx, tool.projectId, given, root)
}
