/**
 * Links with which a recipient of a webhook may decide, and their one-time codes. Both follow from the master key, so
 * that every attempt to deliver a message sends the same ones, and neither is stored. Pure.
 */
import { createHmac } from 'node:crypto'
import { purposeKey, sameText, sign } from '../../../core/signing.ts'

/** Below this path are the pages of links. */
export const verdictPath = '/verdict/'

/** What a link is bound to. */
export interface VerdictLink {
  approvalId: string
  /** The digest of the question that its message tells of. */
  digest: string
  webhookId: string
  /** The recipient. */
  principalId: string
  /** When the approval expires, in milliseconds since 1970. */
  endMs: number
}

const longestToken = 600
/** Digits and letters that look different in every font. */
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const codeLength = 8
const codeShape = new RegExp(`^[${alphabet}]{${codeLength}}$`)

const partsOf = ({ approvalId, digest, webhookId, principalId, endMs }: VerdictLink) =>
  [approvalId, digest, webhookId, principalId, endMs] as const

/** The last part of the URL of a link. */
export function tokenOf(masterKey: Buffer, link: VerdictLink): string {
  const parts = partsOf(link)
  const mac = sign(purposeKey(masterKey, 'verdict link'), parts)
  return `${Buffer.from(JSON.stringify(parts)).toString('base64url')}.${mac}`
}

/** The link of a token that this server has signed, else null. */
export function readToken(masterKey: Buffer, token: string): VerdictLink | null {
  if (token.length > longestToken) return null
  const [body = '', mac = ''] = token.split('.')
  let parts: unknown
  try {
    parts = JSON.parse(Buffer.from(body, 'base64url').toString())
  } catch {
    return null
  }
  if (!Array.isArray(parts) || parts.length !== 5) return null
  const [approvalId, digest, webhookId, principalId, endMs] = parts as [
    string,
    string,
    string,
    string,
    number,
  ]
  const link = { approvalId, digest, webhookId, principalId, endMs }
  return sameText(tokenOf(masterKey, link), `${body}.${mac}`) ? link : null
}

/** The code of a link: seven random characters and one that follows from them, so that most slips are no try. */
export function codeOf(masterKey: Buffer, link: VerdictLink): string {
  const bytes = createHmac('sha256', purposeKey(masterKey, 'verdict code'))
    .update(JSON.stringify(partsOf(link)))
    .digest()
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
