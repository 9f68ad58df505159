/** Messages of a conversation as a client gives them. */
import { z } from 'zod'
import { text } from '../../core/check.ts'
import { choice, part } from '../../core/shapes.ts'
import { type FilePart, type Message, userMessage } from '../models/index.ts'

/** The text of one message. */
export const contentShape = text(500_000, 1)

export const messageRole = choice('MessageRole', 'The author of a message.', {
  USER: 'The user wrote the message.',
  ASSISTANT: 'The model wrote the message in an earlier turn.',
})

export const messagesShape = z
  .array(
    part('MessageInput', 'One message of a conversation.', {
      role: messageRole.describe('The author of the message.'),
      content: contentShape.describe('The text of the message.'),
    }),
  )
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
