/** Files that a client sends inside a message, for protocols that have them: data URLs, base64, and ids of uploaded files. */
import { fromBase64, partsOfDataUrl } from '../../../core/content.ts'
import { AppError, invalidAt } from '../../../core/errors.ts'
import { kindOfId } from '../../../core/ids.ts'
import { hashJson } from '../../../core/json.ts'
import type { Ctx } from '../../../domain/access/index.ts'
import { keepFile, maxAttachments, type AttachmentsInput } from '../../../domain/files/index.ts'

/** A file of a message: one that was uploaded before, or bytes with their type. `path` is where the client wrote it. */
export type GivenFile =
  | { fileId: string; path: string[] }
  | { bytes: Buffer; contentType: string; filename: string; path: string[] }

/** A file of a data URL, or of an id that was given as the URL. INVALID at `path` for any other URL: nothing is fetched. */
export function fileOfUrl(url: unknown, filename: string | null, path: string[]): GivenFile {
  if (typeof url === 'string' && kindOfId(url) === 'file') return { fileId: url, path }
  const parts = typeof url === 'string' ? partsOfDataUrl(url) : null
  if (!parts)
    throw invalidAt(path, 'must be a data URL with base64, or the id of a file that was uploaded here')
  return fileOfBase64(parts.base64, parts.contentType, filename, path)
}

/** INVALID at `path` for a text that is no base64, and for no bytes. */
export function fileOfBase64(
  base64: unknown,
  contentType: string,
  filename: string | null,
  path: string[],
): GivenFile {
  const bytes = typeof base64 === 'string' ? fromBase64(base64) : null
  if (!bytes || bytes.length === 0) throw invalidAt(path, 'must have the bytes of a file as base64')
  return { bytes, contentType, filename: filename ?? `file.${subtypeOf(contentType)}`, path }
}

function subtypeOf(contentType: string): string {
  return /\/([a-z0-9]{1,10})$/i.exec(contentType)?.[1]?.toLowerCase() ?? 'bin'
}

/**
 * The files as attachments of a run; bytes are stored as files first, the same ones once. Action `files:Create` for bytes.
 * INVALID, at the path of the file, for what the installation does not accept, and for more files than a message may have:
 * then nothing is stored.
 */
export async function attachmentsOf(
  ctx: Ctx,
  projectId: string,
  given: readonly GivenFile[],
): Promise<NonNullable<AttachmentsInput>> {
  const excess = given[maxAttachments]
  if (excess) throw invalidAt(excess.path, `is one file too many: a message may have ${maxAttachments}`)
  const attachments: NonNullable<AttachmentsInput> = []
  for (const file of given) attachments.push({ fileId: await idOf(ctx, projectId, file) })
  return attachments
}

/** The files as they count in an idempotent request: the same bytes are the same file, whatever it became here. */
export function fingerprints(given: readonly GivenFile[]): string[] {
  return given.map((file) =>
    'fileId' in file
      ? file.fileId
      : hashJson([file.filename, file.contentType, file.bytes.toString('base64')]),
  )
}

async function idOf(ctx: Ctx, projectId: string, file: GivenFile): Promise<string> {
  if ('fileId' in file) return file.fileId
  try {
    return (await keepFile(ctx, { projectId, ...file })).id
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'INVALID') throw error
    const [issue] = error.details.issues ?? []
    throw invalidAt(file.path, issue ? `${issue.path.at(-1)} ${issue.message}` : error.message)
  }
}

/** INVALID for a file before the last message: it would not be kept. */
export function assertOnlyLast(files: readonly GivenFile[]): void {
  if (files[0]) throw invalidAt(files[0].path, 'is a file of an earlier message, which is not kept')
}
