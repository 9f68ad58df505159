/**
 * Loads the bytes of uploaded files into a conversation when a model is called. They are never stored in a row of it.
 */
import type { Services } from '../../access/index.ts'
import { openFile } from '../../files/index.ts'
import type { FilePart, Message, TextPart } from '../../models/index.ts'

/** Bytes of all files together that are sent to a model, newest files first; the others are only named. */
const mostBytes = 20 * 1024 * 1024

/** The messages with the bytes of their files. A file that is deleted or too large becomes a line that says so. */
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
  if (!found) return { type: 'text', text: `[file ${part.filename ?? fileId}: no longer available]` }
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
