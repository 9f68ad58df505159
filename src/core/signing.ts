/** Hashes, random tokens and signatures over data that untrusted clients carry. */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { writeJson } from './json.ts'

/** SHA-256, hex. Enough for tokens of 256 random bits, which cannot be guessed: a slow hash would add nothing. */
export function sha256Hex(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** `prefix` followed by 256 random bits, base64url. */
export function newToken(prefix: string): string {
  return prefix + randomBytes(32).toString('base64url')
}

const purposeKeys = new WeakMap<Buffer, Map<string, Buffer>>()

/**
 * Derives a key for one purpose from the master key: a signature for one purpose is invalid for every other. Derived
 * keys are cached for ever, so never pass untrusted text as the purpose.
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
  return createHmac('sha256', key).update(writeJson(parts)).digest('base64url')
}

/** Whether two texts are equal, in constant time for texts of equal length. */
export function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}
