/** The bodies of OpenAI's chat completions. Pure. */
import type { JsonObject } from '../../../core/json.ts'
import { segmentId, type RunSegment } from '../segments/segments.ts'
import type { Generation } from '../../../domain/generations/index.ts'
import type { Answer, Delta, FinishReason } from './answer.ts'

export interface AnswerFacts {
  segment: RunSegment
  generation: Generation
  /** The name that the client gave. */
  model: string
  /** Whether the stream ends with the usage. */
  tellsUsage: boolean
}

function shell({ segment, generation, model }: AnswerFacts, object: string): JsonObject {
  return {
    id: segmentId('chatcmpl', segment),
    object,
    created: Math.floor(generation.createdAt.getTime() / 1000),
    model,
    service_tier: 'default',
    system_fingerprint: null,
  }
}

/** The whole answer. */
export function completion(facts: AnswerFacts, answer: Answer): JsonObject {
  const choice = { index: 0, message: answer.message(), logprobs: null, finish_reason: answer.finishReason }
  return { ...shell(facts, 'chat.completion'), choices: [choice], usage: answer.usage() }
}

/** A piece of a streamed answer; the first one says the role, and the last one has a reason and no more to say. */
export function chunk(
  facts: AnswerFacts,
  delta: Delta | { role: 'assistant'; content: '' } | Record<string, never>,
  reason: FinishReason | null = null,
): JsonObject {
  const choice = { index: 0, delta, logprobs: null, finish_reason: reason }
  const own = { ...shell(facts, 'chat.completion.chunk'), choices: [choice] }
  return facts.tellsUsage ? { ...own, usage: null } : own
}

/** What a stream ends with for a client that asked for the usage. */
export function usageChunk(facts: AnswerFacts, answer: Answer): JsonObject {
  return { ...shell(facts, 'chat.completion.chunk'), choices: [], usage: answer.usage() }
}
