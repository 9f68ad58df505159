/** The responses of the four model providers as server-sent events, written from their documentation. */
import { randomUUID } from 'node:crypto'

/** OpenAI Responses, Anthropic Messages, Gemini, and chat completions of compatible servers. */
export type Wire = 'openai' | 'anthropic' | 'google' | 'compatible'

export interface WireCall {
  /** Generated when absent; null sends none. */
  id?: string | null | undefined
  name: string
  /** The argument text as it is sent. For Gemini it must be JSON. */
  arguments: string
}

export interface WireAnswer {
  text?: string | string[]
  reasoning?: string
  /** What the provider requires back unchanged: a signature (Anthropic, Gemini) or encrypted reasoning (OpenAI). */
  seal?: string
  calls?: WireCall[]
  usage?: { input: number; output: number; cached?: number }
  /** The provider's finish reason; the default when absent. */
  finish?: string
}

/** One string for each frame, with its blank line. The last frames finish the response. */
export function framesOf(wire: Wire, answer: WireAnswer): string[] {
  return writers[wire](answer)
}

const writers: Record<Wire, (answer: WireAnswer) => string[]> = {
  openai: responsesFrames,
  anthropic: messagesFrames,
  google: geminiFrames,
  compatible: chatFrames,
}

function frame(data: object, event?: string): string {
  return `${event ? `event: ${event}\n` : ''}data: ${JSON.stringify(data)}\n\n`
}

function textsOf(answer: WireAnswer): string[] {
  return answer.text === undefined ? [] : [answer.text].flat()
}

function idOf(call: WireCall, prefix: string): string {
  return call.id ?? `${prefix}${randomUUID().replaceAll('-', '').slice(0, 20)}`
}

/** Argument texts are sent in pieces. */
function pieces(text: string): string[] {
  const middle = Math.ceil(text.length / 2)
  return [text.slice(0, middle), text.slice(middle)].filter((piece) => piece !== '')
}

function responsesFrames(answer: WireAnswer): string[] {
  const frames: string[] = []
  const send = (type: string, data: object) => frames.push(frame({ type, ...data }, type))
  const response = {
    id: `resp_${randomUUID()}`,
    object: 'response',
    created_at: 1_780_000_000,
    model: 'gpt-5',
  }
  send('response.created', { response: { ...response, status: 'in_progress', output: [] } })
  let at = 0
  const item = (start: object, done: object, middle: (place: object) => void) => {
    send('response.output_item.added', { output_index: at, item: start })
    middle({ output_index: at })
    send('response.output_item.done', { output_index: at, item: done })
    at++
  }
  if (answer.reasoning !== undefined || answer.seal !== undefined) {
    const own = { type: 'reasoning', id: `rs_${randomUUID()}` }
    const summary = answer.reasoning ? [{ type: 'summary_text', text: answer.reasoning }] : []
    item({ ...own, summary: [] }, { ...own, summary, encrypted_content: answer.seal ?? null }, (place) => {
      if (!answer.reasoning) return
      const part = { ...place, item_id: own.id, summary_index: 0 }
      send('response.reasoning_summary_part.added', { ...part, part: { type: 'summary_text', text: '' } })
      send('response.reasoning_summary_text.delta', { ...part, delta: answer.reasoning })
      send('response.reasoning_summary_part.done', { ...part, part: summary[0] })
    })
  }
  const texts = textsOf(answer)
  if (texts.length > 0) {
    const own = { type: 'message', id: `msg_${randomUUID()}`, role: 'assistant' }
    const content = [{ type: 'output_text', text: texts.join(''), annotations: [] }]
    item(
      { ...own, content: [], status: 'in_progress' },
      { ...own, content, status: 'completed' },
      (place) => {
        for (const delta of texts)
          send('response.output_text.delta', { ...place, item_id: own.id, content_index: 0, delta })
      },
    )
  }
  for (const call of answer.calls ?? []) {
    const own = {
      type: 'function_call',
      id: `fc_${randomUUID()}`,
      call_id: idOf(call, 'call_'),
      name: call.name,
    }
    item(
      { ...own, arguments: '', status: 'in_progress' },
      { ...own, arguments: call.arguments, status: 'completed' },
      (place) => {
        for (const delta of pieces(call.arguments))
          send('response.function_call_arguments.delta', { ...place, item_id: own.id, delta })
      },
    )
  }
  const { input = 10, output = 5 } = answer.usage ?? {}
  const usage = { input_tokens: input, output_tokens: output, total_tokens: input + output }
  const incomplete = answer.finish ? { incomplete_details: { reason: answer.finish } } : {}
  const type = answer.finish ? 'response.incomplete' : 'response.completed'
  send(type, { response: { ...response, status: type.slice(9), usage, ...incomplete } })
  return frames
}

function messagesFrames(answer: WireAnswer): string[] {
  const frames: string[] = []
  const send = (type: string, data: object) => frames.push(frame({ type, ...data }, type))
  const { input = 10, output = 5 } = answer.usage ?? {}
  const message = {
    id: `msg_${randomUUID()}`,
    type: 'message',
    role: 'assistant',
    content: [],
    model: 'claude',
  }
  const nothing = { stop_reason: null, stop_sequence: null }
  send('message_start', {
    message: { ...message, ...nothing, usage: { input_tokens: input, output_tokens: 1 } },
  })
  send('ping', {})
  let index = 0
  const block = (content_block: object, deltas: object[]) => {
    send('content_block_start', { index, content_block })
    for (const delta of deltas) send('content_block_delta', { index, delta })
    send('content_block_stop', { index: index++ })
  }
  if (answer.reasoning !== undefined)
    block({ type: 'thinking', thinking: '', signature: '' }, [
      { type: 'thinking_delta', thinking: answer.reasoning },
      ...(answer.seal === undefined ? [] : [{ type: 'signature_delta', signature: answer.seal }]),
    ])
  else if (answer.seal !== undefined) block({ type: 'redacted_thinking', data: answer.seal }, [])
  const texts = textsOf(answer)
  if (texts.length > 0)
    block(
      { type: 'text', text: '' },
      texts.map((text) => ({ type: 'text_delta', text })),
    )
  for (const call of answer.calls ?? [])
    block(
      { type: 'tool_use', id: idOf(call, 'toolu_'), name: call.name, input: {} },
      pieces(call.arguments).map((partial_json) => ({ type: 'input_json_delta', partial_json })),
    )
  const stop_reason = answer.finish ?? (answer.calls?.length ? 'tool_use' : 'end_turn')
  send('message_delta', { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: output } })
  send('message_stop', {})
  return frames
}

function geminiFrames(answer: WireAnswer): string[] {
  const frames: string[] = []
  const send = (parts: object[], more: object = {}, usage: object = {}) =>
    frames.push(frame({ candidates: [{ content: { role: 'model', parts }, index: 0, ...more }], ...usage }))
  if (answer.reasoning !== undefined) send([{ text: answer.reasoning, thought: true }])
  const calls = answer.calls ?? []
  textsOf(answer).forEach((text, i) => {
    const signed = answer.seal !== undefined && calls.length === 0 && i === 0
    send([{ text, ...(signed ? { thoughtSignature: answer.seal } : {}) }])
  })
  // Only the first of several calls is signed.
  const parts = calls.map((call, i) => ({
    functionCall: {
      ...(call.id ? { id: call.id } : {}),
      name: call.name,
      args: JSON.parse(call.arguments) as object,
    },
    ...(answer.seal !== undefined && i === 0 ? { thoughtSignature: answer.seal } : {}),
  }))
  const { input = 10, output = 5 } = answer.usage ?? {}
  const usageMetadata = {
    promptTokenCount: input,
    candidatesTokenCount: output,
    totalTokenCount: input + output,
  }
  send(parts, { finishReason: answer.finish ?? 'STOP' }, { usageMetadata })
  return frames
}

function chatFrames(answer: WireAnswer): string[] {
  const frames: string[] = []
  const chunk = {
    id: `chatcmpl-${randomUUID()}`,
    object: 'chat.completion.chunk',
    created: 1_780_000_000,
    model: 'local',
  }
  const send = (delta: object, finish_reason: string | null = null) =>
    frames.push(frame({ ...chunk, choices: [{ index: 0, delta, finish_reason }] }))
  send({ role: 'assistant', content: null })
  if (answer.reasoning !== undefined) send({ reasoning_content: answer.reasoning })
  for (const content of textsOf(answer)) send({ content })
  ;(answer.calls ?? []).forEach((call, index) => {
    const id = call.id === null ? {} : { id: idOf(call, 'call_') }
    const sealed =
      answer.seal === undefined ? {} : { extra_content: { google: { thought_signature: answer.seal } } }
    const first = { index, ...id, type: 'function', function: { name: call.name, arguments: '' }, ...sealed }
    send({ tool_calls: [first] })
    for (const piece of pieces(call.arguments))
      send({ tool_calls: [{ index, function: { arguments: piece } }] })
  })
  send({}, answer.finish ?? (answer.calls?.length ? 'tool_calls' : 'stop'))
  const { input = 10, output = 5, cached = 0 } = answer.usage ?? {}
  const usage = {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    ...(cached > 0 ? { prompt_tokens_details: { cached_tokens: cached } } : {}),
  }
  frames.push(frame({ ...chunk, choices: [], usage }), 'data: [DONE]\n\n')
  return frames
}
