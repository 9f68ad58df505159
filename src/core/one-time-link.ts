/**
 * Links for people with no session, and the code that belongs to one. Both follow from the master key and what the link
 * is bound to, so that neither is stored and each is the same however often it is made. Pure.
 */
import { createHmac } from 'node:crypto'
import { readJson, writeJson } from './json.ts'
import { purposeKey, sameText, sign } from './signing.ts'

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
