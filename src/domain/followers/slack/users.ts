/** Whose vote the press of a Slack user is. */
import { and, eq } from 'drizzle-orm'
import { z } from 'zod'
import { check } from '../../../core/check.ts'
import { AppError, notFound } from '../../../core/errors.ts'
import { atomically, query, type Database } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import { slackUsers } from '../../../store/db/tables/verdicts.ts'
import { assertMay, assertSpeaksFor, projectOf, type Ctx } from '../../access/index.ts'
import { slackSet } from '../../events/index.ts'
import { rowOf, type SlackUser } from './integration.ts'
import { told, wake } from './operations.ts'

/** The most linked users of a project. */
export const maxSlackUsers = 200

const shape = z.object({
  projectId: z.string().nullish(),
  slackUserId: z
    .string()
    .regex(/^[UW][A-Z0-9]{2,30}$/, 'must be the id of a Slack user, such as U0123456789'),
  principalId: z.string().max(80).nullish(),
})

export type LinkSlackUserInput = z.input<typeof shape>

/**
 * Lets the presses of a Slack user count as votes of a principal; without one the link is removed. Action
 * `slack:LinkUser`, and only an operator may link anybody but itself and the keys made with it, because whoever has the
 * Slack account votes for them. Row, audit entry and event are written together. Idempotent.
 */
export async function linkSlackUser(ctx: Ctx, input: LinkSlackUserInput): Promise<SlackUser | null> {
  const { slackUserId, principalId = null, ...rest } = check(shape, input)
  const projectId = await projectOf(ctx, rest.projectId)
  const what = { action: 'slack:LinkUser', projectId, resource: `slack/${projectId}` } as const
  await assertMay(ctx, what.action, projectId, what.resource)
  if (principalId) await assertSpeaksFor(ctx, what, [{ id: principalId, path: ['input', 'principalId'] }])
  const linked = await atomically(ctx.db, async (tx) => {
    await query(tx, sql`select 1 from projects where id = ${projectId} for update`)
    const integration = await rowOf(tx, projectId)
    if (!integration) throw notFound('Slack integration of the project', projectId)
    const row = principalId ? await insert(tx, ctx, projectId, slackUserId, principalId) : null
    if (!principalId)
      await tx
        .delete(slackUsers)
        .where(and(eq(slackUsers.projectId, projectId), eq(slackUsers.slackUserId, slackUserId)))
    await told(tx, ctx, projectId, 'slack:LinkUser', [slackSet({ integrationId: integration.id })], {
      slackUserId,
      linkedTo: principalId,
    })
    return row
  })
  wake(ctx, projectId)
  return linked
}

async function insert(
  tx: Database,
  ctx: Ctx,
  projectId: string,
  slackUserId: string,
  principalId: string,
): Promise<SlackUser> {
  const before = await userOf(tx, projectId, slackUserId)
  const rows = await query<{ n: number }>(
    tx,
    sql`select count(*)::int as n from slack_users where project_id = ${projectId}`,
  )
  if (!before && rows[0]!.n >= maxSlackUsers)
    throw new AppError('LIMITED', `This project has reached its limit of ${maxSlackUsers} Slack users.`)
  const createdBy = ctx.principal.id
  const [row] = await tx
    .insert(slackUsers)
    .values({ projectId, slackUserId, principalId, createdBy })
    .onConflictDoUpdate({
      target: [slackUsers.projectId, slackUsers.slackUserId],
      set: { principalId, createdBy, createdAt: sql`now()` },
      ...(ctx.principal.installation ? {} : { setWhere: eq(slackUsers.principalId, principalId) }),
    })
    .returning()
  if (!row)
    throw new AppError('CONFLICT', 'This Slack user is linked already. Only an operator may link it anew.')
  return row
}

/** The link of a Slack user. Checks no permission. */
export async function userOf(
  db: Database,
  projectId: string,
  slackUserId: string,
): Promise<SlackUser | null> {
  const [row] = await db
    .select()
    .from(slackUsers)
    .where(and(eq(slackUsers.projectId, projectId), eq(slackUsers.slackUserId, slackUserId)))
  return row ?? null
}

/** The linked users of a project, in the order of their ids. Action `slack:Get`. */
export async function listSlackUsers(ctx: Ctx, projectId: string): Promise<SlackUser[]> {
  await assertMay(ctx, 'slack:Get', projectId, `slack/${projectId}`)
  return ctx.db
    .select()
    .from(slackUsers)
    .where(eq(slackUsers.projectId, projectId))
    .orderBy(slackUsers.slackUserId)
    .limit(maxSlackUsers)
}
