/** Operations on files: announced with presignUpload, uploaded and downloaded by signed links, referred to by id. */
import { idOf, idShape, optional } from '../../core/shapes.ts'
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { check, whole } from '../../core/check.ts'
import { AppError, invalidAt, notFound } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import type { Page } from '../../core/page.ts'
import { appendProjectEvents, fileCreated, fileDeleted, withRequester } from '../events/index.ts'
import { atomically, nowPlus, query } from '../../store/db/database.ts'
import { isHeldFile, waitForHolds } from '../../store/db/held.ts'
import { listPage } from '../../store/db/lists.ts'
import { sql } from '../../store/db/sql.ts'
import { files } from '../../store/db/tables/files.ts'
import { BucketFaultError } from '../../store/blobs/blobs.ts'
import {
  assertAgent,
  assertMay,
  assertQuota,
  visibleRows,
  ownershipCondition,
  projectOf,
  publishNews,
  reaches,
  recordChange,
  type Bond,
  type Ctx,
  inProject,
  operation,
} from '../access/index.ts'
import { noteWrite, uploadKey, writeMs } from './bucket-keys.ts'
import { settleUpload } from './direct.ts'
import {
  allowsType,
  attachmentsShape,
  contentTypeShape,
  filenameShape,
  type Attachment,
  type AttachmentsInput,
  type StoredFile,
  File,
  blobKeysOf,
  loadFiles,
  noteUsed,
} from './file.ts'
import { linkTo } from './download.ts'
import { assertFits, bytesLeft } from './receive.ts'

const uploadSeconds = 15 * 60

/**
 * A key that is bound to an agent cannot announce files; it can attach those with its agent's `agentId`. INVALID for a type or
 * size that the installation does not accept. Nothing can refer to the file until its bytes are here.
 */
export const presignUpload = operation({
  name: 'presignUpload',
  does: 'Creates a file and returns a presigned URL that accepts its bytes with PUT, once, within 15 minutes.',
  permission: 'files:Create',
  input: z
    .object({
      ...inProject,
      filename: filenameShape.describe('The file name without a path, 1 to 255 characters.'),
      contentType: contentTypeShape.describe('The media type; the upload must send the same content-type.'),
      agentId: optional(
        idShape('The id of an agent whose bound API keys may attach the file; it begins with agt_.'),
        'no bound key may',
      ),
      size: whole(0, Number.MAX_SAFE_INTEGER)
        .nullish()
        .describe(
          'The size in bytes, if known: a file that is too large is then refused at once. Required when files are in a ' +
            'bucket: the upload must have exactly this size.',
        ),
    })
    .describe('The file to create.'),
  payload: z
    .object({
      file: File.describe('The file, with status PENDING.'),
      uploadUrl: z.string().describe('The presigned URL: PUT the bytes to it, with the same content-type.'),
      expiresAt: z.date().describe('When the presigned URL expires.'),
    })
    .describe('The file and the URL to upload its bytes to.'),
  refuses: ['NOT_FOUND', 'LIMITED'],
  async run(ctx, given) {
    const projectId = await projectOf(ctx, given.projectId)
    await assertMay(ctx, 'files:Create', projectId, 'file/*')
    const { filename, contentType, size, agentId } = given
    const { maxFileBytes, fileTypes } = ctx.limits
    if (!allowsType(fileTypes, contentType))
      throw invalidAt(
        ['input', 'contentType'],
        `is not an accepted type; accepted are ${fileTypes.join(', ')}`,
      )
    if (size && size > maxFileBytes)
      throw invalidAt(['input', 'size'], `must be at most ${maxFileBytes} bytes`)
    if (agentId) await assertAgent(ctx, projectId, agentId)
    const { bucket } = ctx.blobs
    if (bucket) {
      if (size === undefined || size === null)
        throw invalidAt(['input', 'size'], 'is required, in bytes: the link takes exactly so many')
      assertFits(ctx, size, await bytesLeft(ctx.db, ctx, projectId))
    }
    const id = newId('file')
    const file = await atomically(ctx.db, async (tx) => {
      await assertQuota(tx, ctx, files, projectId, 'files')
      const createdBy = ctx.principal.id
      const uploadUntil = nowPlus(uploadSeconds * 1000)
      const [row] = await tx
        .insert(files)
        .values({ id, projectId, filename, contentType, agentId, createdBy, uploadUntil })
        .returning()
      if (bucket)
        await noteWrite(
          tx,
          { key: uploadKey(id), projectId, fileId: id, size: size! },
          uploadSeconds * 1000 + writeMs,
        )
      await recordChange(tx, ctx, { projectId, action: 'files:Create', resource: `file/${id}` })
      await appendProjectEvents(
        tx,
        projectId,
        withRequester(createdBy, [fileCreated({ fileId: id, name: filename })]),
      )
      return row as StoredFile
    })
    publishNews(ctx, projectId)
    const uploadUrl = bucket
      ? await bucket.uploadLink(uploadKey(id), { contentType, size: size!, seconds: uploadSeconds })
      : linkTo(ctx, 'PUT', id, uploadSeconds)
    return { file, uploadUrl, expiresAt: file.uploadUntil }
  },
})

/**
 * The files that a call or message of the caller refers to. Action `files:Get` on each. INVALID, with its path under
 * `root`, for a file that does not exist for the caller, belongs to another project or has no bytes yet.
 */
export async function resolveAttachments(
  ctx: Ctx,
  projectId: string,
  given: AttachmentsInput | null | undefined,
  root: readonly string[],
): Promise<Attachment[]> {
  const wanted = check(attachmentsShape, given ?? [], root)
  const ids = wanted.map((one) => one.fileId)
  await noteUsed(ctx.db, projectId, ids)
  const rows = (await loadFiles(ctx.db, ids)).filter((file) => file.projectId === projectId)
  const found = await visibleRows(ctx, ids, rows, 'files:Get', (file) => `file/${file.id}`, bondOf)
  return Promise.all(
    wanted.map(async ({ fileId, filename, contentType }, i) => {
      const file = found[i] ? await settleUpload(ctx, found[i]) : null
      if (file?.status !== 'READY')
        throw invalidAt([...root, String(i), 'fileId'], 'names no uploaded file of this project')
      return { fileId, filename: filename ?? file.filename, contentType: contentType ?? file.contentType }
    }),
  )
}

/** The most uploads that one request checks. */
const mostChecked = 20

/**
 * Files by id, null for what does not exist for the caller. Action `files:Get` on each. An upload to the bucket is checked:
 * the first that asks for the file makes it READY.
 */
export async function getFiles(ctx: Ctx, ids: readonly string[]): Promise<(StoredFile | null)[]> {
  const rows = await loadFiles(ctx.db, ids)
  const seen = await visibleRows(ctx, ids, rows, 'files:Get', (file) => `file/${file.id}`, bondOf)
  const pending = new Set(seen.filter((file) => file?.status === 'PENDING').slice(0, mostChecked))
  if (pending.size === 0) return seen
  return Promise.all(seen.map((file) => (file && pending.has(file) ? recheck(ctx, file) : file)))
}

/** How long a query waits for the bucket, in milliseconds. */
const mostWaitMs = 5000

/** The file as far as can be told: while the bucket does not answer, and beyond the quota, it stays PENDING. */
function recheck(ctx: Ctx, file: StoredFile): Promise<StoredFile> {
  const settled = settleUpload(ctx, file).catch((error: unknown) => {
    if (error instanceof BucketFaultError || error instanceof AppError) return file
    throw error
  })
  return Promise.race([settled, pause(mostWaitMs, file, { ref: false })])
}

/** Files of a project, newest first. Action `files:List`. */
export async function listFiles(
  ctx: Ctx,
  input: { projectId?: string | null | undefined; page: Page },
): Promise<StoredFile[]> {
  const projectId = await projectOf(ctx, input.projectId)
  await assertMay(ctx, 'files:List', projectId, 'file/*', { reached: true })
  const where = ownershipCondition(ctx, 'file/*', files.createdBy)
  return (await listPage(ctx.db, files, projectId, input.page, where)) as StoredFile[]
}

export const deleteFile = operation({
  name: 'deleteFile',
  does:
    'Deletes a file and its bytes; presigned URLs end, and models that refer to it learn that it was deleted. ConflictError ' +
    'while a legal hold keeps it.',
  permission: 'files:Delete',
  input: z.object({ fileId: idOf('file') }).describe('The file to delete.'),
  payload: z
    .object({ file: File.describe('The deleted file.') })
    .describe('The file as it was before the deletion.'),
  refuses: ['NOT_FOUND', 'CONFLICT'],
  async run(ctx, { fileId }) {
    const [file] = await loadFiles(ctx.db, [fileId])
    if (!file || !reaches(ctx, file.projectId)) throw notFound('file', fileId)
    const { projectId } = file
    await assertMay(ctx, 'files:Delete', projectId, `file/${fileId}`, { by: file.createdBy })
    await atomically(ctx.db, async (tx) => {
      await waitForHolds(tx, projectId)
      const gone = await query(
        tx,
        sql`delete from files as f where f.id = ${fileId} and not ${isHeldFile} returning f.id`,
      )
      if (gone.length === 0 && (await loadFiles(tx, [fileId])).length > 0)
        throw new AppError(
          'CONFLICT',
          'A legal hold keeps this file. It can be deleted once the hold is lifted.',
        )
      await recordChange(tx, ctx, { projectId, action: 'files:Delete', resource: `file/${fileId}` })
      // Of two requests at once, one has deleted it.
      if (gone.length === 0) return
      for (const key of blobKeysOf(file)) await noteWrite(tx, { key, projectId, fileId }, 0)
      await appendProjectEvents(
        tx,
        projectId,
        withRequester(file.createdBy, [fileDeleted({ fileId, name: file.filename })]),
      )
    })
    publishNews(ctx, projectId)
    // They were noted, and what could not be removed now is removed later.
    for (const key of blobKeysOf(file))
      await ctx.blobs
        .remove(key)
        .catch((error: unknown) =>
          ctx.log.warn({ err: error, fileId }, 'the bytes of a file will be deleted later'),
        )
    return { file }
  },
})

function bondOf({ agentId, createdBy: by }: StoredFile): Bond {
  return { agentId, by }
}
