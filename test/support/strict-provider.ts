/**
 * A model provider on loopback that speaks all four wire formats. It checks requests by strict-rules.ts and refuses
 * them with a 400 as the real provider does. Responses follow a script, through aimock where it can produce them, else
 * as frames of its own.
 */
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Harness } from './harness.ts'
import { LLMock } from '@copilotkit/aimock'
import type { ProviderSettings } from '../../src/domain/models/providers/open-model.ts'
import { faultOf, type Issued } from './strict-rules.ts'
import { framesOf, type Wire, type WireAnswer } from './wire-frames.ts'

/** A response with a status other than 200. */
export interface ErrorAnswer {
  status: number
  message?: string
  /** The provider's error code, `error.code` or `error.type`. */
  code?: string
  /** The place of the fault in the request, as OpenAI names it. */
  param?: string
  headers?: Record<string, string>
}

/** A response, optionally delayed until a promise settles, or cut after this many frames. */
export type ScriptedAnswer = (WireAnswer & { after?: Promise<unknown>; cutAfter?: number }) | ErrorAnswer

export interface JournalEntry {
  wire: Wire
  model: string
  body: Record<string, any>
  headers: Record<string, string | string[] | undefined>
  /** Why the request was refused; null when it was valid. */
  fault: string | null
}

export interface StrictProvider {
  /** `http://127.0.0.1:port`, without a path. */
  url: string
  /** Every request, oldest first. */
  journal: JournalEntry[]
  /** Resolves with the next request, once it was checked. */
  nextRequest(): Promise<JournalEntry>
  /** Adds responses; each request takes the next one, in any wire format. A request without one gets a 400. */
  script(...answers: ScriptedAnswer[]): void
  /** Refuses what the rule refuses, beside what strict-rules.ts does; such a request takes no answer of the script. */
  refuse(rule: (wire: Wire, body: Record<string, any>) => ErrorAnswer | null): void
  /** Drops the rule, and the rest of the script; returns how many responses that was. Call it after each test. */
  clear(): number
  /** Settings for `openModel`: the URL for that wire format and a key. */
  settings(kind: Wire, more?: Partial<ProviderSettings>): ProviderSettings
  close(): Promise<void>
}

export const testKey = 'sk-test-0123456789abcdef'

/** Starts on a free port. Close it in the test's `afterAll`. */
export async function startStrictProvider(): Promise<StrictProvider> {
  const peer = new LLMock({ port: 0 })
  await peer.start()
  const answers: ScriptedAnswer[] = []
  const journal: JournalEntry[] = []
  const issued: Issued = { seals: new Set(), byCall: new Map() }
  const waiting: ((entry: JournalEntry) => void)[] = []
  let rule: Parameters<StrictProvider['refuse']>[0] = () => null
  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy())
  })

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const asked = await read(request)
    const { wire, model } = routeOf(request.url ?? '', asked)
    const fault = faultOf(wire, { ...asked, $model: model }, issued)
    const entry: JournalEntry = { wire, model, body: asked, headers: request.headers, fault }
    journal.push(entry)
    for (const resolve of waiting.splice(0)) resolve(entry)
    if (fault) return refuse(wire, response, { status: 400, message: fault })
    const refusal = rule(wire, asked)
    if (refusal) return refuse(wire, response, refusal)
    const answer = answers.shift()
    if (!answer) return refuse(wire, response, { status: 400, message: 'The script has no answer left.' })
    if ('status' in answer) return refuse(wire, response, answer)
    await answer.after
    if (canPeer(answer)) return pass(peer, request.url!, asked, answer, response, issued)
    const frames = framesOf(wire, withIds(wire, model, answer, issued))
    await stream(response, frames, answer.cutAfter)
  }

  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    journal,
    nextRequest: () => new Promise((resolve) => waiting.push(resolve)),
    script: (...more) => void answers.push(...more),
    refuse: (given) => void (rule = given),
    clear: () => {
      rule = () => null
      return answers.splice(0).length
    },
    settings: (kind, more = {}) => settingsFor(kind, url, more),
    close: async () => {
      await close(server)
      await peer.stop()
    },
  }
}

/** Makes it a provider of the project under this name, in one of the wire formats, with its key as a secret. */
export async function addProvider(
  h: Harness,
  { settings }: Pick<StrictProvider, 'settings'>,
  kind: Wire,
  name: string,
): Promise<void> {
  await h.mutate('setSecret', { name: 'KEY', value: testKey }, 'secret { name }')
  const { baseUrl } = settings(kind)
  const record = { name, kind: kind.toUpperCase(), baseUrl, secretName: 'KEY', defaultModel: 'm' }
  const made = await h.mutate('setProvider', record, 'provider { name }')
  if (!made['provider']) throw new Error(JSON.stringify(made))
}

/** Settings for a provider at `url`, whatever server runs there. */
export function settingsFor(kind: Wire, url: string, more: Partial<ProviderSettings> = {}): ProviderSettings {
  const baseUrl = kind === 'google' ? `${url}/v1beta` : `${url}/v1`
  return { name: kind, kind, baseUrl, apiKey: testKey, capabilities: {}, contextWindow: null, fetch, ...more }
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
}

async function read(request: IncomingMessage): Promise<Record<string, any>> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return JSON.parse(Buffer.concat(chunks).toString()) as Record<string, any>
}

function routeOf(path: string, body: Record<string, any>): { wire: Wire; model: string } {
  const gemini = /\/models\/([^:]+):streamGenerateContent/.exec(path)
  if (gemini) return { wire: 'google', model: decodeURIComponent(gemini[1]!) }
  const model = String(body['model'])
  if (path.endsWith('/responses')) return { wire: 'openai', model }
  return { wire: path.endsWith('/messages') ? 'anthropic' : 'compatible', model }
}

/**
 * aimock supports no seals, missing ids or cuts between frames, and repairs malformed arguments in most wire formats.
 */
function canPeer(answer: WireAnswer & { cutAfter?: number }): boolean {
  const plain = (answer.calls ?? []).every((call) => call.id !== null && isJson(call.arguments))
  return plain && answer.seal === undefined && answer.cutAfter === undefined && answer.finish === undefined
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

async function pass(
  peer: LLMock,
  path: string,
  body: object,
  answer: WireAnswer,
  response: ServerResponse,
  issued: Issued,
): Promise<void> {
  const { input = 10, output = 5 } = answer.usage ?? {}
  const usage = {
    prompt_tokens: input,
    completion_tokens: output,
    input_tokens: input,
    output_tokens: output,
    promptTokenCount: input,
    candidatesTokenCount: output,
    totalTokenCount: input + output,
  }
  const calls = answer.calls?.map(({ id, name, arguments: text }) => ({
    name,
    arguments: text,
    ...(id ? { id } : {}),
  }))
  const text = [answer.text ?? []].flat().join('')
  // A fixture of its own for this request: several may run at once.
  const context = `request-${randomUUID()}`
  peer.on({ context }, {
    usage,
    ...(answer.reasoning ? { reasoning: answer.reasoning } : {}),
    ...(calls?.length ? { toolCalls: calls, ...(text ? { content: text } : {}) } : { content: text }),
  } as never)
  const headers = { 'content-type': 'application/json', 'x-aimock-context': context }
  const answered = await fetch(`${peer.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  response.writeHead(answered.status, {
    'content-type': answered.headers.get('content-type') ?? 'text/event-stream',
  })
  const bytes = Buffer.from(await answered.arrayBuffer())
  // aimock generates seals of its own where a real provider sends some.
  for (const match of bytes
    .toString()
    .matchAll(/"(?:encrypted_content|signature|thoughtSignature)":"([^"]+)"/g))
    issued.seals.add(match[1]!)
  response.end(bytes)
}

/** Seals are stored by call id, so every call gets its id here. */
function withIds(wire: Wire, model: string, answer: WireAnswer, issued: Issued): WireAnswer {
  const { seal } = answer
  if (seal === undefined) return answer
  issued.seals.add(seal)
  const calls = answer.calls?.map((call) => {
    const id = call.id === undefined && wire !== 'google' ? `call_${issued.byCall.size}` : call.id
    if (id) issued.byCall.set(id, { seal, from: `${wire}/${model}` })
    return { ...call, id }
  })
  return { ...answer, ...(calls ? { calls } : {}) }
}

async function stream(
  response: ServerResponse,
  frames: string[],
  cutAfter: number | undefined,
): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const [i, frame] of frames.entries()) {
    if (i === cutAfter) break
    await new Promise((resolve) => response.write(frame, resolve))
  }
  if (cutAfter === undefined) response.end()
  else response.destroy()
}

function refuse(wire: Wire, response: ServerResponse, answer: ErrorAnswer): void {
  const { status, message = `answered ${status}`, code = 'invalid_request_error', headers = {} } = answer
  const { param = null } = answer
  const bodies: Record<Wire, object> = {
    openai: { error: { message, type: code, code, param } },
    compatible: { error: { message, type: code, code, param } },
    anthropic: { type: 'error', error: { type: code, message } },
    google: { error: { code: status, message, status: code } },
  }
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(bodies[wire]))
}
