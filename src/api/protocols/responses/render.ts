/** Renders a segment as the events of a streamed response; the same log gives the same events with the same numbers. */
import type { JsonObject } from '../../../core/json.ts'
import { type Generation, type Step } from '../../../domain/generations/index.ts'
import { textOf } from '../../../domain/models/index.ts'
import { endsSegment, type RunUpdate } from '../segments/segment-log.ts'
import { messageId, newTextOf, failureText, unsaidOutput } from '../segments/presentation.ts'
import {
  segmentId,
  mostLiveText,
  numberOf,
  openingNumber,
  textNumber,
  textUpTo,
  type RunSegment,
} from '../segments/segments.ts'
import { approvalRequest, functionCall, mcpCall, messageItem, textPart, type Item } from './items.ts'

/** An event of the stream. */
export type StreamEvent = JsonObject & { type: string; sequence_number: number }

export interface Rendering {
  /** The events with which the stream begins. */
  begin(): StreamEvent[]
  /** The events that follow from what happened. */
  add(one: RunUpdate): StreamEvent[]
  /** The response as it is now. */
  response(): JsonObject
}

/** The message whose text is on its way. `text` is null while nothing is known but its length. */
interface OpenMessage {
  id: string
  index: number
  sent: number
}

export interface SegmentFacts {
  segment: RunSegment
  generation: Generation
  /** The name that the client gave, or the agent's id. */
  model: string
  background: boolean
  previousId: string | null
}

/** `startingAfter`: the client has every event up to this number; -1 for none. */
export function createRendering(facts: SegmentFacts, startingAfter = -1): Rendering {
  return new SegmentRendering(facts, startingAfter)
}

type Put = (type: string, data: JsonObject, number?: number) => void

class SegmentRendering implements Rendering {
  readonly #facts: SegmentFacts
  readonly #startingAfter: number
  readonly #had: ReturnType<typeof textUpTo>
  readonly #output: Item[] = []
  readonly #usage = { input: 0, output: 0 }
  #ending: JsonObject
  #open: OpenMessage | null = null
  /** Text on its way that was seen. */
  #unsettled = ''
  #lastText = ''

  constructor(facts: SegmentFacts, startingAfter: number) {
    this.#facts = facts
    this.#startingAfter = startingAfter
    this.#had = textUpTo(startingAfter)
    const isQueued = facts.generation.storedStatus === 'QUEUED' && facts.background
    this.#ending = { status: isQueued ? 'queued' : 'in_progress' }
  }

  response(): JsonObject {
    const output = this.#output
    return {
      ...shell(this.#facts, segmentId('resp', this.#facts.segment)),
      output: [...output],
      output_text: output.flatMap(textIn).join(''),
      usage: usageOf(this.#usage),
      ...this.#ending,
    }
  }

  begin(): StreamEvent[] {
    const { events, put } = this.#numbered(this.#facts.segment.after)
    put('response.created', { response: this.response() })
    put('response.in_progress', { response: this.response() })
    return events
  }

  add(one: RunUpdate): StreamEvent[] {
    if (one.type === 'text') return this.#text(one)
    if (one.type === 'clientCall') return []
    const { events, put } = this.#numbered(one.seq)
    if (one.type === 'reset') this.#discard(put)
    else if (one.type === 'step') this.#step(put, one.seq, one.step)
    else if (one.type === 'call') this.#whole(put, mcpCall(one.call))
    else if (one.type === 'clientCalls') for (const call of one.calls) this.#whole(put, functionCall(call))
    else if (one.type === 'approvals')
      for (const approval of one.approvals) this.#whole(put, approvalRequest(approval))
    else this.#end(put, one.generation)
    if (endsSegment(one) && one.type !== 'end') this.#ending = { status: 'completed' }
    if (endsSegment(one)) {
      const { status } = this.#ending
      put(`response.${status === 'cancelled' ? 'incomplete' : String(status)}`, { response: this.response() })
    }
    return events
  }

  /** Numbers the events that follow from one event of the log, and leaves out those that the client has. */
  #numbered(seq: number): { events: StreamEvent[]; put: Put } {
    const events: StreamEvent[] = []
    let k = 0
    const put: Put = (type, data, number = numberOf(seq, k++)) => {
      if (number > this.#startingAfter) events.push({ type, sequence_number: number, ...data })
    }
    return { events, put }
  }

  #whole(put: Put, item: Item): void {
    const output_index = this.#output.push(item) - 1
    const place = { output_index, item_id: item.id }
    if (item.type === 'function_call') {
      const { name = '', arguments: args = '' } = item
      // Clients put the arguments together from the deltas.
      put('response.output_item.added', {
        output_index,
        item: { ...item, arguments: '', status: 'in_progress' },
      })
      put('response.function_call_arguments.delta', { ...place, delta: args })
      put('response.function_call_arguments.done', { ...place, name, arguments: args })
    } else put('response.output_item.added', { output_index, item })
    put('response.output_item.done', { output_index, item })
  }

  #openMessage(put: Put, id: string, numbers: [number?, number?] = []): OpenMessage {
    const item = messageItem(id, '', 'in_progress')
    const made = { id, index: this.#output.push(item) - 1, sent: 0 }
    put('response.output_item.added', { output_index: made.index, item }, numbers[0])
    const part = { item_id: id, output_index: made.index, content_index: 0 }
    put('response.content_part.added', { ...part, part: textPart('') }, numbers[1])
    return made
  }

  /** `numberAt` gives the four events numbers that do not depend on what was sent before. */
  #closeMessage(
    put: Put,
    { id: item_id, index, sent }: OpenMessage,
    text: string,
    status: string,
    numberAt: (k: number) => number | undefined = () => undefined,
  ): void {
    const part = { item_id, output_index: index, content_index: 0 }
    if (text.length > sent)
      put('response.output_text.delta', { ...part, delta: text.slice(sent), logprobs: [] }, numberAt(0))
    const item = messageItem(item_id, text, status)
    this.#output[index] = item
    put('response.output_text.done', { ...part, text, logprobs: [] }, numberAt(1))
    put('response.content_part.done', { ...part, part: textPart(text) }, numberAt(2))
    put('response.output_item.done', { output_index: index, item }, numberAt(3))
  }

  /** Text that will not be committed: what was sent of it stays, marked as incomplete. */
  #discard(put: Put): void {
    if (this.#open) this.#closeMessage(put, this.#open, this.#unsettled, 'incomplete')
    this.#open = null
    this.#unsettled = ''
  }

  #text(one: Extract<RunUpdate, { type: 'text' }>): StreamEvent[] {
    const { events, put } = this.#numbered(one.seq)
    const end = one.offset + one.text.length
    const known = this.#unsettled.length
    const added = newTextOf(one, known)
    if (!added || end > mostLiveText) return events
    this.#open ??= this.#openMessage(put, messageId(this.#facts.generation.id, one.stepIndex, one.attempt), [
      openingNumber(one.seq, 0),
      openingNumber(one.seq, 1),
    ])
    this.#unsettled += added
    this.#open.sent = end
    // A client that was cut off has a part of the text already.
    const has = this.#had.seq === one.seq ? this.#had.characters : 0
    const delta = this.#unsettled.slice(Math.max(known, has))
    const part = { item_id: this.#open.id, output_index: this.#open.index, content_index: 0 }
    if (delta) put('response.output_text.delta', { ...part, delta, logprobs: [] }, textNumber(one.seq, end))
    return events
  }

  #step(put: Put, seq: number, made: Step): void {
    this.#usage.input += made.usage.inputTokens
    this.#usage.output += made.usage.outputTokens
    const text = textOf(made.parts)
    this.#lastText = text
    if (this.#open && !text.startsWith(this.#unsettled)) this.#discard(put)
    if (text) {
      const at = messageId(this.#facts.generation.id, made.stepIndex, made.attempt)
      // Before this event the client may have got text that this stream has not seen, because it was on its way.
      const hadOpen = !this.#open && this.#had.isOpen && this.#had.seq === seq - 1
      const open = (this.#open ??= this.#openMessage(put, at, [
        hadOpen ? openingNumber(seq - 1, 0) : numberOf(seq, 0),
        hadOpen ? openingNumber(seq - 1, 1) : numberOf(seq, 1),
      ]))
      const sent = Math.max(open.sent, hadOpen ? this.#had.characters : 0)
      this.#closeMessage(put, { ...open, sent }, text, 'completed', (k) => numberOf(seq, 2 + k))
    }
    this.#open = null
    this.#unsettled = ''
  }

  #end(put: Put, ended: Generation): void {
    this.#discard(put)
    const unsaid = unsaidOutput(ended, this.#lastText)
    if (unsaid !== null) {
      const open = this.#openMessage(put, messageId(ended.id, ended.stepCount + 1, 0))
      this.#closeMessage(put, open, unsaid, 'completed')
    }
    this.#ending = endingOf(ended)
  }
}

const serverError = { code: 'server_error', type: 'server_error' }
const invalidPrompt = { code: 'invalid_prompt', type: 'invalid_request_error' }
/** The codes of a failed response; clients send a failed request again unless it was invalid. The AI SDK wants a type. */
const failures: Record<string, { code: string; type: string }> = {
  MODEL_RATE_LIMITED: { code: 'rate_limit_exceeded', type: 'rate_limit_error' },
  MODEL_BAD_REQUEST: invalidPrompt,
  CONTEXT_OVERFLOW: invalidPrompt,
}

function endingOf(ended: Generation): JsonObject {
  const { storedStatus, error, stopReason, truncated, finishedAt } = ended
  if (storedStatus === 'CANCELLED') return { status: 'cancelled' }
  if (storedStatus !== 'COMPLETED') {
    const failure = failures[error?.code ?? ''] ?? serverError
    return { status: 'failed', error: { ...failure, message: failureText(ended) } }
  }
  if (stopReason === 'CONTENT_FILTER')
    return { status: 'incomplete', incomplete_details: { reason: 'content_filter' } }
  if (truncated || stopReason === 'LENGTH')
    return { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }
  return { status: 'completed', completed_at: finishedAt && secondsOf(finishedAt) }
}

const secondsOf = (at: Date) => Math.floor(at.getTime() / 1000)

function textIn(item: Item): string[] {
  const content = item.type === 'message' ? (item['content'] as { text?: string }[]) : []
  return content.map((part) => part.text ?? '')
}

function usageOf({ input, output }: { input: number; output: number }): JsonObject {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + output,
  }
}

/** The fields of a response that do not change in its segment. */
function shell({ generation, model, background, previousId }: SegmentFacts, id: string): JsonObject {
  const { settings, createdAt } = generation
  return {
    id,
    object: 'response',
    created_at: secondsOf(createdAt),
    // Of a response that ends the run; a pause has no time of its own.
    completed_at: null,
    background,
    model,
    previous_response_id: previousId,
    store: true,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: settings.maxOutputTokens,
    metadata: {},
    parallel_tool_calls: settings.parallelToolCalls,
    reasoning: { effort: null, summary: null },
    // Where a provider decides, its default: clients of Open Responses require numbers.
    temperature: settings.temperature ?? 1,
    top_p: 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    top_logprobs: 0,
    max_tool_calls: null,
    service_tier: 'default',
    safety_identifier: null,
    prompt_cache_key: null,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: (settings.clientTools ?? []).map(({ name, description, inputSchema }) => ({
      type: 'function',
      name,
      description,
      parameters: inputSchema,
      strict: false,
    })),
    truncation: 'disabled',
    user: null,
  }
}
