/**
 * Receives the bytes of a file, by a link or inside a message: once, completely, and within the quota of the project.
 */
import type { Draft } from '../../store/blobs/blobs.ts'
import { type Database, atomically } from '../../store/db/database.ts'
import { type Services, assertMay, assertQuota, recordChange, type Ctx } from '../access/index.ts'
import { claimKey, newBucketKey, noteWrite, announcedBytes } from './bucket-keys.ts'
import {
  type StoredFile,
  allowsType,
  contentTypeShape,
  filenameShape,
  blobKey,
  loadFiles,
  noteUsed,
} from './file.ts'
import { Readable } from 'node:stream'
import { and, eq, isNull } from 'drizzle-orm'
import { AppError, invalidAt, notFound } from '../../core/errors.ts'
import { sql } from '../../store/db/sql.ts'
import { files } from '../../store/db/tables/files.ts'
import { appendProjectEvents, fileUploaded, withRequester, fileCreated } from '../events/index.ts'
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { check } from '../../core/check.ts'
import { newId } from '../../core/ids.ts'

/** Bytes that become those of a file with a transaction. */
export interface PlacedBytes {
  /** Columns of the file. */
  columns: Pick<StoredFile, 'size' | 'sha256' | 'blobKey' | 'etag'>
  /** The last step of the transaction that makes the file READY. */
  claim(tx: Database): Promise<void>
}

/**
 * Stores a draft for a file, before the transaction that makes it READY: it must not wait for a bucket. Bytes that no
 * transaction claims are removed from the bucket later.
 */
async function place(
  { db, blobs }: Pick<Services, 'db' | 'blobs'>,
  { id, projectId }: Pick<StoredFile, 'id' | 'projectId'>,
  draft: Draft,
): Promise<PlacedBytes> {
  const { size, sha256 } = draft
  if (!blobs.bucket)
    return {
      columns: { size, sha256, blobKey: null, etag: null },
      // A rename, before the commit. The lock may be lost by now, so the key contains the hash of these bytes.
      claim: async () => void (await draft.keep(blobKey(id, sha256))),
    }
  const key = newBucketKey(id)
  await noteWrite(db, { key, projectId, fileId: id })
  const etag = await draft.keep(key)
  return { columns: { size, sha256, blobKey: key, etag }, claim: (tx) => claimKey(tx, key) }
}

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

const shape = z.object({ filename: filenameShape, contentType: contentTypeShape })

/** Keeps the bytes of a file that came inside a message, without a link. */
export interface KeepFileInput {
  projectId: string
  filename: string
  contentType: string
  bytes: Uint8Array
}

/**
 * A file with these bytes. Action `files:Create`. Idempotent: the same bytes of the same caller, with the same name and
 * type, are the same file, so that a repeated message adds nothing. INVALID for a type that the installation does not accept,
 * LIMITED for bytes beyond the limit of a file or the quota of the project.
 */
export async function keepFile(ctx: Ctx, input: KeepFileInput): Promise<StoredFile> {
  const { projectId, bytes } = input
  await assertMay(ctx, 'files:Create', projectId, 'file/*')
  const { filename, contentType } = check(shape, input)
  const { maxFileBytes, fileTypes } = ctx.limits
  if (!allowsType(fileTypes, contentType))
    throw invalidAt(['input', 'contentType'], `is not an accepted type; accepted are ${fileTypes.join(', ')}`)
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const owner = { projectId, createdBy: ctx.principal.id }
  const same = and(
    ...Object.entries({ ...owner, filename, contentType, sha256, status: 'READY' }).map(([name, value]) =>
      eq(files[name as keyof typeof owner], value),
    ),
    isNull(files.agentId),
  )
  const [known] = await ctx.db.select().from(files).where(same).limit(1)
  if (known) {
    await noteUsed(ctx.db, projectId, [known.id])
    return known as StoredFile
  }
  assertFits(ctx, bytes.length, await bytesLeft(ctx.db, ctx, projectId))
  // What fits is never refused.
  const draft = (await ctx.blobs.write(chunksOf(bytes), maxFileBytes))!
  try {
    const id = newId('file')
    const placed = await place(ctx, { id, projectId }, draft)
    const stored = await atomically(ctx.db, async (tx) => {
      // Locks the project: two messages at once may have the same file, or together exceed the quota.
      await tx.execute(sql`select 1 from projects where id = ${projectId} for no key update`)
      const [other] = await tx.select().from(files).where(same).limit(1)
      if (other) return other
      assertFits(ctx, bytes.length, await bytesLeft(tx, ctx, projectId))
      await assertQuota(tx, ctx, files, projectId, 'files')
      const now = sql`now()`
      const row = { id, ...owner, filename, contentType, ...placed.columns, status: 'READY', uploadedAt: now }
      const [made] = await tx
        .insert(files)
        .values({ ...row, uploadUntil: now })
        .returning()
      await recordChange(tx, ctx, { projectId, action: 'files:Create', resource: `file/${id}` })
      const named = { fileId: id, name: filename }
      await appendProjectEvents(
        tx,
        projectId,
        withRequester(made!.createdBy, [fileCreated(named), fileUploaded(named)]),
      )
      await placed.claim(tx)
      return made!
    })
    ctx.pubsub.publish([{ kind: 'news', projectId, generationId: null, seq: null }])
    return stored as StoredFile
  } finally {
    await draft.drop()
  }
}

async function* chunksOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
