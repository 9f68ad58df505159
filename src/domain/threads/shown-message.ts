/** A message as people read it. Pure. */
import type { Message } from '../models/index.ts'

/** A message with its files by id or name and without their bytes. */
export interface InputMessage {
  role: 'USER' | 'ASSISTANT'
  content: string
  attachments: { fileId: string | null; filename: string | null; mediaType: string }[]
}

/** A message with its text, and its files without their bytes. */
export function shownMessage({ role, parts }: Message): InputMessage {
  const texts: string[] = []
  const attachments: InputMessage['attachments'] = []
  for (const part of parts) {
    if (part.type === 'text') texts.push(part.text)
    else if (part.type === 'file')
      attachments.push({
        fileId: part.fileId ?? null,
        filename: part.filename ?? null,
        mediaType: part.mediaType,
      })
  }
  return { role: role === 'assistant' ? 'ASSISTANT' : 'USER', content: texts.join('\n'), attachments }
}
