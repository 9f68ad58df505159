/**
 * Signed requests to a bucket: with time limits, repeated when the object store is busy, for each may be done twice,
 * and why one fails.
 */
import { BucketFaultError, type KnownBytes } from '../blobs.ts'
import { setTimeout as pause } from 'node:timers/promises'
import type { Readable } from 'node:stream'
import { AwsV4Signer } from 'aws4fetch'
import { Agent, request, type Dispatcher } from 'undici'

/** How a bucket is reached. */
export interface S3Settings {
  bucket: string
  /** The URL below which its objects are, without a final slash. */
  url: string
  /** The same as browsers and tools reach it. */
  publicUrl: string
  region: string
  accessKeyId: string
  secretAccessKey: string
  sessionToken: string | null
}

const credentials =
  'The object store does not accept the credentials: check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, ' +
  'AWS_SESSION_TOKEN and GATEHOUSE_S3_REGION.'
const place =
  'The bucket is in another region or at another address: check GATEHOUSE_S3_REGION, GATEHOUSE_S3_ENDPOINT and ' +
  'GATEHOUSE_S3_PATH_STYLE.'

/** Sentences by the error codes of the S3 API that an operator can act upon. */
const sentences: Record<string, string> = {
  NoSuchBucket: 'The bucket does not exist: check GATEHOUSE_S3_BUCKET and GATEHOUSE_S3_ENDPOINT.',
  InvalidBucketName: 'The object store does not allow the name of the bucket: check GATEHOUSE_S3_BUCKET.',
  InvalidAccessKeyId: credentials,
  SignatureDoesNotMatch: credentials,
  InvalidToken: credentials,
  ExpiredToken: 'The credentials have expired: AWS_SESSION_TOKEN must be a new one.',
  TokenRefreshRequired: 'The credentials have expired: AWS_SESSION_TOKEN must be a new one.',
  RequestTimeTooSkewed:
    'The clocks of this machine and of the object store differ by more than it allows: set the clock of this machine.',
  AccessDenied:
    'The credentials may not use the bucket: they need s3:GetObject, s3:PutObject and s3:DeleteObject on its objects, ' +
    'and s3:ListBucket on the bucket.',
  AuthorizationHeaderMalformed: place,
  PermanentRedirect: place,
  TemporaryRedirect: place,
  IllegalLocationConstraintException: place,
}

/** The error code in the body of a response; null when there is none. */
export function codeIn(body: string): string | null {
  return /<Code>([A-Za-z0-9]{1,60})<\/Code>/.exec(body)?.[1] ?? null
}

/** The fault that a response with this status and error code tells. */
export function faultOf(status: number, code: string | null): BucketFaultError {
  const known = code === null ? undefined : sentences[code]
  if (known) return new BucketFaultError(known, true)
  if (status >= 300 && status < 400) return new BucketFaultError(place, true)
  if (status === 401 || status === 403) return new BucketFaultError(sentences['AccessDenied']!, true)
  const named = code === null ? '' : ` (${code})`
  return new BucketFaultError(`The object store answered ${status}${named}.`, status < 500 && status !== 429)
}

/** The fault of a request without a response, or without all of it. */
export function faultWithoutResponse({ url }: Pick<S3Settings, 'url'>, error: unknown): BucketFaultError {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown }
  const why = typeof code === 'string' ? code : name === 'TimeoutError' ? 'no response in time' : 'cut off'
  const { origin } = new URL(url)
  return new BucketFaultError(`${origin} of GATEHOUSE_S3_ENDPOINT does not answer (${why}).`, false, error)
}

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

export interface S3Request {
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
  send(sending: S3Request, expected?: readonly number[]): Promise<S3Response>
  close(): Promise<void>
}

export function s3Requests(settings: S3Settings): S3Requests {
  const agent = new Agent({
    connect: { timeout: limits.connect },
    bodyTimeout: limits.body,
    connections: 64,
  })
  const once = async (sending: S3Request): Promise<S3Response> => {
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

async function signed(settings: S3Settings, { method, key, headers = {}, body }: S3Request) {
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
