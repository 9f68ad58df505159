/** Signed links: whoever holds one may put or get that file until it ends, and nothing else. Pure. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { purposeKey } from '../../core/signing.ts'

export type LinkMethod = 'PUT' | 'GET'

/** Where the bytes of a file are. */
export const contentPath = (fileId: string) => `/api/v1/files/${fileId}/content`

/** The query of a link. `expires` is in seconds since 1970. */
export function signLink(masterKey: Buffer, method: LinkMethod, fileId: string, expires: number): string {
  const signature = seal(masterKey, method, fileId, expires).toString('base64url')
  return `expires=${expires}&signature=${signature}`
}

/** Whether the query was signed for that, and when it ends or ended, in milliseconds since 1970; null when not. */
export function readLink(
  masterKey: Buffer,
  method: LinkMethod,
  fileId: string,
  query: URLSearchParams,
): number | null {
  const expires = Number(query.get('expires'))
  if (!Number.isSafeInteger(expires)) return null
  const given = Buffer.from(query.get('signature') ?? '', 'base64url')
  const wanted = seal(masterKey, method, fileId, expires)
  return given.length === wanted.length && timingSafeEqual(given, wanted) ? expires * 1000 : null
}

function seal(masterKey: Buffer, method: LinkMethod, fileId: string, expires: number): Buffer {
  const key = purposeKey(masterKey, 'file links')
  return createHmac('sha256', key).update(`${method}\n${fileId}\n${expires}`).digest()
}
