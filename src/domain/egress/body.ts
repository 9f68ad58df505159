/** The body of a response: decoded, limited in size, read. */
import { pipeline, Transform, type Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { EgressError } from './egress-error.ts'
import type { Reply } from './exchange.ts'

const decoders: Record<string, () => Transform> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
}

/**
 * The reply with its Content-Encoding decoded. Gatehouse never asks for an encoding, but some servers send one anyway.
 * Size limits count decoded bytes, so a compression bomb is stopped at the limit. An unknown coding is not decoded.
 */
export function decodeBody(reply: Reply, method: string): Reply {
  const codings = String(reply.headers['content-encoding'] ?? '')
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity')
  const known = codings.every((coding) => Object.hasOwn(decoders, coding))
  if (codings.length === 0 || codings.length > 3 || !known || method === 'HEAD' || hasNoBody(reply.status))
    return reply
  const { 'content-encoding': _coding, 'content-length': _length, ...headers } = reply.headers
  const body = codings
    .toReversed()
    .reduce<Readable>((stream, coding) => piped(stream, decoders[coding]!()), reply.body)
  return { ...reply, headers, body }
}

/** Whether responses with this status never have a body. */
export function hasNoBody(status: number): boolean {
  return status === 204 || status === 205 || status === 304
}

/** A stream that fails with TOO_LARGE after `maxBytes`. */
export function capBody(body: Readable, maxBytes: number): Readable {
  let total = 0
  const cap = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      total += chunk.length
      if (total <= maxBytes) done(null, chunk)
      else done(new EgressError('TOO_LARGE', `The response is larger than ${maxBytes} bytes.`, true))
    },
  })
  return piped(body, cap)
}

/**
 * At most `maxBytes` of the body; reading stops there and the connection is dropped. `garbled`: the rest is not in the encoding
 * that it names.
 */
export async function readUpTo(
  body: Readable,
  maxBytes: number,
): Promise<{ bytes: Buffer; truncated: boolean; garbled: boolean }> {
  const chunks: Buffer[] = []
  let total = 0
  let garbled = false
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      total += chunk.length
      if (total > maxBytes) break
    }
  } catch (error) {
    if (!isGarbled(error)) throw error
    garbled = true
  }
  return { bytes: Buffer.concat(chunks).subarray(0, maxBytes), truncated: total > maxBytes, garbled }
}

/** An error of a decoder, but not that of an end which came too early: that may be the connection's. */
function isGarbled(error: unknown): boolean {
  const { code } = error as { code?: unknown }
  return code === 'Z_DATA_ERROR' || (typeof code === 'string' && code.startsWith('ERR__ERROR_FORMAT'))
}

function piped(from: Readable, to: Transform): Readable {
  // `to` emits the error, and destroying `to` destroys `from`: the callback has nothing to do.
  pipeline(from, to, () => {})
  return to
}
