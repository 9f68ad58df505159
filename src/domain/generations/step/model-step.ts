/** One model step: loads model, tools, history and the bytes of its files, requests a response and commits it. */
import type { Services } from '../../access/index.ts'
import { openFile } from '../../files/index.ts'
import { type FilePart, type Message, type TextPart, ModelError } from '../../models/index.ts'
import { BucketFaultError } from '../../../store/blobs/blobs.ts'
import { nowPlus } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import { loadAgentCallables, loadCallables, loadToolsAt, type Callable } from '../../tools/index.ts'
import { clientCallables } from '../given-by-client.ts'
import { commitAnswer } from './commit-answer.ts'
import { prepareRequest } from './request.ts'
import { storeAnswer } from './store-answer.ts'
import { unlessCancelled } from '../transaction/commit.ts'
import { failure } from '../transaction/terminal.ts'
import { loadEarlier, loadNewSteps, messagesOf } from '../context/history.ts'
import type { StepPlan } from '../decide.ts'
import { withRetries } from './with-retries.ts'
import { commitTurn, type Turn, type TurnOutcome } from '../transaction/turn.ts'

/** Bytes of all files together that are sent to a model, newest files first; the others are only named. */
const mostBytes = 20 * 1024 * 1024

/** The messages with the bytes of their files. A file that is deleted or too large becomes a line that says so. */
async function withFiles(services: Pick<Services, 'db' | 'blobs'>, messages: Message[]): Promise<Message[]> {
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

/**
 * Makes the planned step. Throws AbortError when the signal fires and LeaseLostError when another worker holds the
 * row.
 */
export async function modelStep(turn: Turn, plan: StepPlan): Promise<TurnOutcome> {
  const { services, models, generation } = turn
  try {
    const port = await models.open(generation.projectId, generation.settings.model)
    const sources = {
      settings: generation.settings,
      plan,
      port,
      active: await activeTools(turn, plan),
      messages: await history(turn),
    }
    const made = await withRetries(turn, plan, port, (size) => prepareRequest({ ...sources, ...size }))
    if (made === 'requeued') return 'parked'
    return await storeAnswer(turn, plan, port, made, () => commitAnswer(turn, plan, port, made))
  } catch (error) {
    if (error instanceof BucketFaultError) return parkWithoutFiles(turn, error)
    if (!(error instanceof ModelError)) throw error
    services.log.warn(
      { generationId: generation.id, code: error.code, err: error.cause },
      'a generation failed',
    )
    await commitTurn(turn, failure(error.code, error.message))
    return 'terminal'
  }
}

/** How long a run waits until it asks for its files again, in milliseconds. */
const withoutFilesMs = 5000

/** Releases the row of a run whose files cannot be read now: they are not gone, and nothing was sent. */
async function parkWithoutFiles(turn: Turn, error: BucketFaultError): Promise<'parked'> {
  const { services, generation } = turn
  services.log.warn(
    { generationId: generation.id, err: error },
    'the files of a run cannot be read from the bucket; it waits for them',
  )
  await commitTurn(turn, {
    set: [sql`status = 'QUEUED'`],
    wakeAt: unlessCancelled(nowPlus(withoutFilesMs)),
    release: true,
  })
  return 'parked'
}

async function history(turn: Turn) {
  const { services, generation, steps } = turn
  await loadNewSteps(services.db, generation, steps)
  const messages = [...(await loadEarlier(services.db, generation)), ...generation.input]
  return withFiles(services, [...messages, ...messagesOf(steps, turn.calls)])
}

/**
 * The current tools and agents of this step by runtime name, and the client tools of the run; of two with the same name
 * the first is used.
 */
async function activeTools(
  { services, generation, toolVersions }: Turn,
  plan: StepPlan,
): Promise<Map<string, Callable>> {
  const { toolIds, agentIds = [] } = generation.settings
  const isActive = (id: string) => plan.activeToolIds?.includes(id) ?? true
  const wanted = toolIds.filter(isActive)
  const loaded = await loadToolsAt(services.db, wanted, toolVersions)
  const inOrder = loaded.filter((tool) => tool.projectId === generation.projectId)
  const active = new Map<string, Callable>()
  const all = [
    ...(await loadCallables(services, inOrder)),
    ...(await loadAgentCallables(services.db, generation.projectId, agentIds.filter(isActive))),
    ...clientCallables(generation),
  ]
  for (const callable of all)
    if (!active.has(callable.runtimeName)) active.set(callable.runtimeName, callable)
  return active
}
