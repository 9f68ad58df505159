/** The upstream of the protocol model: it remembers each arrival, and answers and is found when it is told to. */
import { isJsonObject, tryParseJson, type JsonObject } from '../../../src/core/json.ts'
import { startLoopback } from '../../support/loopback.ts'

/** `cut`: the request is carried out, and its answer is lost. */
export type AnswerKind = 'ok' | 'fail' | 'cut'

export interface Arrival {
  /** The Idempotency-Key: the id of the tool call. */
  key: string
  /** `pay`, and which version of the tool was sent. */
  name: string
  version: number
  body: JsonObject
  /** What it was answered; null while it waits. */
  answer: AnswerKind | null
  /** Whether its call was settled already, as far as anybody had read. */
  late: boolean
}

export interface ModelUpstream {
  arrivals: Arrival[]
  /** Calls that were read as settled: nothing of them may arrive any more. */
  settled: Set<string>
  /** The base of its address, under a name that is found by `lookup` only. */
  url: string
  lookup: (replica: number) => Promise<string[]>
  /** Told of each replica that looks for the address. */
  onLookup: ((replica: number) => void) | null
  /** While held, nobody finds the address: calls wait between their commit and the wire. */
  holdNames(): void
  releaseNames(): void
  /** While held, arrivals wait for their answers. */
  holdAnswers(): void
  /** Answers what waits in this way, and what comes with `ok`. */
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
      // Each request asks for the address anew.
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
