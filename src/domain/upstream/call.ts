/** Calls a tool of an upstream. Whatever happens comes back as a result that a model can read. */
import type { CallToolResult, Progress, Tool as WireTool } from '@modelcontextprotocol/client'
import type { ToolResult } from '../../core/content.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Services } from '../access/index.ts'
import { askUpstream, type Asking, type InputRequired, type SendOptions } from './ask.ts'
import type { UpstreamTool } from './catalog.ts'
import { faultOf, isAnswer, UpstreamFault } from './fault.ts'
import type { Link } from './link.ts'
import { relayedInput, relayedMeta } from './relay.ts'
import { faultResult, resultOf } from './results.ts'
import { loadCatalogs, type UpstreamRow } from './state.ts'
import type { Sight } from './wire.ts'

export interface UpstreamProgress {
  progress: number
  total?: number
  message?: string
}

export interface UpstreamCall extends Asking {
  /** As the upstream calls it. */
  tool: string
  arguments: JsonObject
  /** The tool call's id: sent as `_meta["gatehouse/call_id"]`, and as `Idempotency-Key` over Streamable HTTP. */
  callId: string
  /** Progress starts the time anew, up to ten times of it in all. @default false */
  progressExtends?: boolean
  onProgress?(progress: UpstreamProgress): void
  /** Asked when the call is about to leave; with false nothing does. */
  mayStart?: (() => boolean) | undefined
}

/**
 * `sent` is false only when the upstream has surely not acted on the call; `lost` says that it was sent and that what
 * came back, if anything, is not the upstream's word about it.
 */
export type UpstreamAnswer =
  { result: ToolResult; sent: boolean; lost: boolean } | { inputRequired: InputRequired }

/** More often than this nobody hears of progress, in milliseconds. */
const progressEveryMs = 20

/**
 * Never throws. Nothing is repeated blindly: a call is sent again only when the transport proves that it was not acted
 * on. Without `relay` an upstream that wants to ask something back is an error `input_required`.
 */
export async function callUpstream(services: Services, call: UpstreamCall): Promise<UpstreamAnswer> {
  const sight: Sight = { mayHaveRun: false, mayStart: call.mayStart }
  try {
    const { answer, tool } = await askUpstream(services, call, sight, async (link, options) => {
      const found = await findTool(services, options.row, call.tool)
      return { answer: await send(link, call, found, options), tool: found }
    })
    if (isInputRequired(answer)) return asked(call, answer)
    const result = resultOf(answer, tool?.outputSchema ?? null, services.limits.maxResponseBytes)
    return { result, sent: true, lost: false }
  } catch (error) {
    const fault = faultOf(error)
    if (!(error instanceof UpstreamFault))
      services.log.debug({ err: error, id: call.id }, 'an upstream call failed')
    const sent = sight.mayHaveRun
    return { result: faultResult(fault, sent), sent, lost: sent && !isAnswer(fault) }
  }
}

/** Null for a tool that is in no list: the upstream says what it thinks of it. */
async function findTool(services: Services, row: UpstreamRow, name: string): Promise<UpstreamTool | null> {
  const catalog = (await loadCatalogs(services.db, [row])).get(row.id)!
  return catalog.tools.find((tool) => tool.name === name) ?? null
}

async function send(
  link: Link,
  call: UpstreamCall,
  tool: UpstreamTool | null,
  { timeoutMs, signal }: SendOptions,
): Promise<CallToolResult> {
  const { callId, relay, progressExtends = false } = call
  const params = {
    name: call.tool,
    arguments: call.arguments,
    _meta: { 'gatehouse/call_id': callId, ...relayedMeta(link, relay) },
    ...relayedInput(link, relay),
  }
  return link.client.callTool(params as Parameters<typeof link.client.callTool>[0], {
    timeout: timeoutMs,
    maxTotalTimeout: progressExtends ? timeoutMs * 10 : timeoutMs,
    resetTimeoutOnProgress: progressExtends,
    signal,
    allowInputRequired: true,
    headers: { 'Idempotency-Key': callId },
    // Arguments that ride in headers are found by the schema. Without an outputSchema the SDK checks no result.
    ...(tool ? { toolDefinition: { name: tool.name, inputSchema: tool.inputSchema } as WireTool } : {}),
    ...(call.onProgress ? { onprogress: paced(call.onProgress.bind(call)) } : {}),
  })
}

function paced(tell: (progress: UpstreamProgress) => void): (progress: Progress) => void {
  let last = 0
  return ({ progress, total, message }) => {
    const now = Date.now()
    const isLast = total !== undefined && progress >= total
    if (now - last < progressEveryMs && !isLast) return
    last = now
    tell({
      progress,
      ...(total === undefined ? {} : { total }),
      ...(message === undefined ? {} : { message: message.slice(0, 1000) }),
    })
  }
}

interface WireInputRequired {
  resultType: 'input_required'
  inputRequests?: JsonObject
  requestState?: string
}

/** With `allowInputRequired` the SDK gives either. */
export function isInputRequired(answer: unknown): answer is WireInputRequired {
  return (answer as { resultType?: unknown }).resultType === 'input_required'
}

/** What the upstream asks for, as it came. */
export function inputRequired(answer: WireInputRequired): InputRequired {
  return { inputRequests: answer.inputRequests ?? {}, requestState: answer.requestState ?? null }
}

function asked({ relay }: UpstreamCall, answer: WireInputRequired): UpstreamAnswer {
  if (relay) return { inputRequired: inputRequired(answer) }
  const fault = new UpstreamFault(
    'input_required',
    'The server wants to ask its caller something, and nobody is there to answer.',
  )
  return { result: faultResult(fault, true), sent: true, lost: false }
}
