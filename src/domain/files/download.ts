/** The bytes of files, and the links that lead to them. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { purposeKey } from '../../core/signing.ts'
import type { Readable } from 'node:stream'
import type { Services } from '../access/index.ts'
import { type StoredFile, blobKeysOf, loadFiles } from './file.ts'

/** Signed links: the holder may upload or download one file until the link expires. Pure. */
export type LinkMethod = 'PUT' | 'GET'

/** The path of the bytes of a file. */
const contentPath = (fileId: string) => `/api/v1/files/${fileId}/content`

/** The query string of a link. `expires` is in seconds since 1970. */
function signLink(masterKey: Buffer, method: LinkMethod, fileId: string, expires: number): string {
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

const downloadSeconds = 60 * 60
/** The longest time that a link to the bucket is valid. It is made when it is followed. */
const redirectSeconds = 5 * 60

type Opening = Pick<Services, 'db' | 'blobs'>

export interface OpenFile {
  file: StoredFile
  stream: Readable
  /** In bytes. */
  size: number
}

/**
 * The bytes of a file; null when there are none, or not those that were uploaded. Checks no permission. The caller must read or
 * destroy the stream. Throws BucketFaultError.
 */
export async function openFile({ db, blobs }: Opening, id: string): Promise<OpenFile | null> {
  // Looked up twice, because a file that moves to the bucket meanwhile is no longer on the disk.
  for (let seen: string | null | undefined; ;) {
    const [file] = await loadFiles(db, [id])
    if (file?.status !== 'READY' || file.blobKey === seen) return null
    for (const key of file.blobKey === null ? blobKeysOf(file) : [file.blobKey]) {
      const blob = await blobs.read(key, file.etag)
      if (blob) return { file, ...blob }
    }
    seen = file.blobKey
  }
}

/** A file for a link that the caller has checked: its bytes, or where GET returns them. */
export type Download = OpenFile | { file: StoredFile; size: number; location: string }

/** As `openFile`. Of a file in the bucket, a link to there that ends when `until` is, in milliseconds since 1970. */
export async function openDownload(
  services: Opening & Pick<Services, 'clock'>,
  id: string,
  until: number,
): Promise<Download | null> {
  const [file] = await loadFiles(services.db, [id])
  const { bucket } = services.blobs
  if (!bucket || !file?.blobKey || file.status !== 'READY') return openFile(services, id)
  const { blobKey, etag, contentType, filename } = file
  // Whoever follows the link learns from it only whether the object store has the bytes, not whether they are the right ones.
  const found = await bucket.stat(blobKey, etag)
  if (!found) return null
  const left = Math.ceil((until - services.clock.now()) / 1000)
  const seconds = Math.min(redirectSeconds, Math.max(1, left))
  const location = await bucket.downloadLink(blobKey, { contentType, filename, seconds })
  return { file, size: found.size, location }
}

type Linking = Pick<Services, 'masterKey' | 'clock' | 'publicUrl'>

/** A link from which GET downloads the bytes for one hour. */
export function downloadUrl(services: Linking, fileId: string): string {
  return linkTo(services, 'GET', fileId, downloadSeconds)
}

/** A link to the bytes of a file at this server. */
export function linkTo(
  { masterKey, clock, publicUrl }: Linking,
  method: 'PUT' | 'GET',
  fileId: string,
  seconds: number,
): string {
  const expires = Math.ceil(clock.now() / 1000) + seconds
  return `${publicUrl()}${contentPath(fileId)}?${signLink(masterKey, method, fileId, expires)}`
}
