/** The fetch of provider packages, which write and read JSON natively: requests and responses keep their digits. */
import { readableArguments } from './argument-frames.ts'
import { readableCounts } from './usage-frames.ts'
import { unpackText } from '../../../core/json.ts'
import { packingStream } from '../../../core/packed-stream.ts'

const readable = (line: string): string => readableArguments(readableCounts(line))

/**
 * Completes the JSON that a package made of `packed` values, packs what it reads, and gives it counts of tokens that it
 * accepts. `AnswerParts` unpacks: a text may come in pieces that have half a character each.
 */
export function exactFetch(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const body = typeof init?.body === 'string' ? { body: unpackText(init.body) } : {}
    const response = await fetch(input, { ...init, ...body })
    if (!response.body || !response.ok) return response
    const isEvents = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false
    const { status, statusText, headers } = response
    const stream = response.body.pipeThrough(packingStream({ isEvents, keepsText: true, change: readable }))
    return new Response(stream, { status, statusText, headers })
  }
}
