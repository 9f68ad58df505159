/** Where the conversation of a request stands: the places in it that the caller was told, and their runs. */
import type { Ctx } from '../../../domain/access/index.ts'
import type { Agent } from '../../../domain/agents/index.ts'
import { getGenerations, isTerminal, type Generation } from '../../../domain/generations/index.ts'
import { findPlaces, notePlaces, type ConversationPlace } from '../../../domain/threads/index.ts'
import type { StartedSegment } from '../segments/answers.ts'
import type { GivenRequest } from './input.ts'
import { nextHash, prefixHashes, type GivenMessage } from './messages.ts'

/** A place with its run. */
export interface KnownPlace extends ConversationPlace {
  run: Generation
  /** How many messages of the conversation are before what follows. */
  length: number
}

export interface Conversation {
  agent: Agent
  messages: readonly GivenMessage[]
  /** The hash of all messages. */
  hash: string
  /** The place after all messages; null for one that is not known. */
  whole: KnownPlace | null
  /**
   * The newest place before the last messages from which the conversation can go on: after an answer, at a run
   * that was left at a gate, or where one failed. Null for a conversation that begins here. `isEdited`: the client has messages of the assistant after it that are not ours.
   */
  base: (KnownPlace & { isEdited: boolean }) | null
  /** The messages of the user that the run of a place has not got. */
  newFor(place: KnownPlace): GivenMessage[]
}

/** The most places that are tried: the runs of those in front of an edit may be open, or removed. */
const mostTried = 10

/** Reads where the conversation stands. Only places of this caller count. */
export async function readConversation(
  ctx: Ctx,
  agent: Agent,
  { user, messages }: Pick<GivenRequest, 'user' | 'messages'>,
): Promise<Conversation> {
  const hashes = prefixHashes(agent, user, messages)
  const found = await findPlaces(ctx, agent.projectId, hashes)
  const lengths = new Map(hashes.map((hash, i) => [hash, i + 1]))
  const places = found
    .map((place) => ({ ...place, length: lengths.get(place.hash)! }))
    .toSorted((a, b) => b.length - a.length)
  const withRun = async (place: (typeof places)[number]): Promise<KnownPlace | null> => {
    const [run] = await getGenerations(ctx, [place.generationId])
    return run ? { ...place, run } : null
  }
  let base: Conversation['base'] = null
  const before = places.filter(({ length }) => length < messages.length).slice(0, mostTried)
  for (const place of before) {
    const known = await withRun(place)
    const isEdited = messages.slice(place.length).some(({ role }) => role === 'assistant')
    if (!known || !isBase(known, messages, isEdited)) continue
    base = { ...known, isEdited }
    break
  }
  const [last] = places
  return {
    agent,
    messages,
    hash: hashes.at(-1)!,
    whole: last?.length === messages.length ? await withRun(last) : null,
    base,
    newFor(place) {
      const first = places.findLast(({ generationId }) => generationId === place.generationId)!
      return messages.slice(first.length).filter(({ role }) => role === 'user')
    },
  }
}

function isBase(
  { run, length, toldMs }: KnownPlace,
  messages: readonly GivenMessage[],
  isEdited: boolean,
): boolean {
  const isOver = isTerminal(run.storedStatus)
  if (isEdited && !isOver) return false
  if (messages[length - 1]!.role === 'assistant') return true
  // Its answer is owed: the client left it at a gate.
  if (toldMs === null && !isEdited) return true
  // One that failed at once says nothing, unless it went on where another one had failed.
  return isOver && run.storedStatus !== 'COMPLETED' && (run.stepCount > 0 || run.input.length === 0)
}

/** What the caller is told: the run and where it began, the answer, and the number of the last event that it tells. */
export interface SentAnswer extends StartedSegment {
  /** Null when the run failed: the client has no message then. */
  answer: GivenMessage | null
  after: number
  /** Whether this is how the run went on, and not only that it waits. */
  isTold: boolean
}

/** Notes that the caller has this answer: its next request goes on here. */
export function noteAnswer(ctx: Ctx, { agent, hash }: Conversation, told: SentAnswer): Promise<void> {
  const { generationId, after: begun } = told.segment
  const asked = { hash, generationId, after: begun }
  const answered = told.answer && { hash: nextHash(hash, told.answer), generationId, after: told.after }
  return notePlaces(ctx, agent.projectId, {
    isTold: told.isTold,
    places: answered ? [asked, answered] : [asked],
  })
}
