/** Hashes and random tokens: the only cryptography that needs no key. */
import { createHash, randomBytes } from 'node:crypto'

/** SHA-256, hex. Enough for tokens of 256 random bits: there is nothing to guess, so nothing to slow down. */
export function sha256Hex(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** `prefix` followed by 256 random bits, base64url. */
export function newToken(prefix: string): string {
  return prefix + randomBytes(32).toString('base64url')
}
