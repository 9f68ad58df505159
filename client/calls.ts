/** Direct calls of tools, and waiting for those that the gate stopped. */
import { feedCursor, followProject, newIdempotencyKey, run, runPatiently, typed, type Core } from './core.ts'
import * as documents from './documents.ts'
import { CursorExpiredError, errorOf, ForbiddenError, UnreachableError } from './errors.ts'
import type {
  CallToolData,
  CallToolInput,
  CallToolVariables,
  EventType,
  ToolCall,
  ToolCallByIdData,
  ToolCallByIdVariables,
} from './operation-types.ts'
import { limited, pause } from './pause.ts'
import type { RequestOptions } from './request.ts'

const callOne = typed<CallToolData, CallToolVariables>(documents.callTool)
const byId = typed<ToolCallByIdData, ToolCallByIdVariables>(documents.toolCallById)

export interface CallToolOptions extends RequestOptions {
  /** Whether to wait for the outcome of a call that is not settled, as one at the gate. Default: true. */
  wait?: boolean
  /** Called when the call waits at the gate; its `approval` says which question is open. What it throws ends the waiting. */
  onWaiting?: (call: ToolCall) => unknown
}

const open = new Set(['PROPOSED', 'AWAITING_APPROVAL', 'APPROVED', 'EXECUTING', 'AWAITING_CLIENT'])
const isOpen = ({ status }: ToolCall) => open.has(status)

/**
 * Calls a tool and returns the call with its outcome, also of one that a person has to approve: a failure of the tool is a
 * value (`isError`, `errorCode`). The request has an idempotency key and is repeated safely. Throws GatehouseError when
 * the call was refused before it began, and the reason of the signal, which withdraws nothing.
 */
export async function callTool(
  core: Core,
  input: CallToolInput,
  { wait = true, onWaiting, ...options }: CallToolOptions = {},
): Promise<ToolCall> {
  const keyed = { ...input, idempotencyKey: input.idempotencyKey ?? newIdempotencyKey() }
  const toolCall = await begun(core, keyed, options)
  if (!wait || !isOpen(toolCall)) return toolCall
  const stop = new AbortController()
  const signal = options.signal ? AbortSignal.any([options.signal, stop.signal]) : stop.signal
  const failed = new Promise<never>((_, reject) => {
    const hear = async () => toolCall.status === 'AWAITING_APPROVAL' && (await onWaiting?.(toolCall))
    hear().catch(reject)
  })
  try {
    return await Promise.race([outcomeOf(core, toolCall.id, signal), failed])
  } finally {
    stop.abort()
  }
}

/** The answer to a call comes when its tool has ended, which may take longer than other requests: a repeat joins the call. */
async function begun(core: Core, input: CallToolInput, options: RequestOptions): Promise<ToolCall> {
  for (;;) {
    try {
      return (await run(core, callOne, { input }, true, options)).callTool.toolCall
    } catch (error) {
      if (!(error instanceof UnreachableError) || !error.isLate) throw error
      core.server.onRetry(error, 0)
    }
  }
}

const types: readonly EventType[] = [
  'TOOL_CALL_SETTLED',
  'TOOL_CALL_UNKNOWN',
  'APPROVAL_EXPIRED',
  'APPROVAL_VOIDED',
  'APPROVAL_DECIDED',
]
/** How often the call is read all the same: an event may be hidden from this key. Milliseconds. */
const pollMs = 5_000

/** Waits until a call is settled. Follows the project's events; a key that may not do that reads again and again. */
async function outcomeOf(core: Core, id: string, signal: AbortSignal | undefined): Promise<ToolCall> {
  for (;;) {
    try {
      const { projectId, cursor } = await feedCursor(core, signal)
      const call = await read(core, id, signal)
      if (!isOpen(call)) return call
      await news(core, id, { projectId, after: cursor }, signal)
    } catch (error) {
      if (!(error instanceof ForbiddenError)) throw error
      const call = await read(core, id, signal)
      if (!isOpen(call)) return call
      await pause(pollMs / 5, signal)
    }
  }
}

/** Resolves when something has happened to the call, or it is time to read it all the same. */
async function news(
  core: Core,
  id: string,
  from: { projectId: string; after: string },
  outer: AbortSignal | undefined,
): Promise<void> {
  const limit = limited(pollMs, outer)
  try {
    for await (const event of followProject(core, { ...from, types, signal: limit.signal })) {
      const call =
        'toolCall' in event ? event.toolCall : 'approval' in event ? event.approval?.toolCall : null
      if (call?.id === id) return
    }
  } catch (error) {
    if (!limit.isLate() && !(error instanceof CursorExpiredError)) throw error
  } finally {
    limit.done()
  }
}

async function read(core: Core, id: string, signal: AbortSignal | undefined): Promise<ToolCall> {
  const { toolCall } = await runPatiently(core, byId, { id }, signal)
  if (!toolCall) throw errorOf('NOT_FOUND', 'There is no such tool call for this key.')
  return toolCall
}
