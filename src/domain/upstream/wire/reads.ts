/** Requests that are relayed beside tool calls: resources, prompts and completions. */
import { z } from 'zod'
import { jsonTooBig, type Json, type JsonObject } from '../../../core/json.ts'
import type { Services } from '../../access/index.ts'
import { askUpstream, type UpstreamRequest, type InputRequired } from './ask.ts'
import { inputRequired, isInputRequired } from './call.ts'
import { readCompletion, readPromptResult, readResourceResult } from './content.ts'
import { faultOf, UpstreamFault, type FaultCode } from '../fault.ts'
import { relayedInput, relayedMeta } from './relay.ts'

/** A result of the protocol, the input that the upstream requests, or a failure. */
export type UpstreamReading = { result: JsonObject } | { inputRequired: InputRequired } | { fault: Fault }

interface Fault {
  code: FaultCode
  message: string
  rpcCode: number | null
  rpcData: unknown
  /** The person who must log in at the server first. */
  loginOf?: string | undefined
}

const anything = z.looseObject({})
const maxDepth = 64

/** `resources/read` with the upstream's own URI. Never throws. */
export function readResource(
  services: Services,
  request: UpstreamRequest & { uri: string },
): Promise<UpstreamReading> {
  return read(services, request, 'resources/read', { uri: request.uri }, (raw) =>
    readResourceResult(raw, request.uri),
  )
}

/** `prompts/get` with the upstream's own name. Never throws. */
export function getPrompt(
  services: Services,
  request: UpstreamRequest & { name: string; arguments?: Record<string, string> },
): Promise<UpstreamReading> {
  const { name, arguments: args } = request
  return read(
    services,
    request,
    'prompts/get',
    { name, ...(args ? { arguments: args } : {}) },
    readPromptResult,
  )
}

/** `completion/complete`; `params` are those of the protocol. Never throws. */
export function completeArgument(
  services: Services,
  request: UpstreamRequest & { params: JsonObject },
): Promise<UpstreamReading> {
  return read(services, request, 'completion/complete', request.params, readCompletion)
}

async function read(
  services: Services,
  request: UpstreamRequest,
  method: string,
  params: JsonObject,
  readAs: (raw: Json) => JsonObject,
): Promise<UpstreamReading> {
  const { relay } = request
  try {
    const answer = await askUpstream(
      services,
      request,
      { mayHaveRun: false, mayStart: request.mayStart },
      async (link, { timeoutMs, signal }) => {
        const rounds = method === 'completion/complete' ? {} : relayedInput(link, relay)
        const meta = { ...request.trace, ...relayedMeta(link, relay) }
        const message = { method, params: { ...params, ...rounds, _meta: meta } }
        const options = { timeout: timeoutMs, signal, allowInputRequired: true }
        const result = await link.client.request(message, anything, options)
        return isInputRequired(result) ? result : link.answerFor(result)
      },
      true,
    )
    if (isInputRequired(answer)) {
      if (relay) return { inputRequired: inputRequired(answer) }
      throw new UpstreamFault('input_required', 'The server requests input from its caller.')
    }
    const limits = { maxBytes: services.limits.maxResponseBytes, maxDepth }
    const tooBig = 'tooLarge' in answer ? 'is too large to be read' : jsonTooBig(answer.result, limits)
    if (tooBig || 'tooLarge' in answer)
      throw new UpstreamFault('response_too_large', `The response of the server ${tooBig}.`)
    return { result: readAs(answer.result) }
  } catch (error) {
    const { code, message, facts } = faultOf(error)
    const { rpcCode = null, rpcData = null, person: loginOf } = facts
    return { fault: { code, message, rpcCode, rpcData, loginOf } }
  }
}
