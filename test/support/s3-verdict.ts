/** The verdict on a signed request to S3, by AWS's own signer: signed anew, it must have the same signature. */
import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { SignatureV4 } from '@smithy/signature-v4'

export interface S3Identity {
  region: string
  accessKeyId: string
  secretAccessKey: string
  sessionToken: string | null
}

/** An error code of S3 with its status; null: the request is as its owner signed it. */
export type Verdict = { status: number; code: string } | null

const refuse = (status: number, code: string): Verdict => ({ status, code })

/** Hashes as the signer wants them. */
class Sha256 {
  readonly #hash: Hash | Hmac
  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', secret as Uint8Array)
  }
  update(data: Uint8Array) {
    this.#hash.update(data)
  }
  digest() {
    return Promise.resolve(new Uint8Array(this.#hash.digest()))
  }
  reset() {}
}

const algorithm = 'AWS4-HMAC-SHA256'
/** S3 allows clocks to differ by 15 minutes. */
const skewMs = 15 * 60_000

interface Claims {
  credential: string
  signedHeaders: string[]
  signature: string
  date: Date
  /** Of a link, in seconds. */
  expires: number | null
  token: string | null
}

const dateOf = (text: string) =>
  new Date(text.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))

function claimsOf(request: IncomingMessage, query: URLSearchParams): Claims | null {
  const { headers } = request
  if (query.has('X-Amz-Signature'))
    return {
      credential: query.get('X-Amz-Credential')!,
      signedHeaders: query.get('X-Amz-SignedHeaders')!.split(';'),
      signature: query.get('X-Amz-Signature')!,
      date: dateOf(query.get('X-Amz-Date')!),
      expires: Number(query.get('X-Amz-Expires')),
      token: query.get('X-Amz-Security-Token'),
    }
  const told = new RegExp(`^${algorithm} Credential=([^,]+), SignedHeaders=([^,]+), Signature=(\\w+)$`).exec(
    headers.authorization ?? '',
  )
  if (!told) return null
  return {
    credential: told[1]!,
    signedHeaders: told[2]!.split(';'),
    signature: told[3]!,
    date: dateOf(String(headers['x-amz-date'])),
    expires: null,
    token: (headers['x-amz-security-token'] as string | undefined) ?? null,
  }
}

/** Judges all but the bytes. `now`: of the object store, in milliseconds. */
export async function judge(identity: S3Identity, request: IncomingMessage, now: number): Promise<Verdict> {
  const url = new URL(request.url!, `http://${request.headers.host}`)
  const claims = claimsOf(request, url.searchParams)
  if (!claims) return refuse(403, 'AccessDenied')
  const [accessKeyId, , region] = claims.credential.split('/')
  if (accessKeyId !== identity.accessKeyId) return refuse(403, 'InvalidAccessKeyId')
  if (region !== identity.region) return refuse(400, 'AuthorizationHeaderMalformed')
  if (claims.token !== identity.sessionToken) return refuse(400, 'ExpiredToken')
  const age = now - claims.date.getTime()
  if (claims.expires === null ? Math.abs(age) > skewMs : age < -skewMs)
    return refuse(403, 'RequestTimeTooSkewed')
  if (claims.expires !== null && age > claims.expires * 1000) return refuse(403, 'AccessDenied')
  const mustSign = Object.keys(request.headers).filter((name) => name === 'host' || name.startsWith('x-amz-'))
  if (mustSign.some((name) => !claims.signedHeaders.includes(name))) return refuse(403, 'AccessDenied')
  if (claims.signedHeaders.some((name) => request.headers[name] === undefined))
    return refuse(403, 'SignatureDoesNotMatch')
  const wanted = await signatureOf(identity, request, url, claims)
  return wanted === claims.signature ? null : refuse(403, 'SignatureDoesNotMatch')
}

async function signatureOf(identity: S3Identity, request: IncomingMessage, url: URL, claims: Claims) {
  const { accessKeyId, secretAccessKey, sessionToken, region } = identity
  const signer = new SignatureV4({
    service: 's3',
    region,
    credentials: { accessKeyId, secretAccessKey, ...(sessionToken ? { sessionToken } : {}) },
    sha256: Sha256,
    uriEscapePath: false,
  })
  const headers = Object.fromEntries(
    claims.signedHeaders.map((name) => [name, String(request.headers[name])]),
  )
  const made = /^x-amz-(?:signature|credential|signedheaders|date|expires|algorithm|security-token)$/i
  const query = Object.fromEntries([...url.searchParams].filter(([name]) => !made.test(name)))
  const asked = {
    method: request.method!,
    protocol: 'http:',
    hostname: url.hostname,
    path: url.pathname,
    query,
    headers,
  }
  const signingDate = claims.date
  if (claims.expires === null) {
    const signed = await signer.sign(asked, { signingDate })
    return /Signature=(\w+)/.exec(signed.headers['authorization']!)![1]
  }
  const hash = 'x-amz-content-sha256'
  const signed = await signer.presign(
    { ...asked, headers: { ...headers, [hash]: 'UNSIGNED-PAYLOAD' } },
    {
      signingDate,
      expiresIn: claims.expires,
      unsignableHeaders: new Set([hash]),
      unhoistableHeaders: new Set([hash]),
    },
  )
  return signed.query!['X-Amz-Signature'] as string
}
