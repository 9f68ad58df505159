/**
 * Files attached to a call. The gate judges them, approvers see them, and the tool gets them, beside the arguments.
 * Pure.
 */
import type { JsonObject } from '../../core/json.ts'
import type { Attachment } from '../files/index.ts'

/** The argument in which an http tool gets its attachments. */
export const attachmentsName = 'attachments'

/** What the gate judges and approvers see: the merged arguments, with the files by id. */
export function withAttachments(merged: JsonObject, attachments: readonly Attachment[] | null): JsonObject {
  return attached(merged, attachments, () => ({}))
}

/** What is sent: the merged arguments, with a link to each file. */
export function withLinks(
  merged: JsonObject,
  attachments: readonly Attachment[] | null,
  linkTo: (fileId: string) => string,
): JsonObject {
  return attached(merged, attachments, (fileId) => ({ url: linkTo(fileId) }))
}

function attached(
  merged: JsonObject,
  attachments: readonly Attachment[] | null,
  more: (fileId: string) => JsonObject,
): JsonObject {
  if (!attachments || attachments.length === 0) return merged
  const list = attachments.map(({ fileId, filename, contentType }) => ({
    file_id: fileId,
    filename,
    content_type: contentType,
    ...more(fileId),
  }))
  return { ...merged, [attachmentsName]: list }
}
