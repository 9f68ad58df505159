/** Helpers for tests of models: build a request, read an attempt to its end, record a step. */
import { textResult, type ToolResult } from '../../src/core/content.ts'
import { callsOf, userMessage, type Message, type ToolResultPart } from '../../src/domain/models/message.ts'
import type {
  ModelAnswer,
  ModelEvent,
  ModelPort,
  ModelRequest,
  ModelTool,
} from '../../src/domain/models/port.ts'

export const weatherTool: ModelTool = {
  name: 'get_weather',
  description: 'Tells the weather of a city.',
  inputSchema: {
    type: 'object',
    properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 1 } },
    required: ['city'],
    additionalProperties: false,
  },
}

/** A request with default values. */
export function requestOf(messages: Message[] | string, more: Partial<ModelRequest> = {}): ModelRequest {
  return {
    instructions: 'Be brief.',
    messages: typeof messages === 'string' ? [userMessage(messages)] : messages,
    tools: [weatherTool],
    toolChoice: { type: 'auto' },
    outputSchema: null,
    settings: {},
    signal: new AbortController().signal,
    ...more,
  }
}

export interface Attempt {
  events: ModelEvent[]
  answer: ModelAnswer
  /** The text and the reasoning, joined from the deltas. */
  text: string
  reasoning: string
}

/** Reads one attempt to its end; throws its error, and also when it ends without a finish. */
export async function attemptOf(port: ModelPort, request: ModelRequest): Promise<Attempt> {
  const events: ModelEvent[] = []
  for await (const event of port.stream(request)) events.push(event)
  const last = events.at(-1)
  if (last?.type !== 'finish') throw new Error('The stream ended without a finish.')
  const joined = (type: 'text-delta' | 'reasoning-delta') =>
    events.map((event) => (event.type === type ? event.text : '')).join('')
  return { events, answer: last.answer, text: joined('text-delta'), reasoning: joined('reasoning-delta') }
}

/** The error of an attempt that must fail. */
export async function failureOf(port: ModelPort, request: ModelRequest): Promise<Error> {
  try {
    await attemptOf(port, request)
  } catch (error) {
    return error as Error
  }
  throw new Error('The attempt did not fail.')
}

/** The answer and its results as the loop stores them: with stored ids, results in the given order. */
export function answered(answer: ModelAnswer, results: (ToolResult | string)[] = [], step = 0): Message[] {
  const parts = structuredClone(answer.parts)
  callsOf(parts).forEach((call, i) => (call.callId = `call_step${step}n${i}`))
  const tool = callsOf(parts).map((call, i): ToolResultPart => {
    const given = results[i] ?? 'ok'
    const { callId, providerCallId, name } = call
    return {
      type: 'tool-result',
      callId,
      providerCallId,
      name,
      ...(typeof given === 'string' ? textResult(given) : given),
    }
  })
  return [
    { v: 1, role: 'assistant', parts },
    ...(tool.length > 0 ? [{ v: 1 as const, role: 'tool' as const, parts: tool }] : []),
  ]
}

/** A history after a pause and a restart: serialized and parsed. */
export function restarted(messages: Message[]): Message[] {
  return JSON.parse(JSON.stringify(messages)) as Message[]
}
