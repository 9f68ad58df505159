/** The external service of the chaos tests, which keeps a journal of all requests. */
import { isJsonObject, tryParseJson } from '../../src/core/json.ts'
import { startLoopback, type Loopback } from '../support/loopback.ts'
import { randomSchedule } from '../support/random.ts'

const random = randomSchedule()

export interface Execution {
  method: string
  /** The Idempotency-Key: our tool call id. */
  key: string
  /** What the call is about, the same for every repeat under any key: "12/1". */
  about: string
}

export interface Outside {
  url: string
  address: string
  journal: Execution[]
  close(): Promise<void>
}

/**
 * Responds after up to `slowestMs`, so that kills happen during calls. It executes every request, also repeated ones,
 * on purpose. `lostAnswers`: the share of calls other than GET that are executed and get no response.
 */
export async function startOutside(slowestMs: number, { lostAnswers = 0 } = {}): Promise<Outside> {
  const journal: Execution[] = []
  const loopback: Loopback = await startLoopback((request, response) => {
    const body = tryParseJson(request.body || 'null')
    const query = new URL(request.url, 'http://outside.invalid').searchParams
    const about = isJsonObject(body) ? String(body['about']) : String(query.get('about'))
    journal.push({ method: request.method, key: String(request.headers['idempotency-key']), about })
    if (request.method !== 'GET' && random() < lostAnswers) return void response.destroy()
    setTimeout(
      () => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ about })),
      random() * slowestMs,
    )
  })
  return { url: loopback.url, address: loopback.address, journal, close: () => loopback.close() }
}
