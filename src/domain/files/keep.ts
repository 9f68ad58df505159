/** Keeps the bytes of a file that came inside a message, without a link. */
import { createHash } from 'node:crypto'
import { and, eq, isNull } from 'drizzle-orm'
import { z } from 'zod'
import { check } from '../../core/check.ts'
import { invalidAt } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import { atomically } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import { files } from '../../store/db/tables/files.ts'
import { assertMay, assertQuota, recordChange, type Ctx } from '../access/index.ts'
import { appendProjectEvents, fileCreated, fileUploaded, withRequester } from '../events/index.ts'
import { allowsType, contentTypeShape, filenameShape, type StoredFile } from './file.ts'
import { assertFits, bytesLeft } from './receive.ts'
import { place } from './place.ts'
import { noteUsed } from './stored.ts'

const shape = z.object({ filename: filenameShape, contentType: contentTypeShape })

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
