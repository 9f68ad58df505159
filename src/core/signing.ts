/** Hashes, random tokens and seals over what strangers carry for us. */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

/** SHA-256, hex. Enough for tokens of 256 random bits: there is nothing to guess, so nothing to slow down. */
export function sha256Hex(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** `prefix` followed by 256 random bits, base64url. */
export function newToken(prefix: string): string {
  return prefix + randomBytes(32).toString('base64url')
}

const purposeKeys = new WeakMap<Buffer, Map<string, Buffer>>()

/**
 * A key for one purpose, made of the installation's: what is sealed for one purpose fits no other. Made once for each
 * purpose, of which there are a few: never give it a stranger's words.
 */
export function purposeKey(masterKey: Buffer, purpose: string): Buffer {
  const known = purposeKeys.get(masterKey) ?? new Map<string, Buffer>()
  purposeKeys.set(masterKey, known)
  const key = known.get(purpose) ?? createHmac('sha256', masterKey).update(`gatehouse ${purpose}`).digest()
  known.set(purpose, key)
  return key
}

/** HMAC-SHA256 over the parts, base64url; equal only for equal parts in the same order. */
export function sign(key: Buffer, parts: readonly (string | number | null)[]): string {
  return createHmac('sha256', key).update(JSON.stringify(parts)).digest('base64url')
}

/** Whether two texts are equal, in a time that does not tell where they differ. */
export function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}
