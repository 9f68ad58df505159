/** Whose vote the press of a Slack user is. */
import { and, eq } from 'drizzle-orm'
import { z } from 'zod'
import { AppError, notFound } from '../../../core/errors.ts'
import { idShape } from '../../../core/shapes.ts'
import { atomically, query, type Database } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import { slackUsers } from '../../../store/db/tables/verdicts.ts'
import { assertMay, assertSpeaksFor, inProject, operation, projectOf, type Ctx } from '../../access/index.ts'
import { slackSet } from '../../events/index.ts'
import { rowOf, SlackUser } from './integration.ts'
import { recordSlackChange, wake } from './operations.ts'

/** The most linked users of a project. */
export const maxSlackUsers = 200

/** Whoever has the Slack account votes for the principal. Row, audit entry and event are written together. Idempotent. */
export const linkSlackUser = operation({
  name: 'linkSlackUser',
  does:
    "Lets the presses of a Slack user count as votes of a principal. Only an operator's API key may name another than " +
    'itself and keys made with it.',
  permission: 'slack:LinkUser',
  input: z
    .object({
      ...inProject,
      slackUserId: idShape('The id of the Slack user, such as U0123456789.').regex(
        /^[UW][A-Z0-9]{2,30}$/,
        'must be the id of a Slack user, such as U0123456789',
      ),
      principalId: idShape('The id of the API key or person; when it is left out, the link is removed.')
        .max(80)
        .nullish(),
    })
    .describe('The link of a Slack user.'),
  payload: z
    .object({ user: SlackUser.nullable().describe('The link; null when it was removed.') })
    .describe('The link after the mutation.'),
  refuses: ['NOT_FOUND', 'CONFLICT', 'LIMITED'],
  async run(ctx, { slackUserId, principalId = null, ...given }) {
    const projectId = await projectOf(ctx, given.projectId)
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
      await recordSlackChange(
        tx,
        ctx,
        projectId,
        'slack:LinkUser',
        [slackSet({ integrationId: integration.id })],
        {
          slackUserId,
          linkedTo: principalId,
        },
      )
      return row
    })
    wake(ctx, projectId)
    return { user: linked }
  },
})

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
