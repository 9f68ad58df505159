/** Messages of a conversation as a client gives them. */
import { z } from 'zod'
import { text } from '../../core/check.ts'
import { type FilePart, type Message, userMessage } from '../models/index.ts'

/** The text of one message. */
export const contentShape = text(500_000, 1)

export const messagesShape = z
  .array(z.object({ role: z.enum(['USER', 'ASSISTANT']), content: contentShape }))
  .min(1, 'must not be empty')
  .max(1000)

/** The message as it is stored; `files` are added to one of the user. Pure. */
export function givenMessage(
  { role, content }: { role: 'USER' | 'ASSISTANT'; content: string },
  files: FilePart[] = [],
): Message {
  if (role === 'USER') return userMessage(content, files)
  return { v: 1, role: 'assistant', parts: [{ type: 'text', text: content }] }
}
