/** Signed links: the holder may upload or download one file until the link expires. Pure. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { purposeKey } from '../../core/signing.ts'

export type LinkMethod = 'PUT' | 'GET'

/** The path of the bytes of a file. */
export const contentPath = (fileId: string) => `/api/v1/files/${fileId}/content`

/** The query string of a link. `expires` is in seconds since 1970. */
export function signLink(masterKey: Buffer, method: LinkMethod, fileId: string, expires: number): string {
  const signature = seal(masterKey, method, fileId, expires).toString('base64url')
  return `expires=${expires}&signature=${signature}`
}

/**
 * When the link expires or expired, in milliseconds since 1970; null when the signature is not for this method and
 * file.
 */
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
