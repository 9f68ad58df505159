/**
 * Where a chat stands: its id names the run at which it was continued last, and each message of the user the newest run that
 * answers it. Our own messages name their runs. A caller finds only its own.
 */
import { hashJson } from '../../../core/json.ts'
import { hasAsked, type Ctx } from '../../../domain/access/index.ts'
import type { Agent } from '../../../domain/agents/index.ts'
import { getGenerations, isTerminal, type Generation } from '../../../domain/generations/index.ts'
import { findPlaces, notePlaces } from '../../../domain/threads/index.ts'
import { fingerprintOf, newestIn, newestRun, type TurnMessage } from '../segments/thread-runs.ts'
import { runOfMessage } from './chunks.ts'

/** A run that the page shows. */
export interface ShownRun {
  run: Generation
  /** How many messages there are up to the one that shows it. */
  length: number
}

export interface ChatPlace {
  /** The newest run that answers the last message, which is the user's; null for a new one. */
  asked: Generation | null
  /** Runs that the page shows before the last message, the last one first. */
  shown: ShownRun[]
}

/** The most runs before the last message that are looked at. */
const mostShown = 10

const chatHash = (agent: Agent, chatId: string) => hashJson(['chat', agent.id, chatId])
const messageHash = (agent: Agent, chatId: string, message: TurnMessage) =>
  hashJson(['chat', agent.id, chatId, fingerprintOf(message)])

/** The newest run of the thread that the chat is at; null for a chat without runs. Action `generations:List`. */
export async function newestOfChat(ctx: Ctx, agent: Agent, chatId: string): Promise<Generation | null> {
  const [place] = await findPlaces(ctx, agent.projectId, [chatHash(agent, chatId)])
  const [run] = place ? await ownRuns(ctx, agent, [place.generationId]) : []
  if (!run) return newestRun(ctx, agent, chatId)
  const [newest] = await newestIn(ctx, agent, run.threadId, 1)
  return newest ?? run
}

/** Reads where the chat stands for a page that shows these messages. */
export async function readPlace(
  ctx: Ctx,
  agent: Agent,
  chatId: string,
  messages: readonly TurnMessage[],
): Promise<ChatPlace> {
  const hashes = messages.map((message) =>
    message.role === 'user' ? messageHash(agent, chatId, message) : null,
  )
  const places = await findPlaces(
    ctx,
    agent.projectId,
    [...new Set(hashes)].filter((hash) => hash !== null),
  )
  const runAt = new Map(places.map(({ hash, generationId }) => [hash, generationId]))
  const named = messages.map(({ id }, i) => {
    const hash = hashes[i]
    return hash ? (runAt.get(hash) ?? null) : runOfMessage(id)
  })
  const before = named
    .slice(0, -1)
    .flatMap((id, i) => (id ? [{ id, length: i + 1 }] : []))
    .toReversed()
    .slice(0, mostShown)
  const last = named.at(-1) ?? null
  const runs = await ownRuns(ctx, agent, [...before.map(({ id }) => id), ...(last ? [last] : [])])
  const find = (id: string | null) => runs.find((run) => run.id === id) ?? null
  return {
    asked: find(last),
    shown: before.flatMap(({ id, length }) => {
      const run = find(id)
      return run ? [{ run, length }] : []
    }),
  }
}

/** Notes that the chat is at this run, which answers the message. */
export async function notePlace(
  ctx: Ctx,
  agent: Agent,
  chatId: string,
  message: TurnMessage,
  { id: generationId }: Generation,
): Promise<void> {
  const hashes = [chatHash(agent, chatId), messageHash(agent, chatId, message)]
  await notePlaces(ctx, agent.projectId, {
    isTold: true,
    places: hashes.map((hash) => ({ hash, generationId, after: 0 })),
  })
}

/** Whether the caller started this run of the agent. */
export function isOwn({ principal }: Ctx, agent: Agent, run: Generation): boolean {
  return run.agentId === agent.id && hasAsked(principal, run) && run.parentId === null
}

async function ownRuns(ctx: Ctx, agent: Agent, ids: readonly string[]): Promise<Generation[]> {
  const found = await getGenerations(ctx, [...new Set(ids)])
  return found.filter((run) => run !== null && isOwn(ctx, agent, run)) as Generation[]
}

/** Whether a run can be the history of another: it has ended, and has said or done something. */
export const isHistory = ({ storedStatus, stepCount }: Generation) =>
  isTerminal(storedStatus) && stepCount > 0
