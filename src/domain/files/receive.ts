/** Receives the bytes of a file: once, completely, and within the quota of the project. */
import { Readable } from 'node:stream'
import { and, eq } from 'drizzle-orm'
import { AppError, invalidAt, notFound } from '../../core/errors.ts'
import { atomically, type Database } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import { files } from '../../store/db/tables/files.ts'
import type { Services } from '../access/index.ts'
import { appendProjectEvents, fileUploaded, withRequester } from '../events/index.ts'
import { announcedBytes } from './bucket-keys.ts'
import type { StoredFile } from './file.ts'
import { place } from './place.ts'
import { loadFiles } from './stored.ts'

/**
 * Stores the bytes of a PENDING file, for a link that the caller has checked, and makes the file READY. CONFLICT when
 * the file already has its bytes, and for an upload that is still running when another one for the same file begins on
 * this replica: its client may have lost the connection and tries again. LIMITED when the bytes exceed the limit of a
 * file or the quota of the project. Of two uploads on two replicas one wins: bytes, size and hash are of the same
 * upload.
 */
export async function receiveFile(
  services: Services,
  id: string,
  contentType: string | null,
  source: AsyncIterable<Uint8Array>,
): Promise<StoredFile> {
  const [row] = await loadFiles(services.db, [id])
  if (!row) throw notFound('file', id)
  if (row.status !== 'PENDING') throw new AppError('CONFLICT', 'The file already has its bytes.')
  if (contentType && contentType.split(';')[0]!.trim().toLowerCase() !== row.contentType)
    throw invalidAt(['content-type'], `must be ${row.contentType}, as announced`)
  return takeBytes(services, row, source)
}

/** Functions that end the running upload of a file in this process, by the id of the file. */
const uploads = new Map<string, () => void>()

/** The bytes of the source, until another upload of the same file begins. */
async function* untilReplaced(id: string, source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let over = false
  const end = () => {
    over = true
    if (source instanceof Readable) source.destroy()
  }
  uploads.get(id)?.()
  uploads.set(id, end)
  const replaced = () => new AppError('CONFLICT', 'Another upload of this file has begun.')
  try {
    // Not destroyed here: who sends it still gets an answer.
    const chunks = source instanceof Readable ? source.iterator({ destroyOnReturn: false }) : source
    for await (const chunk of chunks) {
      if (over) throw replaced()
      yield chunk
    }
  } catch (error) {
    throw over ? replaced() : error
  } finally {
    if (uploads.get(id) === end) uploads.delete(id)
  }
}

async function takeBytes(
  services: Services,
  file: StoredFile,
  source: AsyncIterable<Uint8Array>,
): Promise<StoredFile> {
  const { id, projectId } = file
  const { maxFileBytes } = services.limits
  const quota = await bytesLeft(services.db, services, projectId)
  const draft = await services.blobs.write(untilReplaced(id, source), Math.min(maxFileBytes, quota))
  if (!draft) throw quota < maxFileBytes ? quotaExceeded(services) : tooLarge(services)
  try {
    const placed = await place(services, file, draft)
    const stored = await atomically(services.db, async (tx) => {
      // Locks the project, because two files together may exceed a quota that each of them keeps.
      await tx.execute(sql`select 1 from projects where id = ${projectId} for no key update`)
      if (draft.size > (await bytesLeft(tx, services, projectId))) throw quotaExceeded(services)
      const [ready] = await tx
        .update(files)
        .set({ ...placed.columns, status: 'READY', uploadedAt: sql`now()` })
        .where(and(eq(files.id, id), eq(files.status, 'PENDING')))
        .returning()
      if (!ready) throw new AppError('CONFLICT', 'The file already has its bytes.')
      await placed.claim(tx)
      await appendProjectEvents(
        tx,
        projectId,
        withRequester(ready.createdBy, [fileUploaded({ fileId: id, name: ready.filename })]),
      )
      return ready as StoredFile
    })
    services.pubsub.publish([{ kind: 'news', projectId, generationId: null, seq: null }])
    return stored
  } finally {
    await draft.drop()
  }
}

/** LIMITED when a file of this size exceeds the limit of a file, or the bytes that the project may still store. */
export function assertFits(services: Pick<Services, 'limits'>, size: number, left: number): void {
  if (size > services.limits.maxFileBytes) throw tooLarge(services)
  if (size > left) throw quotaExceeded(services)
}

/** How many more bytes the project may store, or announce for its bucket. */
export async function bytesLeft(
  db: Database,
  { limits }: Pick<Services, 'limits'>,
  projectId: string,
): Promise<number> {
  const held = sql<number>`(coalesce(sum(${files.size}), 0) + ${announcedBytes(projectId)})::float8`
  const [counted] = await db.select({ held }).from(files).where(eq(files.projectId, projectId))
  return limits.maxProjectFileBytes - counted!.held
}

function tooLarge({ limits }: Pick<Services, 'limits'>): AppError {
  return new AppError('LIMITED', `A file may have at most ${limits.maxFileBytes} bytes.`)
}

function quotaExceeded({ limits }: Pick<Services, 'limits'>): AppError {
  return new AppError(
    'LIMITED',
    `The files of a project may have at most ${limits.maxProjectFileBytes} bytes together.`,
  )
}
