/** The upstream of the protocol model: it records each arrival, and its responses and DNS lookups can be held back. */
import { isJsonObject, tryParseJson, type JsonObject } from '../../../src/core/json.ts'
import { startLoopback } from '../../support/loopback.ts'

/** `cut`: the request is executed, and its response is lost. */
export type AnswerKind = 'ok' | 'fail' | 'cut'

export interface Arrival {
  /** The Idempotency-Key: the id of the tool call. */
  key: string
  /** `pay`, and which version of the tool was sent. */
  name: string
  version: number
  body: JsonObject
  /** The response; null while it is held. */
  answer: AnswerKind | null
  /** Whether the test had already read its call as settled. */
  late: boolean
}

export interface ModelUpstream {
  arrivals: Arrival[]
  /** Calls that were read as settled: no request of them may arrive any more. */
  settled: Set<string>
  /** The base of its address, with a name that only `lookup` resolves. */
  url: string
  lookup: (replica: number) => Promise<string[]>
  /** Called with each replica that looks up the address. */
  onLookup: ((replica: number) => void) | null
  /** While held, no lookup completes: calls wait between their commit and the request. */
  holdNames(): void
  releaseNames(): void
  /** While held, arrivals wait for their responses. */
  holdAnswers(): void
  /** Responds in this way to what waits, and with `ok` from then on. */
  answer(how: AnswerKind): void
  close(): Promise<void>
}

export async function startModelUpstream(): Promise<ModelUpstream> {
  const arrivals: Arrival[] = []
  const settled = new Set<string>()
  let names: (() => void)[] | null = null
  let answers: ((how: AnswerKind) => void)[] | null = null
  const loopback = await startLoopback((request, response) => {
    const body = tryParseJson(request.body || '{}')
    const [, name, version] = request.url.split('/')
    const key = String(request.headers['idempotency-key'])
    const arrival: Arrival = {
      key,
      name: name!,
      version: Number(version),
      body: isJsonObject(body) ? body : {},
      answer: null,
      late: settled.has(key),
    }
    arrivals.push(arrival)
    const answer = (how: AnswerKind) => {
      arrival.answer = how
      if (how === 'cut') return void response.destroy()
      // Each request looks the address up again.
      const headers = { 'content-type': 'application/json', connection: 'close' }
      response.writeHead(how === 'ok' ? 200 : 422, headers).end('{}')
    }
    if (answers) answers.push(answer)
    else answer('ok')
  })
  const upstream: ModelUpstream = {
    arrivals,
    settled,
    url: `http://upstream.test:${loopback.port}`,
    onLookup: null,
    async lookup(replica) {
      upstream.onLookup?.(replica)
      if (names) await new Promise<void>((resolve) => names!.push(resolve))
      return ['127.0.0.1']
    },
    holdNames: () => void (names ??= []),
    releaseNames() {
      const waiting = names ?? []
      names = null
      for (const go of waiting) go()
    },
    holdAnswers: () => void (answers ??= []),
    answer(how) {
      const waiting = answers ?? []
      answers = null
      for (const give of waiting) give(how)
    },
    async close() {
      upstream.releaseNames()
      upstream.answer('ok')
      await loopback.close()
    },
  }
  return upstream
}
