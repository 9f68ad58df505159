/** Requests that are relayed beside tool calls: resources, prompts and completions, passed on unchanged. */
import { z } from 'zod'
import { jsonTooBig, type JsonObject } from '../../../core/json.ts'
import type { Services } from '../../access/index.ts'
import { askUpstream, type UpstreamRequest, type InputRequired } from './ask.ts'
import { inputRequired, isInputRequired } from './call.ts'
import { faultOf, UpstreamFault, type FaultCode } from '../fault.ts'
import { relayedInput, relayedMeta } from './relay.ts'

/** A result of the protocol, the input that the upstream requests, or a failure. */
export type UpstreamReading =
  | { result: JsonObject }
  | { inputRequired: InputRequired }
  | { fault: { code: FaultCode; message: string; rpcCode: number | null; rpcData: unknown } }

const anything = z.looseObject({})
const maxDepth = 64

/** `resources/read` with the upstream's own URI. Never throws. */
export function readResource(
  services: Services,
  request: UpstreamRequest & { uri: string },
): Promise<UpstreamReading> {
  return read(services, request, 'resources/read', { uri: request.uri })
}

/** `prompts/get` with the upstream's own name. Never throws. */
export function getPrompt(
  services: Services,
  request: UpstreamRequest & { name: string; arguments?: Record<string, string> },
): Promise<UpstreamReading> {
  const { name, arguments: args } = request
  return read(services, request, 'prompts/get', { name, ...(args ? { arguments: args } : {}) })
}

/** `completion/complete`; `params` are those of the protocol. Never throws. */
export function completeArgument(
  services: Services,
  request: UpstreamRequest & { params: JsonObject },
): Promise<UpstreamReading> {
  return read(services, request, 'completion/complete', request.params)
}

async function read(
  services: Services,
  request: UpstreamRequest,
  method: string,
  params: JsonObject,
): Promise<UpstreamReading> {
  const { relay } = request
  try {
    const answer = await askUpstream(
      services,
      request,
      { mayHaveRun: false, mayStart: request.mayStart },
      (link, { timeoutMs, signal }) => {
        const rounds = method === 'completion/complete' ? {} : relayedInput(link, relay)
        const meta = { ...request.trace, ...relayedMeta(link, relay) }
        const message = { method, params: { ...params, ...rounds, _meta: meta } }
        return link.client.request(message, anything, {
          timeout: timeoutMs,
          signal,
          allowInputRequired: true,
        })
      },
      true,
    )
    if (isInputRequired(answer)) {
      if (relay) return { inputRequired: inputRequired(answer) }
      throw new UpstreamFault('input_required', 'The server requests input from its caller.')
    }
    const tooBig = jsonTooBig(answer, { maxBytes: services.limits.maxResponseBytes, maxDepth })
    if (tooBig) throw new UpstreamFault('response_too_large', `The response of the server ${tooBig}.`)
    return { result: answer as JsonObject }
  } catch (error) {
    const { code, message, facts } = faultOf(error)
    return { fault: { code, message, rpcCode: facts.rpcCode ?? null, rpcData: facts.rpcData ?? null } }
  }
}
