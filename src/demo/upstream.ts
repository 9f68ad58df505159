/** A local HTTP service for the demo and tests: weather, search, orders, refunds, and a journal of its requests. */
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hostFault } from '../core/addresses.ts'
import { isJsonObject, type Json, type JsonObject, readJson, tryParseJson, writeJson } from '../core/json.ts'

/** One received request. */
interface JournalEntry {
  method: string
  /** Path and query. */
  url: string
  idempotencyKey: string | null
  body: Json
  /** Whether its Idempotency-Key was known: the stored response was returned and nothing executed. */
  replay: boolean
}

/** The newest 1000 requests, and counters of all requests. */
interface Journal {
  entries: JournalEntry[]
  /** POST requests that were executed. */
  executions: number
  /** POST requests whose Idempotency-Key was known. */
  replays: number
}

export interface DemoUpstream {
  /** Without a final slash. */
  url: string
  journal: Journal
  close(): Promise<void>
}

interface Reply {
  status: number
  /** A string is sent as text/plain. */
  body: JsonObject | string
}

/** How many requests the upstream at this URL has executed, which may be in another process. */
export async function executionsAt(url: string): Promise<number> {
  const response = await fetch(`${url}/journal`, { redirect: 'error', signal: AbortSignal.timeout(2000) })
  return ((await response.json()) as Journal).executions
}

const maxKept = 1000
const maxBodyBytes = 64 * 1024

/** Listens on 127.0.0.1, at the port after that of the server, or at a free one when that is in use. */
export function startDemoUpstream(config: { port: number }): Promise<DemoUpstream> {
  const port = config.port === 0 ? 0 : config.port + 1
  return listenAt(port).catch(() => listenAt(0))
}

async function listenAt(port: number): Promise<DemoUpstream> {
  const journal: Journal = { entries: [], executions: 0, replays: 0 }
  const stored = new Map<string, Reply>()
  const server = createServer((request, response) => {
    handle(request, journal, stored).then(
      (reply) => send(response, reply),
      () => send(response, { status: 400, body: { error: 'the request could not be read' } }),
    )
  })
  await new Promise<void>((resolve, reject) =>
    server.once('error', reject).listen(port, '127.0.0.1', resolve),
  )
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    journal,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function handle(
  request: IncomingMessage,
  journal: Journal,
  stored: Map<string, Reply>,
): Promise<Reply> {
  const fault = hostFault(request.headers.host, [])
  if (fault) return { status: 403, body: { error: fault } }
  const text = await readBody(request)
  if (text === null) return { status: 413, body: { error: `a body has at most ${maxBodyBytes} bytes` } }
  const url = new URL(request.url ?? '/', 'http://demo.invalid')
  if (request.method === 'GET' && url.pathname === '/journal')
    return { status: 200, body: readJson(writeJson(journal)) as JsonObject }
  const body = text === '' ? null : (tryParseJson(text) ?? text)
  const idempotencyKey = request.headers['idempotency-key']?.toString() ?? null
  const known = request.method === 'POST' && idempotencyKey !== null ? stored.get(idempotencyKey) : undefined
  keep(journal, {
    method: request.method!,
    url: request.url!,
    idempotencyKey,
    body,
    replay: known !== undefined,
  })
  if (known) {
    journal.replays += 1
    return known
  }
  const reply = route(request.method!, url, body)
  if (request.method !== 'POST' || reply.status >= 300) return reply
  journal.executions += 1
  if (idempotencyKey !== null) remember(stored, idempotencyKey, reply)
  return reply
}

function route(method: string, url: URL, body: Json): Reply {
  const [weather, order] = [/^\/v1\/weather\/([^/]+)$/, /^\/v1\/orders\/([^/]+)$/].map(
    (p) => p.exec(url.pathname)?.[1],
  )
  if (method === 'GET' && weather) return weatherOf(decodeURIComponent(weather), url.searchParams.get('unit'))
  if (method === 'GET' && order) return { status: 200, body: orderOf(decodeURIComponent(order)) }
  if (method === 'POST' && url.pathname === '/v1/refunds') return refund(body)
  if (method === 'GET' && url.pathname === '/v1/search') return search(url.searchParams)
  if (method === 'POST' && url.pathname === '/v1/csv') return saveCsv(body)
  return { status: 404, body: { error: 'not found' } }
}

/** Invented, but always the same for one city. */
function weatherOf(city: string, unit: string | null): Reply {
  if (unit !== null && unit !== 'celsius' && unit !== 'fahrenheit')
    return { status: 400, body: { error: 'unit must be celsius or fahrenheit' } }
  const [warmth = 0, sky = 0] = digest(city.toLowerCase())
  const celsius = (warmth % 40) - 5
  const temperature = unit === 'fahrenheit' ? Math.round(celsius * 1.8 + 32) : celsius
  const condition = ['sunny', 'cloudy', 'rainy', 'windy', 'foggy'][sky % 5]!
  return { status: 200, body: { city, temperature, unit: unit ?? 'celsius', condition } }
}

function orderOf(id: string): JsonObject {
  const [cents = 0, more = 0, state = 0] = digest(id)
  const status = ['paid', 'shipped', 'delivered'][state % 3]!
  return { id, status, amount: (cents * 256 + more) / 100, currency: 'EUR' }
}

function refund(body: Json): Reply {
  if (!isJsonObject(body)) return { status: 400, body: { error: 'the body must be a JSON object' } }
  const { order_id: order = null, amount = null } = body
  return {
    status: 201,
    body: { id: `refund_${crypto.randomUUID()}`, order_id: order, amount, status: 'refunded' },
  }
}

/** Invented results, always the same for one query. */
function search(params: URLSearchParams): Reply {
  const query = params.get('query') ?? ''
  const count = Math.min(20, Math.max(1, Number(params.get('max_results') ?? 5) || 5))
  const kinds = ['Overview', 'Reference', 'Tutorial', 'Comparison', 'Questions and answers']
  const lines = Array.from({ length: count }, (_, i) => {
    const slug = digest(`${query} ${i}`).toString('hex').slice(0, 8)
    return `${i + 1}. ${query}: ${kinds[i % kinds.length]!} - https://example.com/${slug}`
  })
  const text = `Here are the top ${count} results for '${query}':\n\n${lines.join('\n')}`
  return { status: 200, body: text }
}

/** Writes no file. Refuses a name with a slash, which would be outside the shared drive. */
function saveCsv(body: Json): Reply {
  if (!isJsonObject(body)) return { status: 400, body: { error: 'the body must be a JSON object' } }
  const { filename, rows } = body
  if (typeof filename !== 'string' || !Array.isArray(rows))
    return { status: 400, body: { error: 'filename and rows are required' } }
  if (!/^[\w.-]+$/.test(filename))
    return { status: 403, body: 'Failed to save CSV: permission denied on /shared/invoices/' }
  return { status: 201, body: `CSV saved to /shared/invoices/${filename}.csv (${rows.length} rows)` }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

function keep(journal: Journal, entry: JournalEntry): void {
  journal.entries.push(entry)
  if (journal.entries.length > maxKept) journal.entries.shift()
}

function remember(stored: Map<string, Reply>, key: string, reply: Reply): void {
  stored.set(key, reply)
  if (stored.size > maxKept) stored.delete(stored.keys().next().value!)
}

async function readBody(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = []
  let total = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    total += chunk.length
    if (total <= maxBodyBytes) chunks.push(chunk)
  }
  return total > maxBodyBytes ? null : Buffer.concat(chunks).toString()
}

function send(response: ServerResponse, { status, body }: Reply): void {
  const type = typeof body === 'string' ? 'text/plain; charset=utf-8' : 'application/json'
  response.writeHead(status, { 'content-type': type }).end(typeof body === 'string' ? body : writeJson(body))
}
