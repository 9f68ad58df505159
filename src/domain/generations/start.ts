/** Starts a generation: one row, which is state, queue entry and timer, with its first event. */
import { fieldShapes } from '../../core/field-list.ts'
import { idOf, idShape, optional, overrideShapes } from '../../core/shapes.ts'
import { z } from 'zod'
import { check, text } from '../../core/check.ts'
import { newId } from '../../core/ids.ts'
import { atomically, type Database } from '../../store/db/database.ts'
import { withProof, type Basis } from '../basis/index.ts'
import { isOutage } from '../../store/db/storage-error.ts'
import {
  assertMay,
  assertStillValid,
  assertUse,
  basisOf,
  rememberRequest,
  type Ctx,
  operation,
} from '../access/index.ts'
import { attachmentsShape } from '../files/index.ts'
import { assertCallback, callbackShape, secretForCallback, takeCallbackPlace } from '../followers/index.ts'
import {
  checkTools,
  readAgent,
  rememberedAgent,
  withOverrides,
  type Agent,
  type AgentSettings,
  runFields,
} from '../agents/index.ts'
import { joinAwaited } from './awaited.ts'
import { clientToolsOf, clientToolsShape, filesOf } from './given-by-client.ts'
import { followingOnly, ThreadMovedOnError, type BindStart, assertRetry, retryShape } from './bind-start.ts'
import { generationPayload, type Generation } from './generation.ts'
import {
  assertThread,
  contentShape,
  externalIdShape,
  givenMessage,
  messagesShape,
  namedThreadIds,
} from '../threads/index.ts'
import { type FilePart, type Message, userMessage } from '../models/index.ts'
import { insertGeneration, type NewGeneration } from './insert.ts'
import { loadGenerations } from './read.ts'

const fields = {
  agentId: idOf('agent'),
  prompt: contentShape
    .nullish()
    .describe('The message of the user. Give exactly one of prompt and messages.'),
  messages: messagesShape
    .nullish()
    .describe(
      'A conversation that ends with a message of the user. Give exactly one of prompt and messages.',
    ),
  clientTools: clientToolsShape.nullish(),
  threadId: optional(
    idShape('The id of a thread to continue: its ended generations become the history.'),
    'a new thread',
  ),
  externalThreadId: optional(
    externalIdShape.describe(
      'An id of your own, 1 to 200 characters, for a thread of the agent: it is continued as with threadId, and created when ' +
        'there is none.',
    ),
    'none',
  ),
  retryOf: retryShape.nullish(),
  idempotencyKey: text(200, 1)
    .nullish()
    .describe(
      'A text that makes retries safe: a repeat with the same key returns the first generation, until 24 hours after its end.',
    ),
  callback: callbackShape
    .nullish()
    .describe('Where the events of the generation are sent. Permission: webhooks:Callback.'),
}
/** Files are checked when they are resolved, and settings with those of the agent. */
const shape = z
  .object({ ...fields, attachments: z.unknown().optional() })
  .refine(
    (input) =>
      Boolean(input.prompt) !== Boolean(input.messages) ||
      // The results of the calls are what the model goes on with.
      (input.retryOf && input.retryOf.step > 0 && !input.prompt && !input.messages && !input.attachments),
    'give exactly one of prompt and messages',
  )
  .refine(
    (input) => !input.retryOf || (!input.threadId && !input.externalThreadId),
    'give no thread with retryOf: a retry begins a thread',
  )
  .refine(
    (input) => (input.messages?.at(-1)?.role ?? 'USER') === 'USER',
    'the last message must be the user’s',
  )
  .refine(
    (input) => !input.threadId || !input.externalThreadId,
    'give at most one of threadId and externalThreadId',
  )

const startInput = z
  .object({
    ...fields,
    attachments: attachmentsShape
      .nullish()
      .describe(
        'Files of the last message, at most 20. The model receives the media types that it supports.',
      ),
    ...overrideShapes(
      fieldShapes(runFields),
      {
        instructions: 'It is appended to that of the agent.',
        stopConditions: 'Those of the agent apply too.',
      },
      'Default: that of the agent.',
    ),
  })
  .describe(
    'A new generation. Settings given here apply to this generation only and may narrow those of the agent, never loosen them.',
  )

export type StartGenerationInput = z.input<typeof startInput>

/** See beginGeneration. */
export const startGeneration = operation({
  name: 'startGeneration',
  does: 'Starts a generation of an agent and returns at once; follow it with the subscription generationEvents.',
  permission: 'generations:Start',
  input: startInput,
  payload: generationPayload,
  refuses: ['NOT_FOUND', 'IDEMPOTENCY_CONFLICT', 'LIMITED'],
  isAction: ['generation'],
  checksItself: true,
  async run(ctx, given) {
    const generation = await beginGeneration(ctx, given)
    return { generation, callbackSecret: secretForCallback(ctx, given.callback, generation.id) }
  },
})

/**
 * Starts a generation of an agent and returns at once; a worker of any replica runs it. Action `generations:Start` on
 * the agent, and `agents:Update` for another model than the agent's own. Overrides can only restrict the agent's
 * settings (see `withOverrides`). The settings are frozen here, so later changes of the agent do not affect this
 * generation; so are the rights of a person with a token. With `threadId` it continues that thread, with
 * `externalThreadId` the thread of the agent that a client named so, which is created by its first use; with `retryOf` it
 * begins a thread with the history of another run (see `assertRetry`). With `callback`
 * its events are sent to a URL (action `webhooks:Callback`). `clientTools` are tools of this run only, run by the client
 * (see `clientToolsOf`). With `idempotencyKey` a repeat returns the first generation; `repeats` names the operation under
 * which the key is stored, so that operations of the same API can share it. Without a key, `joins` makes an equal request
 * return the generation of the first one (see `joinAwaited`).
 * `bind` stands for a key where something else than a client says what is a repeat.
 */
export async function beginGeneration(
  ctx: Ctx,
  input: StartGenerationInput,
  repeats: Repeats = {},
): Promise<Generation> {
  const { idempotencyKey, ...rest } = input
  const { operation: named = 'generations:Start', request = rest, joins = false } = repeats
  const key =
    idempotencyKey || joins ? { key: idempotencyKey || null, operation: named, request, joins } : null
  const found = repeats.bind ?? (key && rememberStart(ctx, key))
  const bind = repeats.follows ? followingOnly(repeats.follows, found) : found
  const given = check(shape, input)
  // Files are resolved once only.
  const known = input.attachments ? null : rememberedAgent(ctx, given.agentId)
  const caller = basisOf(ctx.principal)
  return withProof({
    remembered: known && {
      agent: known,
      basis: { ...caller, agentId: known.id, agentVersion: known.version },
    },
    async read(isAgain) {
      if (isAgain) await assertStillValid(ctx.db, ctx.principal)
      return { agent: await readAgent(ctx, given.agentId), basis: caller }
    },
    judge: (from) => prepareFor(ctx, from, input, given),
    async write(row, isAgain) {
      if (!isAgain) await assertUse(ctx, 'AGENT', row.agent.projectId, row.agent.id)
      return insertAndRun(ctx, row, bind)
    },
  })
}

interface Repeats {
  operation?: string
  /** Everything in the request that changes the run; the input when absent. */
  request?: unknown
  joins?: boolean | 'BEHIND_GATE'
  /** Binds the run to what starts it, instead of a key. */
  bind?: BindStart
  /** With `threadId`: what must be the newest run of the thread, else ThreadMovedOnError. A repeat finds its run all the same. */
  follows?: string
}

interface StartKey {
  /** Null: equal requests join the first one. */
  key: string | null
  operation: string
  request: unknown
  joins: boolean | 'BEHIND_GATE'
}

/** How long an equal request joins a run that a gate has stopped: as long as keys are kept, in milliseconds. */
const behindGateMs = 24 * 60 * 60 * 1000

/** Inserts the generation. A worker of this process that has a free slot gets it at once, else the next one claims it. */
async function insertAndRun(ctx: Ctx, row: NewGeneration, bind: BindStart | null): Promise<Generation> {
  const { projectId, id: agentId } = row.agent
  const slot = ctx.slots.take('generations', projectId)
  const insert = async (db: Database) => insertGeneration(db, ctx, row, slot !== null)
  try {
    const made =
      bind || row.callback
        ? await atomically(ctx.db, async (tx) => {
            const earlier = bind && (await bind(tx, row.id, projectId))
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
    if (error instanceof ThreadMovedOnError) await ctx.rates.giveBackUse(projectId, 'AGENT', agentId)
    if (isOutage(error)) slot?.giveBack({ id: row.id, epoch: 1 })
    else slot?.free()
    throw error
  }
}

/** The generation that an earlier request started; null when this one is the first. */
function rememberStart(ctx: Ctx, { key, joins, ...given }: StartKey): BindStart {
  const behindGate = joins === 'BEHIND_GATE'
  const windowMs = behindGate ? behindGateMs : ctx.limits.joinWindowMs
  return (tx, id, projectId) => {
    const request = { ...given, projectId, principal: ctx.principal }
    return key === null
      ? joinAwaited(tx, { ...request, behindGate }, id, windowMs)
      : rememberRequest(tx, { ...request, key }, id)
  }
}

/** Checks everything that a new generation needs: input, permission, overrides, thread and files. Writes nothing. */
export async function prepareStart(ctx: Ctx, input: StartGenerationInput): Promise<NewGeneration> {
  const given = check(shape, input)
  return prepareFor(ctx, { agent: await readAgent(ctx, given.agentId), basis: {} }, input, given)
}

async function prepareFor(
  ctx: Ctx,
  { agent, basis }: { agent: Agent; basis: Basis },
  input: StartGenerationInput,
  given: z.output<typeof shape>,
): Promise<NewGeneration> {
  await assertMay(ctx, 'generations:Start', agent.projectId, `agent/${agent.id}`, { agentId: agent.id })
  // Another model may cost more and sends data to another company, so it needs the right to change the agent.
  if (input.model && input.model !== agent.model)
    await assertMay(ctx, 'agents:Update', agent.projectId, `agent/${agent.id}`)
  const clientTools = clientToolsOf(given.clientTools, agent.projectId)
  const own = withOverrides(settingsOf(agent), input, agent.projectId)
  const settings = { ...own, ...(clientTools ? { clientTools } : {}) }
  const { stopConditions, toolChoice } = agent
  if (clientTools || settings.stopConditions !== stopConditions || settings.toolChoice !== toolChoice)
    await checkTools(ctx, agent.projectId, settings)
  await assertCallback(ctx, agent.projectId, given.callback, { agentId: agent.id })
  const { externalThreadId: externalId } = given
  const ids = externalId
    ? namedThreadIds(ctx, agent.id, externalId)
    : given.threadId
      ? ([given.threadId] as const)
      : null
  const known = ids && (await assertThread(ctx, agent, ids, Boolean(externalId)))
  if (given.retryOf) await assertRetry(ctx, agent, given.retryOf, !given.prompt && !given.messages)
  const files = await filesOf(ctx, agent.projectId, input.attachments, ['input', 'attachments'])
  return {
    id: newId('generation'),
    agent,
    settings,
    messages: messagesOf(given, files),
    threadId: known ?? ids?.[0] ?? null,
    externalId: externalId ?? null,
    retryOf: given.retryOf,
    callback: given.callback,
    basis,
  }
}

function settingsOf(agent: Agent): AgentSettings {
  const { id: _i, projectId: _p, name: _n, version: _v, createdAt: _c, updatedAt: _u, ...settings } = agent
  return settings
}

function messagesOf(given: z.output<typeof shape>, files: FilePart[]): Message[] {
  if (given.prompt) return [userMessage(given.prompt, files)]
  return (given.messages ?? []).map((message, i, all) =>
    givenMessage(message, i === all.length - 1 ? files : []),
  )
}
