/** Why a bucket cannot be used, as its operator reads it: one sentence that names the setting. Pure. */
import { BucketFaultError } from '../blobs.ts'
import type { S3Settings } from './settings.ts'

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
