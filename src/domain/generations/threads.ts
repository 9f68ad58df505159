/** Threads with ids that a client chose: opened before their first generation, and closed. */
import { sql } from 'drizzle-orm'
import { invalidAt, notFound } from '../../core/errors.ts'
import { query } from '../../store/db/database.ts'
import { assertMay, holds, type Ctx } from '../access/index.ts'
import type { Agent } from '../agents/index.ts'

interface Place {
  agent: Agent
  threadId: string
}

/** Creates the thread. Idempotent. Action `generations:Start` on the agent. NOT_FOUND when it was closed. */
export async function openThread(ctx: Ctx, { agent, threadId }: Place): Promise<void> {
  await assertMay(ctx, 'generations:Start', agent.projectId, `agent/${agent.id}`, { agentId: agent.id })
  await query(
    ctx.db,
    sql`insert into threads (id, project_id, agent_id) values (${threadId}, ${agent.projectId}, ${agent.id})
      on conflict (id) do nothing`,
  )
  await assertThread(ctx, agent, threadId)
}

/**
 * Closes the thread for new generations; running ones continue. Idempotent. Action `generations:Start` on the agent.
 */
export async function closeThread(ctx: Ctx, { agent, threadId }: Place): Promise<void> {
  await assertMay(ctx, 'generations:Start', agent.projectId, `agent/${agent.id}`, { agentId: agent.id })
  await query(
    ctx.db,
    sql`insert into threads (id, project_id, agent_id, closed_at)
      values (${threadId}, ${agent.projectId}, ${agent.id}, now())
      on conflict (id) do update set closed_at = coalesce(threads.closed_at, now())
        where threads.project_id = excluded.project_id and threads.agent_id = excluded.agent_id`,
  )
}

/** Whether the thread was closed; false for a thread that does not exist. Checks no permission. */
export async function isThreadClosed(ctx: Pick<Ctx, 'db'>, threadId: string): Promise<boolean> {
  const rows = await query(
    ctx.db,
    sql`select 1 from threads where id = ${threadId} and closed_at is not null`,
  )
  return rows.length > 0
}

/**
 * Throws NOT_FOUND when the thread does not exist for the caller or was closed, INVALID when it belongs to another
 * agent. A caller who continues a thread can make the model repeat its history, so a thread with generations of other
 * keys requires the action `generations:Get` on the newest of them.
 */
export async function assertThread(ctx: Ctx, agent: Agent, threadId: string): Promise<void> {
  const rows = await query<{ agent: string; foreign: string | null; by: string | null }>(
    ctx.db,
    sql`select t.agent_id as agent, g.id as "foreign", g.requested_by as by from threads as t
      left join lateral (select id, requested_by from generations where thread_id = t.id
        and requested_by <> ${ctx.principal.id} order by created_at desc, id desc limit 1) as g on true
      where t.id = ${threadId} and t.project_id = ${agent.projectId} and t.closed_at is null`,
  )
  const [thread] = rows
  const foreign = thread?.foreign ?? null
  if (!thread || (foreign !== null && !holds(ctx.principal, { by: thread.by })))
    throw notFound('thread', threadId)
  if (foreign !== null) await assertMay(ctx, 'generations:Get', agent.projectId, `generation/${foreign}`)
  if (thread.agent !== agent.id) throw invalidAt(['input', 'threadId'], 'belongs to another agent')
}
