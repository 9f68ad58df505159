/** Signatures of deliveries, as Standard Webhooks 1.0 defines them: `v1`, HMAC-SHA256 with a secret for each endpoint. */
import { createHmac, randomBytes } from 'node:crypto'
import { sameText } from '../../../core/signing.ts'
import { seal, unseal } from '../../secrets/index.ts'

const prefix = 'whsec_'
const secretBytes = 32

/** A new signing secret: `whsec_` and 32 random bytes in padded base64. */
export function newSecret(): string {
  return prefix + randomBytes(secretBytes).toString('base64')
}

/** What is wrong with a signing secret that a client chose, as a message that follows a path; null: nothing. */
export function faultOfSecret(secret: string): string | null {
  const text = secret.slice(prefix.length)
  const bytes = Buffer.from(text, 'base64')
  const fits = bytes.length >= 24 && bytes.length <= 64 && bytes.toString('base64') === text
  return secret.startsWith(prefix) && fits ? null : 'must be whsec_ and 24 to 64 bytes in padded base64'
}

/**
 * The headers of one attempt: the id is the same in every attempt, the time is that of this one. Every secret signs, so
 * that a receiver may know the old one or the new one while a secret is rotated.
 */
export function signedHeaders(
  secrets: readonly string[],
  id: string,
  body: string,
  nowMs: number,
): Record<string, string> {
  const seconds = Math.floor(nowMs / 1000)
  const signatures = secrets.map((secret) => signatureOf(secret, id, String(seconds), body))
  return {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': signatures.join(' '),
  }
}

function signatureOf(secret: string, id: string, seconds: string, body: string | Buffer): string {
  const key = Buffer.from(secret.slice(prefix.length), 'base64')
  return `v1,${createHmac('sha256', key).update(`${id}.${seconds}.`).update(body).digest('base64')}`
}

/** The three headers of a message that somebody sends us. */
export interface SignedMessage {
  id: string
  timestamp: string
  /** One signature, or several with spaces between. */
  signature: string
  body: Buffer
}

/** So many signatures of a message are compared. */
const mostSignatures = 10

/** Whether one of the secrets has signed the message. Says nothing about its time. Constant time for each signature. */
export function isSignedBy(
  secrets: readonly string[],
  { id, timestamp, signature, body }: SignedMessage,
): boolean {
  const given = signature.split(' ').slice(0, mostSignatures)
  const right = secrets.map((secret) => signatureOf(secret, id, timestamp, body))
  return right.some((one) => given.filter((other) => sameText(one, other)).length > 0)
}

export function sealSecret(masterKey: Buffer, webhookId: string, secret: string): string {
  return seal(masterKey, secret, `webhook/${webhookId}`)
}

export function openSecret(masterKey: Buffer, webhookId: string, sealed: string): string {
  return unseal(masterKey, sealed, `webhook/${webhookId}`)
}
