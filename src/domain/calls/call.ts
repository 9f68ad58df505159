/**
 * The direct call: runs a tool outside any generation, with the same states as a call inside one, while its caller
 * waits.
 */
import type { JsonObject } from '../../core/json.ts'
import type { Lease } from '../../store/work/leases.ts'
import { type Ctx, assertMay, assertStillValid, basisOf, denialError, operation } from '../access/index.ts'
import { loadCall, ToolCall } from '../tool-calls/index.ts'
import {
  type CallerChannel,
  attachmentsName,
  requireCallable,
  prepareCall,
  readTool,
  recallTool,
  timeoutOf,
  type Callable,
  type RecalledTool,
} from '../tools/index.ts'
import { continueCall, parkForCaller, responsesOf } from './ask-caller.ts'
import { type CreatedCall, createCall } from './create.ts'
import { directStore } from './direct-store.ts'
import { execute } from './execute.ts'
import type { Execution } from './execution.ts'
import { type CallRequest, callPayload } from './pass-gate.ts'
import { idShape, scalar } from '../../core/shapes.ts'
import { z } from 'zod'
import { check, text } from '../../core/check.ts'
import { invalid, invalidAt } from '../../core/errors.ts'
import { StaleReadError, withProof } from '../basis/index.ts'
import { attachmentsShape, resolveAttachments, type Attachment } from '../files/index.ts'
import { assertCallback, callbackShape, secretForCallback } from '../followers/index.ts'
import { isAnswered, waitForCall } from './wait.ts'

/**
 * Sends a call that this process has just created. When its caller cancels meanwhile, an idempotent call is aborted;
 * one that may have effects is waited for, because its outcome must be known. Returns the call as it is then:
 * settled, or AWAITING_CLIENT with the upstream's questions, which only happens with a `caller`.
 */
export function runCreated(
  ctx: Ctx,
  { tool: callable, caller = null }: CallRequest,
  { call, lease, begunAt, upstream }: CreatedCall,
): Promise<ToolCall> {
  return run(ctx, call, lease!, { caller, begunAt, known: { callable, upstream } })
}

/**
 * Passes the caller's responses on to the upstream of a call, and continues the call when none is missing. Returns
 * null when some are missing or another request has given them: nothing runs twice. Ignores keys that were not asked
 * for.
 */
export async function answerCall(
  ctx: Ctx,
  call: ToolCall,
  answers: JsonObject,
  caller: CallerChannel,
): Promise<{ running: Promise<ToolCall> } | null> {
  const continued = await continueCall(ctx, call, answers)
  if (!continued) return null
  const { asked, lease } = continued
  const relay = {
    clientCapabilities: caller.relay?.clientCapabilities ?? {},
    ...caller.relay,
    inputResponses: responsesOf(asked),
    ...(asked.requestState === null ? {} : { requestState: asked.requestState }),
  }
  return {
    running: run(ctx, continued.call, lease, { caller: { ...caller, relay }, begunAt: continued.begunAt }),
  }
}

async function run(
  ctx: Ctx,
  call: ToolCall,
  lease: Lease,
  more: Pick<Execution<ToolCall>, 'known' | 'begunAt'> & { caller: CallerChannel | null },
): Promise<ToolCall> {
  const cancelled = new AbortController()
  const unsubscribe = ctx.pubsub.subscribe((hint) => {
    if (hint.kind === 'signal' && hint.name === 'cancel' && hint.id === call.id) cancelled.abort()
  })
  try {
    const settled = await execute(ctx, call, {
      store: {
        ...directStore(ctx, lease),
        askCaller: (asking, required) => parkForCaller(ctx, lease.held, asking, required),
      },
      lease,
      signal: cancelled.signal,
      isFresh: true,
      trace: { parent: ctx.trace },
      gates: [],
      ...more,
      isLeftToNext: () => false,
    })
    return settled ?? (await loadCall(ctx.db, call.id))
  } finally {
    unsubscribe()
    lease.end()
  }
}

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

/** Begins the call, which this server or the caller runs, with the tool that this process remembers, or reads it. */
export async function begin(
  ctx: Ctx,
  given: CheckedCallInput,
  input: CallToolInput,
  runner: 'server' | 'caller' = 'server',
): Promise<StartedDirectCall> {
  const known = await recallTool(ctx, given.toolId)
  // Files are resolved once only, and a denial is audited, so it must not come from memory.
  const mayRemember = !input.attachments && !(known.basis && known.tool.agentsOnly)
  return withProof({
    remembered: mayRemember ? known : null,
    async read() {
      await assertStillValid(ctx.db, ctx.principal)
      return readTool(ctx, given.toolId)
    },
    judge: (tool) => requestOf(ctx, tool, given, input, runner),
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
  runner: 'server' | 'caller',
): Promise<CallRequest> {
  const what = { action: 'tools:Call', projectId: tool.projectId, resource: `tool/${tool.id}` } as const
  await assertMay(ctx, what.action, what.projectId, what.resource)
  if (tool.agentsOnly)
    throw await denialError(
      ctx,
      what,
      'This tool is for agents only: call it through one of them, whose gate then holds.',
    )
  if ((tool.kind === 'client') !== (runner === 'caller'))
    throw invalidAt(
      ['input', 'toolId'],
      runner === 'caller'
        ? 'must be a client tool, which the calling application runs: callTool runs others'
        : 'is a client tool, which runs in the calling application and not here: see askPermission',
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
