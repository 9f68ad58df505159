/** Signed requests to a bucket: with time limits, and repeated when the object store is busy, for each may be done twice. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Readable } from 'node:stream'
import { AwsV4Signer } from 'aws4fetch'
import { Agent, request, type Dispatcher } from 'undici'
import type { KnownBytes } from '../blobs.ts'
import type { S3Settings } from './settings.ts'
import { codeIn, faultOf, faultWithoutResponse } from './faults.ts'

/** The SHA-256 hash of no bytes. */
const nothing = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

/**
 * In milliseconds: to connect, until the response begins, after bytes were sent or a copy was asked for, and between two
 * pieces of a response.
 */
const limits = { connect: 5000, headers: 10_000, stored: 60_000, copied: 10 * 60_000, body: 30_000 }
/** The longest request, and the slowest that a body may be sent, in bytes per second. */
const longestMs = 30 * 60_000
const slowest = 256 * 1024
const attempts = 3
/** Read of the body of a refusal, in bytes. */
const mostOfRefusal = 8192

export interface Sending {
  method: 'GET' | 'HEAD' | 'PUT' | 'DELETE'
  key: string
  headers?: Record<string, string>
  body?: KnownBytes
  /** The object store copies before it answers, which may take minutes. */
  isCopy?: boolean
}

export interface S3Response {
  status: number
  headers: Record<string, string | undefined>
  /** Of a refusal: the error code of the S3 API. */
  code: string | null
  body: Readable
}

export interface S3Requests {
  /**
   * The response; of a refusal only those with a status in `expected`, and its body is gone. Throws BucketFaultError for every
   * other one, and when there is none.
   */
  send(sending: Sending, expected?: readonly number[]): Promise<S3Response>
  close(): Promise<void>
}

export function s3Requests(settings: S3Settings): S3Requests {
  const agent = new Agent({
    connect: { timeout: limits.connect },
    bodyTimeout: limits.body,
    connections: 64,
  })
  const once = async (sending: Sending): Promise<S3Response> => {
    const { method, body } = sending
    const { url, headers } = await signed(settings, sending)
    const stream = body && body.size > 0 ? await body.open() : null
    const headersTimeout = limits[sending.isCopy ? 'copied' : body ? 'stored' : 'headers']
    const sendingMs = Math.ceil(((body?.size ?? 0) / slowest) * 1000)
    const limitMs = Math.min(longestMs, headersTimeout * 2 + sendingMs)
    try {
      // A GET may be read for as long as its reader takes; `bodyTimeout` ends one that stands still.
      const signal = method === 'GET' ? null : AbortSignal.timeout(limitMs)
      const response = await request(url, {
        method,
        headers,
        body: stream,
        dispatcher: agent,
        signal,
        headersTimeout,
      })
      return { status: response.statusCode, ...(await contentOf(response)) }
    } catch (error) {
      throw faultWithoutResponse(settings, error)
    } finally {
      stream?.destroy()
    }
  }
  return {
    async send(sending, expected = []) {
      for (let attempt = 1; ; attempt++) {
        const last = attempt >= attempts
        const response = await once(sending).catch(async (error: unknown) => {
          if (last) throw error
          return null
        })
        const status = response?.status
        if (response && (status! < 300 || (expected.includes(status!) && isOfObject(response))))
          return response
        const isPassing = !response || status! >= 500 || status === 429
        if (!isPassing || last) throw faultOf(status!, response!.code)
        await pause(100 * 2 ** attempt * (0.5 + Math.random()))
      }
    },
    close: () => agent.destroy(),
  }
}

/** Without the bucket every object is missing: that says nothing of this one. */
const isOfObject = ({ code }: S3Response) => code !== 'NoSuchBucket'

async function signed(settings: S3Settings, { method, key, headers = {}, body }: Sending) {
  const { accessKeyId, secretAccessKey, sessionToken, region } = settings
  const signer = new AwsV4Signer({
    method,
    url: `${settings.url}/${key}`,
    headers: {
      ...headers,
      ...(body ? { 'content-type': 'application/octet-stream' } : {}),
      'x-amz-content-sha256': body?.sha256 ?? nothing,
    },
    accessKeyId,
    secretAccessKey,
    ...(sessionToken === null ? {} : { sessionToken }),
    service: 's3',
    region,
    allHeaders: true,
  })
  const { url, headers: all } = await signer.sign()
  const length = method === 'PUT' ? { 'content-length': String(body?.size ?? 0) } : {}
  return { url, headers: { ...Object.fromEntries(all), ...length } }
}

async function contentOf({ statusCode, headers, body }: Dispatcher.ResponseData) {
  // One that is destroyed before its end emits an error, which nobody else may be listening to.
  body.on('error', () => {})
  const flat = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value[0] : value]),
  )
  if (statusCode < 300) return { headers: flat, code: null, body: body as Readable }
  return { headers: flat, code: codeIn(await beginningOf(body)), body: body as Readable }
}

/** The beginning of a short text. */
export async function beginningOf(body: Readable): Promise<string> {
  let text = ''
  for await (const chunk of body) {
    text += String(chunk)
    if (text.length > mostOfRefusal) break
  }
  return text
}
