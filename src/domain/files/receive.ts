/** The bytes of a file arrive: once, whole, and within what the project may hold. */
import { Readable } from 'node:stream'
import { and, eq, sql } from 'drizzle-orm'
import { AppError, invalidAt, notFound } from '../../core/errors.ts'
import { atomically, type Database } from '../../store/db/database.ts'
import { files } from '../../store/db/tables/files.ts'
import type { Services } from '../access/index.ts'
import type { StoredFile } from './file.ts'
import { blobKey, loadFiles } from './stored.ts'

/**
 * The bytes arrive by a link that was checked. CONFLICT when they are there already, and for what was still coming when
 * the same link was used again (its sender may have lost the connection and try anew): one comes at a time. LIMITED when they are too many for a file or for what the project may hold. Of two that arrive together on two replicas
 * one is taken: bytes, size and hash are of the same.
 */
export async function receiveFile(
  services: Services,
  id: string,
  contentType: string | null,
  source: AsyncIterable<Uint8Array>,
): Promise<StoredFile> {
  const [row] = await loadFiles(services.db, [id])
  if (!row) throw notFound('file', id)
  if (row.status !== 'PENDING') throw new AppError('CONFLICT', 'This file has its bytes already.')
  if (contentType && contentType.split(';')[0]!.trim().toLowerCase() !== row.contentType)
    throw invalidAt(['content-type'], `must be ${row.contentType}, as announced`)
  return takeBytes(services, row, source)
}

/** Ends what is coming to this process for a file, by its id. */
const arriving = new Map<string, () => void>()

/** What the source gives, until the same file begins to come anew. */
async function* alone(id: string, source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let over = false
  const end = () => {
    over = true
    if (source instanceof Readable) source.destroy()
  }
  arriving.get(id)?.()
  arriving.set(id, end)
  const replaced = () => new AppError('CONFLICT', 'The bytes of this file have begun to come anew.')
  try {
    for await (const chunk of source) {
      if (over) throw replaced()
      yield chunk
    }
  } catch (error) {
    throw over ? replaced() : error
  } finally {
    if (arriving.get(id) === end) arriving.delete(id)
  }
}

async function takeBytes(
  services: Services,
  { id, projectId }: StoredFile,
  source: AsyncIterable<Uint8Array>,
): Promise<StoredFile> {
  const { maxFileBytes } = services.limits
  const room = await roomFor(services.db, services, projectId)
  const draft = await services.blobs.write(alone(id, source), Math.min(maxFileBytes, room))
  if (!draft) throw room < maxFileBytes ? noRoom(services) : tooLarge(services)
  try {
    return await atomically(services.db, async (tx) => {
      const { size, sha256 } = draft
      // One after the other: two files that fit alone may not fit together.
      await tx.execute(sql`select 1 from projects where id = ${projectId} for no key update`)
      if (size > (await roomFor(tx, services, projectId))) throw noRoom(services)
      const [ready] = await tx
        .update(files)
        .set({ size, sha256, status: 'READY', uploadedAt: sql`now()` })
        .where(and(eq(files.id, id), eq(files.status, 'PENDING')))
        .returning()
      if (!ready) throw new AppError('CONFLICT', 'This file has its bytes already.')
      // Before anybody can read that it is ready. The lock may be lost by now: the key is that of these very bytes.
      await draft.keep(blobKey(id, sha256))
      return ready as StoredFile
    })
  } finally {
    await draft.drop()
  }
}

/** Bytes that the project may still bring. */
async function roomFor(db: Database, { limits }: Services, projectId: string): Promise<number> {
  const held = sql<number>`coalesce(sum(${files.size}), 0)::float8`
  const [counted] = await db.select({ held }).from(files).where(eq(files.projectId, projectId))
  return limits.maxProjectFileBytes - counted!.held
}

function tooLarge({ limits }: Services): AppError {
  return new AppError('LIMITED', `A file has at most ${limits.maxFileBytes} bytes.`)
}

function noRoom({ limits }: Services): AppError {
  return new AppError(
    'LIMITED',
    `The files of a project have at most ${limits.maxProjectFileBytes} bytes together.`,
  )
}
