/** Starts a generation: one row, which is state, queue entry and timer, with its first event. */
import { sql } from 'drizzle-orm'
import { z } from 'zod'
import { check, text } from '../../core/check.ts'
import { newId } from '../../core/ids.ts'
import { atomically, nowPlus, query, type Database } from '../../store/db/database.ts'
import { generations, threads } from '../../store/db/tables/generations.ts'
import { insertSelect } from '../../store/db/write.ts'
import { assertMay, assertUse, rememberRequest, requesterOf, type Ctx } from '../access/index.ts'
import { generationQueued, insertGenerationEvents } from '../events/index.ts'
import { resolveAttachments, type AttachmentsInput } from '../files/index.ts'
import {
  checkTools,
  findAgent,
  withOverrides,
  type Agent,
  type AgentSettings,
  type SettingsOverrides,
} from '../agents/index.ts'
import { ownThreadId, type Generation } from './generation.ts'
import { userMessage, type FilePart, type Message } from './model/message.ts'
import { loadGenerations } from './read.ts'
import { assertThread } from './threads.ts'

const content = text(500_000, 1)

const shape = z
  .object({
    agentId: z.string(),
    prompt: content.nullish(),
    messages: z
      .array(z.object({ role: z.enum(['USER', 'ASSISTANT']), content }))
      .min(1, 'must not be empty')
      .max(1000)
      .nullish(),
    attachments: z.unknown().optional(),
    threadId: z.string().nullish(),
    idempotencyKey: text(200, 1).nullish(),
  })
  .refine(
    (input) => Boolean(input.prompt) !== Boolean(input.messages),
    'give exactly one of prompt and messages',
  )
  .refine(
    (input) => (input.messages?.at(-1)?.role ?? 'USER') === 'USER',
    'the last message must be the user’s',
  )

export type StartGenerationInput = Omit<z.input<typeof shape>, 'attachments'> & {
  /** Files for the last message. */
  attachments?: AttachmentsInput | null | undefined
} & SettingsOverrides

/**
 * Starts a generation of an agent and returns at once; a worker of any replica runs it. Action `generations:Start` on
 * the agent, and `agents:Update` for another model than the agent's own. Overrides can only restrict the agent's
 * settings (see `withOverrides`). The settings are frozen here, so later changes of the agent do not affect this
 * generation; so are the rights of a person with a token. With `threadId` it continues that thread. With
 * `idempotencyKey` a repeat returns the first generation; `idempotency` names the operation under which the key is stored,
 * so that operations of the same API can share it.
 */
export async function startGeneration(
  ctx: Ctx,
  input: StartGenerationInput,
  idempotency?: { operation: string; request: unknown },
): Promise<Generation> {
  const row = await prepareStart(ctx, input)
  const { agent } = row
  await assertUse(ctx, 'AGENT', agent.projectId, agent.id)
  const { idempotencyKey, ...request } = { ...input }
  const made = idempotencyKey
    ? await atomically(ctx.db, async (tx) => {
        const who = {
          projectId: agent.projectId,
          principalId: ctx.principal.id,
          operation: idempotency?.operation ?? 'generations:Start',
        }
        const asked = idempotency?.request ?? request
        const earlier = await rememberRequest(tx, { ...who, key: idempotencyKey, request: asked }, row.id)
        return earlier === null ? insert(tx, ctx, row) : (await loadGenerations(tx, [earlier]))[0]!
      })
    : await insert(ctx.db, ctx, row)
  if (made.id !== row.id) await ctx.rates.giveBackUse(agent.projectId, 'AGENT', agent.id)
  ctx.pubsub.publish([
    { kind: 'work', table: 'generations' },
    { kind: 'news', generationId: made.id, projectId: agent.projectId, seq: 1 },
  ])
  return made
}

/** Checks everything that a new generation needs: input, permission, overrides, thread and files. Writes nothing. */
export async function prepareStart(ctx: Ctx, input: StartGenerationInput): Promise<NewGeneration> {
  const given = check(shape, input)
  const agent = await findAgent(ctx, given.agentId)
  await assertMay(ctx, 'generations:Start', agent.projectId, `agent/${agent.id}`, { agentId: agent.id })
  // Another model may cost more and sends data to another company, so it needs the right to change the agent.
  if (input.model && input.model !== agent.model)
    await assertMay(ctx, 'agents:Update', agent.projectId, `agent/${agent.id}`)
  const settings = withOverrides(settingsOf(agent), input)
  if (settings.stopConditions !== agent.stopConditions || settings.toolChoice !== agent.toolChoice)
    await checkTools(ctx, agent.projectId, settings)
  if (typeof given.threadId === 'string') await assertThread(ctx, agent, given.threadId)
  return {
    id: newId('generation'),
    agent,
    settings,
    messages: messagesOf(given, await filesOf(ctx, agent, input.attachments)),
    threadId: given.threadId ?? null,
  }
}

function settingsOf(agent: Agent): AgentSettings {
  const { id: _i, projectId: _p, name: _n, version: _v, createdAt: _c, updatedAt: _u, ...settings } = agent
  return settings
}

/** The files as the model will get them; their bytes are read when the model is called. */
async function filesOf(
  ctx: Ctx,
  agent: Agent,
  given: AttachmentsInput | null | undefined,
): Promise<FilePart[]> {
  const attachments = await resolveAttachments(ctx, agent.projectId, given, ['input', 'attachments'])
  return attachments.map(({ fileId, filename, contentType }) => ({
    type: 'file',
    mediaType: contentType,
    data: '',
    fileId,
    filename,
  }))
}

function messagesOf(given: z.output<typeof shape>, files: FilePart[]): Message[] {
  if (given.prompt) return [userMessage(given.prompt, files)]
  return given.messages!.map((message, i, all) =>
    message.role === 'USER'
      ? userMessage(message.content, i === all.length - 1 ? files : [])
      : { v: 1, role: 'assistant', parts: [{ type: 'text', text: message.content }] },
  )
}

/** A generation to be inserted. */
export interface NewGeneration {
  id: string
  agent: Agent
  settings: AgentSettings
  messages: Message[]
  threadId: string | null
}

/** Inserts thread (if new), generation and first event in one statement. Returns the generation as written. */
async function insert(db: Database, ctx: Ctx, row: NewGeneration): Promise<Generation> {
  const { agent, settings } = row
  const requester = requesterOf(ctx.principal)
  const threadId = row.threadId ?? ownThreadId(row.id)
  const thread = row.threadId
    ? sql``
    : sql`t as (${insertSelect(threads, { id: threadId, projectId: agent.projectId, agentId: agent.id })}),`
  const rows = await query<{ createdMs: number; deadlineMs: number }>(
    db,
    sql`with ${thread} g as (
      ${insertSelect(generations, {
        id: row.id,
        projectId: agent.projectId,
        agentId: agent.id,
        agentVersion: agent.version,
        threadId,
        status: 'QUEUED',
        settings,
        input: row.messages,
        requestedBy: ctx.principal.id,
        requester,
        lastSeq: 1,
        deadlineAt: nowPlus(settings.timeoutMs),
        wakeAt: sql`now()`,
      })}
      returning id, project_id, last_seq, created_at, deadline_at
    ),
    e as (${insertGenerationEvents([generationQueued({ agentId: agent.id })])})
    select (extract(epoch from created_at) * 1000)::float8 as "createdMs",
      (extract(epoch from deadline_at) * 1000)::float8 as "deadlineMs" from g`,
  )
  const { createdMs, deadlineMs } = rows[0]!
  return {
    ...nothingYet,
    id: row.id,
    projectId: agent.projectId,
    agentId: agent.id,
    agentVersion: agent.version,
    threadId,
    settings,
    input: row.messages,
    requestedBy: ctx.principal.id,
    requester,
    deadlineAt: new Date(deadlineMs),
    createdAt: new Date(createdMs),
  }
}

/** The other fields of a new generation. */
const nothingYet = {
  storedStatus: 'QUEUED',
  stepCount: 0,
  attempt: 0,
  nextStep: null,
  model: null,
  stopReason: null,
  truncated: false,
  error: null,
  output: null,
  inputTokens: 0,
  outputTokens: 0,
  lastSeq: 1,
  parentId: null,
  parentCallId: null,
  rootId: null,
  depth: 0,
  cancelRequestedAt: null,
  cancelReason: null,
  startedAt: null,
  finishedAt: null,
} as const
