/** Threads that somebody else names: a conversation that is open before its first run. */
import { sql } from 'drizzle-orm'
import { invalidAt, notFound } from '../../core/errors.ts'
import { query } from '../../store/db/database.ts'
import { assertMay, type Ctx } from '../access/index.ts'
import type { Agent } from '../agents/index.ts'

interface Place {
  agent: Agent
  threadId: string
}

/** The thread exists from now on; idempotent. Action `generations:Start` on the agent. NOT_FOUND when it was closed. */
export async function openThread(ctx: Ctx, { agent, threadId }: Place): Promise<void> {
  await assertMay(ctx, 'generations:Start', agent.projectId, `agent/${agent.id}`)
  await query(
    ctx.db,
    sql`insert into threads (id, project_id, agent_id) values (${threadId}, ${agent.projectId}, ${agent.id})
      on conflict (id) do nothing`,
  )
  await assertThread(ctx, agent, threadId)
}

/** Nothing is added to the thread any more; what runs goes on. Idempotent. Action `generations:Start` on the agent. */
export async function closeThread(ctx: Ctx, { agent, threadId }: Place): Promise<void> {
  await assertMay(ctx, 'generations:Start', agent.projectId, `agent/${agent.id}`)
  await query(
    ctx.db,
    sql`insert into threads (id, project_id, agent_id, closed_at)
      values (${threadId}, ${agent.projectId}, ${agent.id}, now())
      on conflict (id) do update set closed_at = coalesce(threads.closed_at, now())
        where threads.project_id = excluded.project_id and threads.agent_id = excluded.agent_id`,
  )
}

/** Whether the thread was closed; one that nobody has used is open. Checks nothing. */
export async function isThreadClosed(ctx: Pick<Ctx, 'db'>, threadId: string): Promise<boolean> {
  const rows = await query(
    ctx.db,
    sql`select 1 from threads where id = ${threadId} and closed_at is not null`,
  )
  return rows.length > 0
}

/** Throws NOT_FOUND when it does not exist for the caller or was closed, INVALID when it is another agent's. */
export async function assertThread(ctx: Ctx, agent: Agent, threadId: string): Promise<void> {
  const rows = await query<{ agent: string }>(
    ctx.db,
    sql`select agent_id as agent from threads
      where id = ${threadId} and project_id = ${agent.projectId} and closed_at is null`,
  )
  if (!rows[0]) throw notFound('thread', threadId)
  if (rows[0].agent !== agent.id) throw invalidAt(['input', 'threadId'], 'belongs to another agent')
}
