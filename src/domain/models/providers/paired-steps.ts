/**
 * Makes a history valid for every provider protocol: each call is followed by its result, in order, under a unique
 * id.
 */
import { errorResult } from '../../../core/content.ts'
import type { AssistantPart, FilePart, Message, TextPart, ToolCallPart, ToolResultPart } from '../message.ts'
import type { ProviderKind } from '../port.ts'

export interface PairedCall {
  wireId: string
  result: ToolResultPart
}

export type PairedMessage =
  | { role: 'user'; parts: (TextPart | FilePart)[] }
  /** `calls` holds the result of each call part of `parts`, in the same order. */
  | { role: 'assistant'; parts: AssistantPart[]; calls: Map<ToolCallPart, PairedCall> }

/** Ids that providers with a rule about ids accept. */
const strictId = /^[a-zA-Z0-9_-]{1,64}$/

/**
 * Collects results up to the next assistant message and puts them beside their calls. A call without a result gets an
 * error that says so; a result without a call is left out. Keeps a provider's own id where it is valid and unique in
 * this conversation (compatible servers repeat theirs), else uses ours.
 */
export function pairedSteps(messages: Message[], kind: ProviderKind): PairedMessage[] {
  const used = new Set<string>()
  return messages.flatMap((message, i): PairedMessage[] => {
    if (message.role === 'tool') return []
    if (message.role === 'user') return [{ role: 'user', parts: message.parts }]
    const results = resultsAfter(messages, i)
    const calls = new Map<ToolCallPart, PairedCall>()
    for (const part of message.parts) {
      if (part.type !== 'tool-call') continue
      calls.set(part, { wireId: wireIdOf(part, kind, used), result: takeResult(part, results) })
    }
    return [{ role: 'assistant', parts: message.parts, calls }]
  })
}

function resultsAfter(messages: Message[], index: number): ToolResultPart[] {
  const results: ToolResultPart[] = []
  for (const message of messages.slice(index + 1)) {
    if (message.role === 'assistant') break
    if (message.role === 'tool') results.push(...message.parts)
  }
  return results
}

function takeResult(call: ToolCallPart, results: ToolResultPart[]): ToolResultPart {
  const byOurs = call.callId === '' ? -1 : results.findIndex((result) => result.callId === call.callId)
  const byTheirs = results.findIndex((result) => result.providerCallId === call.providerCallId)
  const at = byOurs === -1 ? byTheirs : byOurs
  if (at !== -1) return results.splice(at, 1)[0]!
  const { callId, providerCallId, name } = call
  const missing = errorResult('no_result', 'This call has no result. It may not have run.')
  return { type: 'tool-result', callId, providerCallId, name, ...missing }
}

function wireIdOf(call: ToolCallPart, kind: ProviderKind, used: Set<string>): string {
  const legal = kind === 'compatible' || kind === 'google' ? /^\S{1,200}$/ : strictId
  const wanted = [call.providerCallId, call.callId].find((id) => legal.test(id) && !used.has(id))
  let id = wanted ?? `call_${used.size}`
  for (let n = used.size; used.has(id); n++) id = `call_${n}`
  used.add(id)
  return id
}
