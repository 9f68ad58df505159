/** Starts a generation: one row, which is state, queue entry and timer, with its first event. */
import { z } from 'zod'
import { check, text } from '../../core/check.ts'
import { AppError, invalidAt } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import { atomically, type Database } from '../../store/db/database.ts'
import { isStorageError } from '../../store/db/storage-error.ts'
import { assertMay, assertUse, recallRepeat, rememberRequest, type Ctx } from '../access/index.ts'
import type { AttachmentsInput } from '../files/index.ts'
import { assertCallback, callbackShape, takeCallbackPlace } from '../webhooks/index.ts'
import {
  checkTools,
  readAgent,
  recallAgent,
  withOverrides,
  type Agent,
  type AgentSettings,
  type SettingsOverrides,
} from '../agents/index.ts'
import { clientToolsOf, clientToolsShape } from './client-tools.ts'
import type { Generation } from './generation.ts'
import { contentShape, givenMessage, messagesShape } from './given-messages.ts'
import { insertGeneration, type NewGeneration } from './insert.ts'
import { filesOf } from './message-attachments.ts'
import { userMessage, type FilePart, type Message } from './model/message.ts'
import { loadGenerations } from './read.ts'
import { assertThread, externalIdShape, externalThreadId } from './threads.ts'
import { OutdatedError } from './transaction/commit.ts'

type Given = string | null | undefined

/** Whether the thread may give the input: messages may wait in it. */
const continuesThread = (input: { threadId?: Given; externalThreadId?: Given }) =>
  Boolean(input.threadId || input.externalThreadId)

const shape = z
  .object({
    agentId: z.string(),
    prompt: contentShape.nullish(),
    messages: messagesShape.nullish(),
    attachments: z.unknown().optional(),
    clientTools: clientToolsShape.nullish(),
    callback: callbackShape.nullish(),
    threadId: z.string().nullish(),
    externalThreadId: externalIdShape.nullish(),
    idempotencyKey: text(200, 1).nullish(),
  })
  .refine(
    (input) =>
      continuesThread(input)
        ? !input.prompt || !input.messages
        : Boolean(input.prompt) !== Boolean(input.messages),
    'give exactly one of prompt and messages',
  )
  .refine(
    (input) => (input.messages?.at(-1)?.role ?? 'USER') === 'USER',
    'the last message must be the user’s',
  )
  .refine(
    (input) => !input.threadId || !input.externalThreadId,
    'give at most one of threadId and externalThreadId',
  )

export type StartGenerationInput = Omit<z.input<typeof shape>, 'attachments'> & {
  /** Files for the last message. */
  attachments?: AttachmentsInput | null | undefined
} & SettingsOverrides

/**
 * Starts a generation of an agent and returns at once; a worker of any replica runs it. Action `generations:Start` on
 * the agent, and `agents:Update` for another model than the agent's own. Overrides can only restrict the agent's
 * settings (see `withOverrides`). The settings are frozen here, so later changes of the agent do not affect this
 * generation; so are the rights of a person with a token. With `threadId` it continues that thread, with
 * `externalThreadId` the thread of the agent that a client named so, which is created by its first use. Messages that wait
 * in the thread come first: `prompt` and `messages` may both be left out then. With `callback` its events are sent to a URL
 * (action `webhooks:Callback`). `clientTools` are tools of this run only, run by the client (see `clientToolsOf`). With
 * `idempotencyKey` a repeat returns the first generation; `idempotency` names the operation under which the key is stored,
 * so that operations of the same API can share it.
 */
export async function startGeneration(
  ctx: Ctx,
  input: StartGenerationInput,
  idempotency?: { operation: string; request: unknown },
): Promise<Generation> {
  const { idempotencyKey, ...rest } = input
  const key = idempotencyKey
    ? {
        key: idempotencyKey,
        operation: idempotency?.operation ?? 'generations:Start',
        request: idempotency?.request ?? rest,
      }
    : null
  const earlier =
    key && continuesThread(input) && !input.prompt && !input.messages
      ? await startedBy(ctx, input, key)
      : null
  if (earlier) return earlier
  let row = await recallStart(ctx, input)
  await assertUse(ctx, 'AGENT', row.agent.projectId, row.agent.id)
  for (let attempt = 1; ; attempt++) {
    try {
      return await insertAndRun(ctx, row, key)
    } catch (error) {
      if (!(error instanceof OutdatedError)) throw error
      if (attempt === mostAttempts) throw new AppError('CONFLICT', 'The thread keeps changing. Try again.')
      row = await prepareStart(ctx, input)
    }
  }
}

/** Agents rarely change between two statements, but messages are added to a thread at any time. */
const mostAttempts = 5

interface StartKey {
  key: string
  operation: string
  request: unknown
}

/** The generation of a repeat: the messages that it took from its thread do not wait any more. */
async function startedBy(
  ctx: Ctx,
  { agentId }: StartGenerationInput,
  key: StartKey,
): Promise<Generation | null> {
  const { projectId } = await readAgent(ctx, agentId)
  await assertMay(ctx, 'generations:Start', projectId, `agent/${agentId}`, { agentId })
  const known = await recallRepeat(ctx.db, { ...key, projectId, principalId: ctx.principal.id })
  return known ? (await loadGenerations(ctx.db, [known]))[0]! : null
}

/** Inserts the generation. A worker of this process that has a free slot gets it at once, else the next one claims it. */
async function insertAndRun(ctx: Ctx, row: NewGeneration, idempotency: StartKey | null): Promise<Generation> {
  const { projectId, id: agentId } = row.agent
  const slot = ctx.slots.take('generations', projectId)
  const insert = async (db: Database) => insertGeneration(db, ctx, row, slot !== null)
  try {
    const made =
      idempotency || row.callback
        ? await atomically(ctx.db, async (tx) => {
            const principalId = ctx.principal.id
            const earlier =
              idempotency && (await rememberRequest(tx, { ...idempotency, projectId, principalId }, row.id))
            if (earlier)
              return { generation: (await loadGenerations(tx, [earlier]))[0]!, held: null, isRepeat: true }
            if (row.callback) await takeCallbackPlace(tx, ctx, projectId)
            return insert(tx)
          })
        : await insert(ctx.db)
    const { generation, held } = made
    if ('isRepeat' in made) await ctx.rates.giveBackUse(projectId, 'AGENT', agentId)
    ctx.pubsub.publish([
      { kind: 'news', generationId: generation.id, projectId, seq: held?.lastSeq ?? 1 },
      ...(held ? [] : [{ kind: 'work', table: 'generations' } as const]),
    ])
    if (held) slot!.run(held)
    else slot?.free()
    return generation
  } catch (error) {
    if (isStorageError(error)) slot?.giveBack({ id: row.id, epoch: 1 })
    else slot?.free()
    throw error
  }
}

/**
 * The same as `prepareStart` with an agent that this process remembers. Files are resolved once only, and an agent that
 * was changed may allow what the remembered one forbids: both need the agent as it is now.
 */
async function recallStart(ctx: Ctx, input: StartGenerationInput): Promise<NewGeneration> {
  const given = check(shape, input)
  if (input.attachments) return prepareStart(ctx, input)
  const { agent, isRemembered } = await recallAgent(ctx, given.agentId)
  try {
    return { ...(await prepareFor(ctx, agent, input, given)), isRemembered }
  } catch (error) {
    if (!isRemembered || !(error instanceof AppError) || error.code === 'FORBIDDEN') throw error
    return prepareStart(ctx, input)
  }
}

/** Checks everything that a new generation needs: input, permission, overrides, thread and files. Writes nothing. */
export async function prepareStart(ctx: Ctx, input: StartGenerationInput): Promise<NewGeneration> {
  const given = check(shape, input)
  return prepareFor(ctx, await readAgent(ctx, given.agentId), input, given)
}

async function prepareFor(
  ctx: Ctx,
  agent: Agent,
  input: StartGenerationInput,
  given: z.output<typeof shape>,
): Promise<NewGeneration> {
  await assertMay(ctx, 'generations:Start', agent.projectId, `agent/${agent.id}`, { agentId: agent.id })
  // Another model may cost more and sends data to another company, so it needs the right to change the agent.
  if (input.model && input.model !== agent.model)
    await assertMay(ctx, 'agents:Update', agent.projectId, `agent/${agent.id}`)
  const clientTools = clientToolsOf(given.clientTools)
  const settings = { ...withOverrides(settingsOf(agent), input), ...(clientTools ? { clientTools } : {}) }
  const { stopConditions, toolChoice } = agent
  if (clientTools || settings.stopConditions !== stopConditions || settings.toolChoice !== toolChoice)
    await checkTools(ctx, agent.projectId, settings)
  await assertCallback(ctx, agent.projectId, given.callback, { agentId: agent.id })
  const { externalThreadId: externalId } = given
  const threadId = externalId ? externalThreadId(agent.id, externalId) : (given.threadId ?? null)
  const thread = threadId === null ? null : await assertThread(ctx, agent, threadId, Boolean(externalId))
  const files = await filesOf(ctx, agent.projectId, input.attachments, ['input', 'attachments'])
  return {
    id: thread?.waiting?.generationId ?? newId('generation'),
    agent,
    settings,
    messages: inputOf(thread?.waiting?.messages ?? [], given, files),
    // Only what has to be proved when the generation is inserted.
    takes: thread && (thread.waiting || thread.agentId === null) ? thread : null,
    threadId,
    externalId: externalId ?? null,
    callback: given.callback,
    isRemembered: false,
  }
}

function settingsOf(agent: Agent): AgentSettings {
  const { id: _i, projectId: _p, name: _n, version: _v, createdAt: _c, updatedAt: _u, ...settings } = agent
  return settings
}

/** Messages that wait in the thread come before those that are given. INVALID when the user has not the last word. */
function inputOf(waiting: Message[], given: z.output<typeof shape>, files: FilePart[]): Message[] {
  const messages = [...waiting, ...givenMessages(given, files)]
  const last = messages.at(-1)
  if (!last)
    throw invalidAt(['input'], 'give exactly one of prompt and messages: no message waits in the thread')
  if (last.role !== 'user') throw invalidAt(['input', 'messages'], 'the last message must be the user’s')
  if (files.length > 0 && !given.prompt && !given.messages)
    throw invalidAt(['input', 'attachments'], 'belong to a prompt or to messages')
  return messages
}

function givenMessages(given: z.output<typeof shape>, files: FilePart[]): Message[] {
  if (given.prompt) return [userMessage(given.prompt, files)]
  const { messages = [] } = given
  return (messages ?? []).map((message, i, all) => givenMessage(message, i === all.length - 1 ? files : []))
}
