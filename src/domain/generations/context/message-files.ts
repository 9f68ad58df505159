/** The bytes of uploaded files in a conversation: read when a model is asked, never kept in a row. */
import type { Services } from '../../access/index.ts'
import { openFile } from '../../files/index.ts'
import type { FilePart, Message, TextPart } from '../model/message.ts'

/** Files beyond this, in bytes together, are named to the model but not shown. The newest come first. */
const mostBytes = 20 * 1024 * 1024

/** The messages with the bytes of their files; one that is gone or too large becomes a line that says so. */
export async function withFiles(
  services: Pick<Services, 'db' | 'blobs'>,
  messages: Message[],
): Promise<Message[]> {
  const room = { bytes: mostBytes }
  const filled: Message[] = []
  for (const message of messages.toReversed()) {
    const hasFiles =
      message.role === 'user' && message.parts.some((part) => part.type === 'file' && part.fileId)
    filled.push(hasFiles ? { ...message, parts: await fill(services, message.parts, room) } : message)
  }
  return filled.toReversed()
}

async function fill(
  services: Pick<Services, 'db' | 'blobs'>,
  parts: (TextPart | FilePart)[],
  room: { bytes: number },
): Promise<(TextPart | FilePart)[]> {
  const filled: (TextPart | FilePart)[] = []
  for (const part of parts)
    filled.push(part.type === 'file' && part.fileId ? await read(services, part, part.fileId, room) : part)
  return filled
}

async function read(
  services: Pick<Services, 'db' | 'blobs'>,
  part: FilePart,
  fileId: string,
  room: { bytes: number },
): Promise<TextPart | FilePart> {
  const found = await openFile(services, fileId)
  if (!found) return { type: 'text', text: `[file ${part.filename ?? fileId}: no longer there]` }
  if (found.size > room.bytes) {
    found.stream.destroy()
    return {
      type: 'text',
      text: `[file ${part.filename ?? fileId}: ${found.size} bytes, too large to be shown]`,
    }
  }
  room.bytes -= found.size
  const chunks: Buffer[] = []
  for await (const chunk of found.stream) chunks.push(chunk as Buffer)
  return { ...part, data: Buffer.concat(chunks).toString('base64') }
}
