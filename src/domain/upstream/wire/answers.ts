/**
 * Reads the messages of an upstream before the SDK does. The SDK refuses a whole message for one member that it does not
 * expect, and with it an answer that is final. Results that Gatehouse reads itself are kept as they came; the SDK gets a
 * valid one in their place.
 */
import { BoundedMap } from '../../../core/bounded.ts'
import {
  asText,
  isJsonObject,
  type Json,
  type JsonObject,
  packValue,
  tryParseForeignJson,
  tryParseJson,
  unpackText,
  writeJson,
} from '../../../core/json.ts'
import { EgressError } from '../../egress/index.ts'
import { UpstreamFault } from '../fault.ts'
import { createEventReader, type EventReader } from './events.ts'
import type { HiddenValues } from './hidden.ts'
import { readDiscover, readInitialize, readMessage, withoutNulls, type Message } from './content.ts'
import { remakeResponse } from './wire.ts'

/** A result as it came; or the beginning of one that is too large to read, which proves no less that the request was handled. */
export type Answer = { result: Json } | { tooLarge: string }

export interface Answers {
  /** Reads what comes in response to requests, and over streams. */
  fetch: typeof globalThis.fetch
  /** The answer for which the SDK got this result, once; null for a result that the SDK got as it came. */
  take(result: unknown): Answer | null
  /** How many messages came over streams that no request opened. */
  heard(): number
}

interface PendingRequest {
  id: number | string
  method: string
}

/** Their results are kept. */
const keptMethods = new Set([
  'tools/call',
  'tools/list',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'completion/complete',
])

const tokenKey = 'gatehouse/answer'
/** A result that is valid for each of these methods, in every version of the protocol. */
const standIn = {
  resultType: 'complete',
  content: [],
  tools: [],
  prompts: [],
  resources: [],
  resourceTemplates: [],
  contents: [],
  messages: [],
  completion: { values: [] },
  ttlMs: 0,
  cacheScope: 'private',
}

/** The most requests of one connection that wait for their answer. */
const mostAsked = 10_000

/** How a message begins that is the result of the request with the id in it, if any comes first. */
const beginsResult = /^\ufeff?\s*\{\s*(?:"(?:jsonrpc|id)"\s*:\s*("[^"]*"|\d+)\s*,\s*)*"result"\s*:/

/** The status of a response without an answer, which comes over another stream. */
const accepted = 202
/** What the SDK for Ruby sent in place of that status. */
const receipt = /^\s*\{\s*"accepted"\s*:\s*true\s*\}\s*$/

export function readAnswers(fetch: typeof globalThis.fetch, hidden: HiddenValues, maxBytes: number): Answers {
  return new AnswerReader(fetch, hidden, maxBytes)
}

class AnswerReader implements Answers {
  #fetch: typeof globalThis.fetch
  #hidden: HiddenValues
  #maxBytes: number
  /** The requests that wait for their answer, by id. */
  #asked = new BoundedMap<string, PendingRequest>(mostAsked)
  #kept = new Map<string, Answer>()
  #heard = 0

  constructor(fetch: typeof globalThis.fetch, hidden: HiddenValues, maxBytes: number) {
    this.#fetch = fetch
    this.#hidden = hidden
    this.#maxBytes = maxBytes
  }

  heard(): number {
    return this.#heard
  }

  take(result: unknown): Answer | null {
    const meta = isJsonObject(result) ? result['_meta'] : undefined
    const token = isJsonObject(meta) ? meta[tokenKey] : undefined
    if (typeof token !== 'string') return null
    const answer = this.#kept.get(token) ?? null
    this.#kept.delete(token)
    return answer
  }

  fetch: typeof globalThis.fetch = async (input, init) => {
    const exact = unpackRequest(init)
    const asked = exact?.method === 'POST' ? this.#note(exact.body) : null
    const response = await this.#fetch(input, exact)
    if (isEventStream(response)) return this.#stream(response, asked)
    const { status, body } = response
    return asked && body && status !== 401 && status !== 403 ? this.#whole(response, asked) : response
  }

  /** Notes what is asked, or that its answer is not wanted any more. Null for what is no request. */
  #note(body: unknown): PendingRequest | null {
    const message = typeof body === 'string' ? tryParseJson(body) : undefined
    if (!isJsonObject(message)) return null
    const { id, method, params } = message
    if (method === 'notifications/cancelled' && isJsonObject(params))
      this.#asked.delete(asText(params['requestId']))
    if ((typeof id !== 'number' && typeof id !== 'string') || typeof method !== 'string') return null
    const asked = { id, method }
    this.#asked.set(String(id), asked)
    return asked
  }

  /** A response that is one text: JSON, whatever its type says, or events. With the status of an error, only a result counts. */
  async #whole(response: Response, asked: PendingRequest): Promise<Response> {
    const { text, error } = await readText(response.body!)
    if (error) {
      const large = response.ok ? this.#tooLarge(error, text, asked) : null
      if (large === null) throw error
      return remakeResponse(response, large, { status: 200, headers: jsonType })
    }
    const messages = this.#read(text) ?? eventsIn(text, (data) => this.#read(data))
    const answers = messages.filter((one) => answersTo(one, asked))
    if (answers.length === 0 && (response.status === accepted || receipt.test(text)))
      return remakeResponse(response, '', { status: accepted })
    if (response.ok && messages.length > 0 && answers.length === 0)
      throw new UpstreamFault('invalid_response', 'The server answered, but not to this request.')
    const isAnswer = response.ok ? answers.length > 0 : answers.some(({ kind }) => kind === 'response')
    if (!isAnswer) return remakeResponse(response, text)
    const given = messages.flatMap((message) => this.#forSdk(message, asked))
    const body = given.length === 1 ? given[0]! : `[${given.join(',')}]`
    return remakeResponse(response, body, { status: 200, headers: jsonType })
  }

  #stream(response: Response, asked: PendingRequest | null): Response {
    const reader = createEventReader((data) => {
      const messages = this.#read(data)
      if (!asked) this.#heard += messages?.length ?? 0
      return messages?.flatMap((message) => this.#forSdk(message, asked)) ?? null
    }, this.#maxBytes)
    const lastOf = (error: unknown) => {
      const large = this.#tooLarge(error, reader.rest(), asked)
      return large === null ? null : `data: ${large}\n\n`
    }
    if (!response.body) return response
    // Of what is only accepted the SDK reads nothing.
    const status = asked && response.status === accepted ? 200 : response.status
    return remakeResponse(response, rewritten(response.body, reader, lastOf), { status })
  }

  /** Null for what is no message, or no JSON. */
  #read(text: string): Message[] | null {
    const raw = tryParseForeignJson(text)
    if (raw === undefined) return null
    const messages = (Array.isArray(raw) ? raw : [raw]).flatMap((one) => readMessage(one) ?? [])
    return messages.length > 0 ? messages : null
  }

  /** The JSON of the message that the SDK gets; none for what answers nothing. */
  #forSdk(message: Message, asked: PendingRequest | null): string[] {
    if (message.kind === 'request') return [writeJson(packValue(message.message))]
    const waiting = asked && answersTo(message, asked) ? asked : this.#asked.get(message.id ?? '')
    if (!waiting || !this.#asked.delete(String(waiting.id))) return []
    const { id, method } = waiting
    if (message.kind === 'error') return [writeJson(packValue({ jsonrpc: '2.0', id, error: message.error }))]
    const { result } = message
    if (isKept(method, result)) return [this.#keep(waiting, { result })]
    return [writeJson(packValue({ jsonrpc: '2.0', id, result: resultForSdk(method, result) }))]
  }

  #keep({ id }: PendingRequest, answer: Answer): string {
    const token = String(id)
    this.#kept.set(token, this.#hidden.clean(answer))
    return writeJson({ jsonrpc: '2.0', id, result: { ...standIn, _meta: { [tokenKey]: token } } })
  }

  /** In place of an answer to `asked` that was too large, when its beginning shows that it is a result. */
  #tooLarge(error: unknown, text: string, asked: PendingRequest | null): string | null {
    if (!(error instanceof EgressError) || error.code !== 'TOO_LARGE') return null
    if (!asked || !keptMethods.has(asked.method) || !this.#asked.has(String(asked.id))) return null
    const begins = beginsResult.exec(text)
    const isOther = begins?.[1] !== undefined && begins[1] !== String(asked.id)
    if (!begins || isOther) return null
    this.#asked.delete(String(asked.id))
    return this.#keep(asked, { tooLarge: text })
  }
}

/** The request as the SDK wrote it of packed values, with all digits. */
function unpackRequest(init: RequestInit | undefined): RequestInit | undefined {
  if (typeof init?.body !== 'string') return init
  const body = unpackText(init.body)
  if (body === init.body) return init
  // Arguments can be sent as headers, too.
  const headers = [...new Headers(init.headers)].map(([name, value]): [string, string] => [
    name,
    unpackText(value),
  ])
  return { ...init, body, headers }
}

/** An error without an id is the server's answer to the request that it could not read. */
function answersTo(message: Message, asked: PendingRequest): boolean {
  if (message.kind === 'request') return false
  return message.id === String(asked.id) || (message.kind === 'error' && message.id === null)
}

function isKept(method: string, result: Json): boolean {
  const type = isJsonObject(result) ? (result['resultType'] ?? 'complete') : 'complete'
  return keptMethods.has(method) && type === 'complete'
}

function resultForSdk(method: string, result: Json): JsonObject {
  if (!isJsonObject(result)) return {}
  if (method === 'initialize') return readInitialize(result)
  return method === 'server/discover' ? readDiscover(result) : withoutNulls(result)
}

const jsonType = { 'content-type': 'application/json' }

function isEventStream({ headers }: Response): boolean {
  return (headers.get('content-type') ?? '').trim().toLowerCase().startsWith('text/event-stream')
}

function eventsIn(text: string, read: (data: string) => Message[] | null): Message[] {
  const found: Message[] = []
  const reader = createEventReader((data) => (found.push(...(read(data) ?? [])), []), Infinity)
  reader.push(text)
  reader.end()
  return found
}

/** What was read before an error is returned with it. */
async function readText(body: ReadableStream<Uint8Array>): Promise<{ text: string; error?: unknown }> {
  const decoder = new TextDecoder()
  let text = ''
  try {
    for await (const part of body) text += decoder.decode(part, { stream: true })
    return { text: text + decoder.decode() }
  } catch (error) {
    return { text, error }
  }
}

/** The stream as `reader` rewrites it. `lastOf` may replace an error by a last event. */
function rewritten(
  body: ReadableStream<Uint8Array>,
  reader: EventReader,
  lastOf: (error: unknown) => string | null,
): ReadableStream<Uint8Array> {
  const source = body.getReader()
  const decoder = new TextDecoder()
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const give = (text: string) => text !== '' && controller.enqueue(Buffer.from(text))
      try {
        for (let given = false; !given;) {
          const { done, value } = await source.read()
          given = Boolean(give(done ? reader.end() : reader.push(decoder.decode(value, { stream: true }))))
          if (!done) continue
          controller.close()
          return
        }
      } catch (error) {
        const last = lastOf(error)
        if (last === null) throw error
        give(last)
        controller.close()
        void source.cancel().catch(() => {})
      }
    },
    cancel: (reason) => source.cancel(reason),
  })
}
