/** Links with which a recipient of a webhook may decide, and their one-time codes. Pure. */
import * as oneTime from '../../../core/one-time-link.ts'

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
  /** When the approval was to expire as the message was made, in milliseconds since 1970. It may have got longer time since. */
  endMs: number
}

const kind: oneTime.LinkKind = { token: 'verdict link', code: 'verdict code' }

const partsOf = ({ approvalId, digest, webhookId, principalId, endMs }: VerdictLink) =>
  [approvalId, digest, webhookId, principalId, endMs] as const

/** The last part of the URL of a link. */
export function tokenOf(masterKey: Buffer, link: VerdictLink): string {
  return oneTime.tokenOf(masterKey, kind, partsOf(link))
}

/** The link of a token that this server has signed, else null. */
export function readToken(masterKey: Buffer, token: string): VerdictLink | null {
  const parts = oneTime.readToken(masterKey, kind, token)
  if (parts?.length !== 5) return null
  const [approvalId, digest, webhookId, principalId, endMs] = parts as [
    string,
    string,
    string,
    string,
    number,
  ]
  return { approvalId, digest, webhookId, principalId, endMs }
}

/** The code of a link. */
export function codeOf(masterKey: Buffer, link: VerdictLink): string {
  return oneTime.codeOf(masterKey, kind, partsOf(link))
}
