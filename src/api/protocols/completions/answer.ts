/** One answer, in the shapes of OpenAI's chat completions: what is told while it is made, and the whole. */
import { type JsonObject, writeJson } from '../../../core/json.ts'
import type { Generation, Step } from '../../../domain/generations/index.ts'
import { textOf } from '../../../domain/models/index.ts'
import type { ToolCall } from '../../../domain/tool-calls/index.ts'
import { argumentsForClient, argumentsToShow, newTextOf, unsaidOutput } from '../segments/presentation.ts'
import type { RunUpdate } from '../segments/segment-log.ts'
import type { MessageCall } from './messages.ts'
import { segmentId, type RunSegment } from '../segments/segments.ts'

export type Delta = { content: string } | { tool_calls: JsonObject[] }
type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter'

/** Between texts that are no continuation of each other. */
const gap = '\n\n'

/** Puts an answer together from what happens in runs. A client that reads the deltas has the text and the calls. */
export class Answer {
  /** Exactly what the deltas said. */
  text = ''
  readonly calls: MessageCall[] = []
  finishReason: FinishReason = 'stop'
  readonly #tellsCalls: boolean
  readonly #usage = { input: 0, output: 0 }
  /** Text of a message on its way that was sent. */
  #unsettled = ''
  #lastText = ''
  /** What is said next is not what was said last. */
  #isApart = false

  /** `tellsCalls`: calls that run here are told too. */
  constructor(tellsCalls: boolean) {
    this.#tellsCalls = tellsCalls
  }

  add(one: RunUpdate): Delta[] {
    if (one.type === 'text') {
      const added = newTextOf(one, this.#unsettled.length)
      this.#unsettled += added
      return this.#write(added)
    }
    if (one.type === 'reset') return this.#reset()
    if (one.type === 'step') return this.#step(one.step)
    if (one.type === 'call') return this.#tellsCalls ? this.#call(one.call, argumentsToShow(one.call)) : []
    if (one.type === 'clientCalls') {
      // Those that were answered elsewhere are passed.
      const open = one.calls.filter(({ status }) => status === 'AWAITING_CLIENT')
      if (open.length > 0) this.finishReason = 'tool_calls'
      return open.flatMap((call) => this.#call(call, argumentsForClient(call)))
    }
    return one.type === 'end' ? this.#end(one.generation) : []
  }

  /** Words that no model said. */
  say(words: string): Delta[] {
    this.#isApart = true
    return this.#write(words)
  }

  usage(): JsonObject {
    const { input, output } = this.#usage
    return {
      prompt_tokens: input,
      completion_tokens: output,
      total_tokens: input + output,
      prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
      completion_tokens_details: {
        reasoning_tokens: 0,
        audio_tokens: 0,
        accepted_prediction_tokens: 0,
        rejected_prediction_tokens: 0,
      },
    }
  }

  message(): JsonObject {
    const calls = this.calls.map(toolCallOf)
    const content = this.text === '' && calls.length > 0 ? null : this.text
    const own = { role: 'assistant', content, refusal: null, annotations: [] }
    return calls.length > 0 ? { ...own, tool_calls: calls } : own
  }

  #write(text: string): Delta[] {
    if (text === '') return []
    const content = this.#isApart && this.text !== '' ? gap + text : text
    this.#isApart = false
    this.text += content
    return [{ content }]
  }

  /** What was sent of a text that will not be committed stays. */
  #reset(): Delta[] {
    this.#isApart = true
    this.#unsettled = ''
    return []
  }

  #step({ usage, parts }: Step): Delta[] {
    this.#usage.input += usage.inputTokens
    this.#usage.output += usage.outputTokens
    const text = textOf(parts)
    this.#lastText = text
    if (!text.startsWith(this.#unsettled)) this.#reset()
    const deltas = this.#write(text.slice(this.#unsettled.length))
    this.#reset()
    return deltas
  }

  #call({ id, runtimeName: name }: ToolCall, args: JsonObject): Delta[] {
    const call = { id, name, arguments: writeJson(args) }
    const index = this.calls.push(call) - 1
    return [{ tool_calls: [{ index, ...toolCallOf(call) }] }]
  }

  #end(ended: Generation): Delta[] {
    const { stopReason, truncated } = ended
    this.#reset()
    this.finishReason =
      stopReason === 'CONTENT_FILTER'
        ? 'content_filter'
        : truncated || stopReason === 'LENGTH'
          ? 'length'
          : 'stop'
    const unsaid = unsaidOutput(ended, this.#lastText)
    this.#lastText = ''
    return this.#write(unsaid ?? '')
  }
}

const toolCallOf = ({ id, name, arguments: args }: MessageCall): JsonObject => ({
  id,
  type: 'function',
  function: { name, arguments: args },
})

/** The bodies of OpenAI's chat completions. Pure. */
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
