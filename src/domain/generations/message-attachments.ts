/** Files of a message that a client gives. */
import { resolveAttachments, type AttachmentsInput } from '../files/index.ts'
import type { Ctx } from '../access/index.ts'
import type { FilePart } from '../models/index.ts'

/** The files as the model will get them; their bytes are read when the model is called. Errors of `resolveAttachments`. */
export async function filesOf(
  ctx: Ctx,
  projectId: string,
  given: AttachmentsInput | null | undefined,
  root: readonly string[],
): Promise<FilePart[]> {
  const attachments = await resolveAttachments(ctx, projectId, given, root)
  return attachments.map(({ fileId, filename, contentType }) => ({
    type: 'file',
    mediaType: contentType,
    data: '',
    fileId,
    filename,
  }))
}
