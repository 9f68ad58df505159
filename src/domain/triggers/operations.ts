/** The operations on triggers: create, change, delete, rotate the secret. */
import { eq } from 'drizzle-orm'
import { z } from 'zod'
import { text } from '../../core/check.ts'
import { AppError, invalidAt } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import type { JsonObject } from '../../core/json.ts'
import { keepOnNull, idOf, optional, part } from '../../core/shapes.ts'
import { atomically, query, timeOf, type Database } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import { triggers } from '../../store/db/tables/triggers.ts'
import { assertMay, ofVersion, operation, recordChange, type Ctx, deletion } from '../access/index.ts'
import { findAgent } from '../agents/index.ts'
import { appendProjectEvents, triggerCreated, triggerDeleted, triggerUpdated } from '../events/index.ts'
import { newSecret, sealSecret } from '../followers/index.ts'
import {
  faultOfLine,
  faultOfZone,
  ticksAfter,
  faultOfTemplate,
  findTrigger,
  resourceOf,
  Trigger,
  triggerOf,
  type TriggerRow,
} from './trigger.ts'

/** The most triggers of a project. */
const mostTriggers = 200

/** What is given to create a trigger, and can be changed. */
const fields = {
  name: text(100, 1).describe('What the trigger is called, 1 to 100 characters.'),
  prompt: text(20_000, 1).describe(
    'The prompt of each generation, at most 20,000 characters; without cron a template, in which a path in braces, such ' +
      'as {order.id}, stands for a value of the JSON body, and {.} for the whole body.',
  ),
  cron: optional(
    text(200, 1).describe(
      'The times of a schedule: minute, hour, day of month, month and day of week, such as "30 9 * * MON-FRI", at most ' +
        'every five minutes.',
    ),
    'none, and a URL instead',
  ),
  timeZone: optional(text(100, 1).describe('The IANA time zone in which cron is read.'), 'UTC'),
}

const payload = part('TriggerPayload', 'The trigger, and its signing secret if that is new.', {
  trigger: Trigger.describe('The trigger after the mutation.'),
  secret: z
    .string()
    .nullable()
    .describe(
      'The signing secret, which is shown only now; it begins with whsec_. Null for a schedule, which has none, and unless ' +
        'the mutation made one.',
    ),
})

/** Not idempotent. LIMITED beyond 200 triggers in the project. */
export const createTrigger = operation({
  name: 'createTrigger',
  does:
    'Creates a trigger of an agent: with cron a schedule, without it a URL for signed messages. Its generations start ' +
    'with the rights that the caller has at that time.',
  permission: ['triggers:Create', 'generations:Start'],
  input: z.object({ agentId: idOf('agent'), ...fields }).describe('The trigger to create.'),
  payload,
  refuses: ['NOT_FOUND', 'LIMITED'],
  async run(ctx, given) {
    const { projectId } = await findAgent(ctx, given.agentId)
    await assertMay(ctx, 'triggers:Create', projectId, 'trigger/*')
    await assertMayStart(ctx, projectId, given.agentId)
    if (!given.cron && given.timeZone)
      throw invalidAt(['input', 'timeZone'], 'is of a schedule: give cron too')
    const times = given.cron ? { cron: given.cron, timeZone: given.timeZone ?? 'UTC' } : null
    if (times) assertTimes(times)
    else assertTemplate(given.prompt)
    const id = newId('trigger')
    const secret = times ? null : newSecret()
    const trigger = await atomically(ctx.db, async (tx) => {
      await assertBelowLimit(tx, projectId)
      const [row] = await tx
        .insert(triggers)
        .values({
          id,
          projectId,
          agentId: given.agentId,
          name: given.name,
          prompt: given.prompt,
          kind: times ? 'SCHEDULE' : 'HOOK',
          ...(times ?? { secret: sealSecret(ctx.masterKey, id, secret!) }),
          ...(await nextTick(tx, times)),
          requestedBy: ctx.principal.id,
        })
        .returning()
      await told(tx, ctx, row!, 'triggers:Create')
      return triggerOf(row!, ctx)
    })
    wake(ctx, projectId)
    return { trigger, secret }
  },
})

export const updateTrigger = operation({
  name: 'updateTrigger',
  does:
    'Changes a trigger, whose generations start with the rights of the caller from then on. Times that passed while it ' +
    'was disabled are not made up for.',
  permission: ['triggers:Update', 'generations:Start'],
  input: z
    .object({
      triggerId: idOf('trigger'),
      ...ofVersion,
      ...keepOnNull({ ...fields, enabled: z.boolean().describe('Whether the trigger starts generations.') }),
    })
    .describe('The changes to make.'),
  payload,
  refuses: ['NOT_FOUND', 'CONFLICT'],
  async run(ctx, given) {
    const found = await findTrigger(ctx.db, ctx, given.triggerId)
    await assertMay(ctx, 'triggers:Update', found.projectId, resourceOf(found.id))
    await assertMayStart(ctx, found.projectId, found.agentId)
    if (found.kind === 'HOOK' && (given.cron || given.timeZone))
      throw invalidAt(
        ['input', given.cron ? 'cron' : 'timeZone'],
        'is of a schedule, and this trigger is a hook',
      )
    if (found.kind === 'HOOK' && given.prompt) assertTemplate(given.prompt)
    const trigger = await atomically(ctx.db, async (tx) => {
      const before = await findTrigger(tx, ctx, found.id, true)
      const { expectedVersion } = given
      if (typeof expectedVersion === 'number' && expectedVersion !== before.version)
        throw new AppError(
          'CONFLICT',
          'The trigger was changed by another request. Read it again and repeat the change.',
          { conflictingId: before.id },
        )
      const times = before.cron
        ? { cron: given.cron ?? before.cron, timeZone: given.timeZone ?? before.timeZone! }
        : null
      if (times) assertTimes(times)
      const isEnabled = given.enabled ?? before.status === 'ENABLED'
      const stays = before.nextAt && times?.cron === before.cron && times.timeZone === before.timeZone
      const next = !isEnabled ? noTick : stays ? { nextAt: before.nextAt, wakeAt: before.nextAt } : null
      const [row] = await tx
        .update(triggers)
        .set({
          name: given.name ?? before.name,
          prompt: given.prompt ?? before.prompt,
          status: isEnabled ? 'ENABLED' : 'DISABLED',
          ...times,
          ...(next ?? (await nextTick(tx, times))),
          // Whoever holds the row has read what it was.
          epoch: sql`${triggers.epoch} + 1`,
          requestedBy: ctx.principal.id,
          version: sql`${triggers.version} + 1`,
          updatedAt: sql`now()`,
        })
        .where(eq(triggers.id, found.id))
        .returning()
      await told(tx, ctx, row!, 'triggers:Update')
      return triggerOf(row!, ctx)
    })
    wake(ctx, trigger.projectId)
    return { trigger, secret: null }
  },
})

export const deleteTrigger = operation({
  name: 'deleteTrigger',
  does: 'Deletes a trigger; the generations that it has started stay.',
  permission: 'triggers:Delete',
  input: z.object({ triggerId: idOf('trigger') }).describe('The trigger to delete.'),
  payload: deletion,
  refuses: ['NOT_FOUND'],
  async run(ctx, { triggerId }) {
    const found = await findTrigger(ctx.db, ctx, triggerId)
    await assertMay(ctx, 'triggers:Delete', found.projectId, resourceOf(found.id))
    await atomically(ctx.db, async (tx) => {
      const row = await findTrigger(tx, ctx, found.id, true)
      await query(
        tx,
        sql`delete from trigger_starts where project_id = ${row.projectId} and trigger_id = ${row.id}`,
      )
      await tx.delete(triggers).where(eq(triggers.id, row.id))
      await told(tx, ctx, row, 'triggers:Delete')
    })
    wake(ctx, found.projectId)
    return { deletedId: triggerId, deleted: true }
  },
})

/** INVALID for a schedule. */
export const rotateTriggerSecret = operation({
  name: 'rotateTriggerSecret',
  does: 'Sets a new signing secret of a URL; for 24 hours messages may be signed with the previous one too.',
  permission: 'triggers:Update',
  input: z.object({ triggerId: idOf('trigger') }).describe('The trigger whose secret is replaced.'),
  payload,
  refuses: ['NOT_FOUND'],
  async run(ctx, { triggerId }) {
    const found = await findTrigger(ctx.db, ctx, triggerId)
    await assertMay(ctx, 'triggers:Update', found.projectId, resourceOf(found.id))
    if (found.kind !== 'HOOK')
      throw invalidAt(['input', 'triggerId'], 'is of a schedule, which has no secret')
    const secret = newSecret()
    const trigger = await atomically(ctx.db, async (tx) => {
      const before = await findTrigger(tx, ctx, found.id, true)
      const [row] = await tx
        .update(triggers)
        .set({
          secret: sealSecret(ctx.masterKey, found.id, secret),
          previousSecret: before.secret,
          previousUntil: sql`now() + interval '24 hours'`,
          version: sql`${triggers.version} + 1`,
          updatedAt: sql`now()`,
        })
        .where(eq(triggers.id, found.id))
        .returning()
      await told(tx, ctx, row!, 'triggers:Update', { secret: 'rotated' })
      return triggerOf(row!, ctx)
    })
    wake(ctx, trigger.projectId)
    return { trigger, secret }
  },
})

function assertMayStart(ctx: Ctx, projectId: string, agentId: string): Promise<void> {
  return assertMay(ctx, 'generations:Start', projectId, `agent/${agentId}`, { agentId })
}

function assertTimes({ cron: line, timeZone: zone }: Times): void {
  const fault = faultOfLine(line)
  if (fault) throw invalidAt(['input', 'cron'], fault)
  const faultZone = faultOfZone(zone)
  if (faultZone) throw invalidAt(['input', 'timeZone'], faultZone)
}

function assertTemplate(prompt: string): void {
  const fault = faultOfTemplate(prompt)
  if (fault) throw invalidAt(['input', 'prompt'], fault)
}

interface Times {
  cron: string
  timeZone: string
}

const noTick = { nextAt: null, wakeAt: null }

/** The next tick, by the clock of the database. */
async function nextTick(
  tx: Database,
  times: Times | null,
): Promise<{ nextAt: Date | null; wakeAt: Date | null }> {
  if (!times) return noTick
  const [at] = ticksAfter(times.cron, times.timeZone, new Date(await timeOf(tx)), 1)
  return at ? { nextAt: at, wakeAt: at } : noTick
}

/** Locks the project, so that two requests at once cannot both take the last place. */
async function assertBelowLimit(tx: Database, projectId: string): Promise<void> {
  await query(tx, sql`select 1 from projects where id = ${projectId} for update`)
  const rows = await query<{ n: number }>(
    tx,
    sql`select count(*)::int as n from triggers where project_id = ${projectId}`,
  )
  if (rows[0]!.n >= mostTriggers)
    throw new AppError('LIMITED', `This project has reached its limit of ${mostTriggers} triggers.`)
}

const eventOf = {
  'triggers:Create': triggerCreated,
  'triggers:Update': triggerUpdated,
  'triggers:Delete': triggerDeleted,
} as const

/** Writes the event and the audit entry of a change. */
async function told(
  tx: Database,
  ctx: Ctx,
  { id, projectId, name }: TriggerRow,
  action: keyof typeof eventOf,
  details: JsonObject = {},
): Promise<void> {
  await recordChange(tx, ctx, { projectId, action, resource: resourceOf(id), details: { name, ...details } })
  await appendProjectEvents(tx, projectId, [eventOf[action]({ triggerId: id, name })])
}

/** Hints after a change: the log has grown, and a row may have another tick. */
function wake({ pubsub }: Pick<Ctx, 'pubsub'>, projectId: string): void {
  pubsub.publish([
    { kind: 'news', projectId, generationId: null, seq: null },
    { kind: 'work', table: 'triggers' },
  ])
}
