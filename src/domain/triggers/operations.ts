/** The operations on triggers: create, change, delete, rotate the secret. */
import { eq } from 'drizzle-orm'
import { z } from 'zod'
import { check, text } from '../../core/check.ts'
import { AppError, invalidAt } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import type { JsonObject } from '../../core/json.ts'
import { atomically, query, timeOf, type Database } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import { triggers } from '../../store/db/tables/triggers.ts'
import { assertMay, recordChange, type Ctx } from '../access/index.ts'
import { findAgent } from '../agents/index.ts'
import { appendProjectEvents, triggerCreated, triggerDeleted, triggerUpdated } from '../events/index.ts'
import { newSecret, sealSecret } from '../followers/index.ts'
import { faultOfLine, faultOfZone, ticksAfter } from './cron.ts'
import { faultOfTemplate } from './template.ts'
import { findTrigger, resourceOf, triggerOf, type Trigger, type TriggerRow } from './trigger.ts'

/** The most triggers of a project. */
const mostTriggers = 200

const cron = text(200, 1)
const timeZone = text(100, 1)
const shape = z.object({
  agentId: z.string(),
  name: text(100, 1),
  prompt: text(20_000, 1),
  cron: cron.nullish(),
  timeZone: timeZone.nullish(),
})

export type CreateTriggerInput = z.input<typeof shape>

/**
 * Creates a trigger of an agent: a schedule with `cron`, else a hook. Actions `triggers:Create`, and
 * `generations:Start` on the agent: its runs start with the rights that the caller has then. Returns the signing secret of
 * a hook, which cannot be read again. Not idempotent. LIMITED beyond 200 triggers in the project.
 */
export async function createTrigger(
  ctx: Ctx,
  input: CreateTriggerInput,
): Promise<{ trigger: Trigger; secret: string | null }> {
  const given = check(shape, input)
  const { projectId } = await findAgent(ctx, given.agentId)
  await assertMay(ctx, 'triggers:Create', projectId, 'trigger/*')
  await assertMayStart(ctx, projectId, given.agentId)
  if (!given.cron && given.timeZone) throw invalidAt(['input', 'timeZone'], 'is of a schedule: give cron too')
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
}

const changes = z.object({
  triggerId: z.string(),
  expectedVersion: z.number().int().nullish(),
  name: text(100, 1).nullish(),
  prompt: text(20_000, 1).nullish(),
  cron: cron.nullish(),
  timeZone: timeZone.nullish(),
  enabled: z.boolean().nullish(),
})

export type UpdateTriggerInput = z.input<typeof changes>

/**
 * Changes what is given. Its runs start with the rights of the caller from then on. Actions `triggers:Update`, and
 * `generations:Start` on the agent. Ticks while it was disabled are not made up for. With `expectedVersion` it fails with
 * CONFLICT after a concurrent change.
 */
export async function updateTrigger(ctx: Ctx, input: UpdateTriggerInput): Promise<Trigger> {
  const given = check(changes, input)
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
  return trigger
}

/** Deletes a trigger; the runs that it has started stay. Action `triggers:Delete`. */
export async function deleteTrigger(ctx: Ctx, input: { triggerId: string }): Promise<void> {
  const found = await findTrigger(ctx.db, ctx, input.triggerId)
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
}

/**
 * Sets a new signing secret of a hook and returns it; for 24 hours messages may be signed with the one before too. Action
 * `triggers:Update`. INVALID for a schedule.
 */
export async function rotateTriggerSecret(
  ctx: Ctx,
  input: { triggerId: string },
): Promise<{ trigger: Trigger; secret: string }> {
  const found = await findTrigger(ctx.db, ctx, input.triggerId)
  await assertMay(ctx, 'triggers:Update', found.projectId, resourceOf(found.id))
  if (found.kind !== 'HOOK') throw invalidAt(['input', 'triggerId'], 'is of a schedule, which has no secret')
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
}

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
