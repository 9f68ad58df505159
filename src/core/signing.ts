/** Hashes, random tokens, signatures over data that untrusted clients carry, and links for people with no session. */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { writeJson, readJson } from './json.ts'

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

type Parts = readonly (string | number)[]

/** One kind of link: what is signed for one kind is valid for no other. */
export interface LinkKind {
  /** The purpose of the signature of a token. */
  token: string
  /** The purpose of the code. */
  code: string
}

const longestToken = 600
/** Digits and letters that differ in every font. */
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const codeLength = 8
const codeShape = new RegExp(`^[${alphabet}]{${codeLength}}$`)

/** The last part of the URL of a link: what it is bound to, readable, and a signature. */
export function tokenOf(masterKey: Buffer, kind: LinkKind, parts: Parts): string {
  const mac = sign(purposeKey(masterKey, kind.token), parts)
  return `${Buffer.from(writeJson(parts)).toString('base64url')}.${mac}`
}

/** The parts of a token that this server has signed for this kind of link, else null. */
export function readToken(masterKey: Buffer, kind: LinkKind, token: string): Parts | null {
  if (token.length > longestToken) return null
  const [body = '', mac = ''] = token.split('.')
  let parts: unknown
  try {
    parts = readJson(Buffer.from(body, 'base64url').toString())
  } catch {
    return null
  }
  if (!Array.isArray(parts)) return null
  return sameText(tokenOf(masterKey, kind, parts as Parts), `${body}.${mac}`) ? (parts as Parts) : null
}

/** The code of a link: seven random characters and one that follows from them, so that most slips are no try. */
export function codeOf(masterKey: Buffer, kind: LinkKind, parts: Parts): string {
  const bytes = createHmac('sha256', purposeKey(masterKey, kind.code)).update(writeJson(parts)).digest()
  const random = [...bytes.subarray(0, codeLength - 1)].map((byte) => alphabet[byte % alphabet.length]!)
  return `${random.join('')}${checkOf(random.join(''))}`
}

function checkOf(text: string): string {
  const sum = [...text].reduce((all, char, i) => all + (2 * i + 1) * alphabet.indexOf(char), 2)
  return alphabet[sum % alphabet.length]!
}

/** A code as it is shown: in two halves. */
export function shownCode(code: string): string {
  return `${code.slice(0, 4)}-${code.slice(4)}`
}

/** What a person has typed, as a code; null when it cannot be one. */
export function readCode(typed: string): string | null {
  const code = typed
    .slice(0, 40)
    .toUpperCase()
    .replace(/[\s-]/g, '')
    .replaceAll('O', '0')
    .replace(/[IL]/g, '1')
  return codeShape.test(code) && checkOf(code.slice(0, -1)) === code.at(-1) ? code : null
}
