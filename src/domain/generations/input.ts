/** What a generation was started with, for people. */
import { assertMay, type Ctx } from '../access/index.ts'
import type { AgentSettings } from '../agents/index.ts'
import type { Generation } from './generation.ts'
import type { Message } from './model/message.ts'

/** A message of the input, with its files by id or name and without their bytes. */
export interface InputMessage {
  role: 'USER' | 'ASSISTANT'
  content: string
  attachments: { fileId: string | null; filename: string | null; mediaType: string }[]
}

/** The input messages in their order. Pure. */
export function inputOf({ input }: Pick<Generation, 'input'>): InputMessage[] {
  return input.map(shownMessage)
}

/** A message with its text, and its files without their bytes. Pure. */
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

/** The settings that a generation runs with. Action `agents:Get` on its agent, also when that was deleted since. */
export async function settingsOfRun(ctx: Ctx, generation: Generation): Promise<AgentSettings> {
  const { projectId, agentId, settings } = generation
  await assertMay(ctx, 'agents:Get', projectId, `agent/${agentId}`, { agentId })
  return settings
}
