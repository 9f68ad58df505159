/** What a run was started with and what it answered, for people: whole, in a line each, and for a search. */
import { textOfWords } from '../../store/db/lists.ts'
import { wordsOf } from '../../core/check.ts'
import type { Message } from '../models/index.ts'
import { assertMay, type Ctx } from '../access/index.ts'
import { settingsOf, type AgentSettings } from '../agents/index.ts'
import type { Generation } from './generation.ts'
import { type InputMessage, shownMessage } from '../threads/index.ts'

/** The most characters of a line. */
const mostOfLine = 200
/** Where a line is looked for: what begins with more blank text than this has none. */
const mostSearched = 2000

/** The first line with text of a text; null without one. */
export function lineOf(text: string | null): string | null {
  const line = text
    ?.slice(0, mostSearched)
    .split(/\r\n?|\n/)
    .find((one) => one.trim() !== '')
  return line === undefined ? null : line.trim().slice(0, mostOfLine).toWellFormed()
}

/** The first line of the first message of a user that has text; null without one. */
export function inputLineOf(messages: readonly Message[]): string | null {
  for (const message of messages) {
    if (message.role !== 'user') continue
    for (const part of message.parts) {
      const line = part.type === 'text' ? lineOf(part.text) : null
      if (line !== null) return line
    }
  }
  return null
}

/** The words by which a run is found, as the text that `vectorOf` takes. */
export function wordsOfRun(agentName: string, messages: readonly Message[]): string {
  return textOfWords(wordsOf(`${agentName} ${inputLineOf(messages) ?? ''}`))
}

/** The input messages in their order. Pure. */
export function inputOf({ input }: Pick<Generation, 'input'>): InputMessage[] {
  return input.map(shownMessage)
}

/** The settings that a generation runs with. Action `agents:Get` on its agent, also when that was deleted since. */
export async function settingsOfRun(ctx: Ctx, generation: Generation): Promise<AgentSettings> {
  const { projectId, agentId, settings } = generation
  await assertMay(ctx, 'agents:Get', projectId, `agent/${agentId}`, { agentId })
  return { ...settings, ...settingsOf(settings) }
}
