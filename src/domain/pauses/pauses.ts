/**
 * Pause and resume. While a pause of a project, an agent or a tool holds, no model is called for it and no tool call of it
 * is sent or given to a client; nothing that has been sent is touched, people go on deciding, and deadlines of runs and questions wait.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { z } from 'zod'
import { text } from '../../core/check.ts'
import { invalidAt } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import { idShape, idOf, part } from '../../core/shapes.ts'
import { atomically, query, type Database } from '../../store/db/database.ts'
import { selectRows, insertSelect } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { pauses } from '../../store/db/tables/access.ts'
import type { Hint } from '../../store/pubsub/pubsub.ts'
import { lockOwners } from '../../store/work/owner.ts'
import { sendWithinMs } from '../basis/index.ts'
import {
  assertMay,
  assertStillValid,
  operation,
  projectOf,
  reachable,
  recordChange,
  type Ctx,
} from '../access/index.ts'
import { findAgent } from '../agents/index.ts'
import { appendProjectEvents, pauseEnded, pauseStarted } from '../events/index.ts'
import { findProject } from '../projects/index.ts'
import { findTool } from '../tools/index.ts'
import { delayedRuns, wakeCallsOf, wakeDirectCalls } from '../tool-calls/index.ts'
import { Pause, pauseOf, resourceOfPause } from './read.ts'

const stopped = {
  projectId: idShape(
    'The id of the project to stop; beside agentId or toolId, the project that these must be of.',
  ).nullish(),
  agentId: idShape('The id of the agent to stop; not together with toolId.').nullish(),
  toolId: idShape('The id of the tool to stop.').nullish(),
}
const changed = part('PausePayload', 'The pause after the mutation.', {
  pause: Pause.describe('The pause after the mutation.'),
})

/** Beyond the time in which a process may act on what it knew, in milliseconds: clocks of two machines differ. */
const clockMarginMs = 100

/**
 * Pauses a project, an agent or a tool. Action `projects:Pause` on it. Once this returns, no request of it leaves in any
 * process: it answers about two seconds after the pause was committed, when whatever was begun before has been sent. A
 * repeat returns the pause that holds. INVALID for nothing, for an agent and a tool, and for one of another project than is named.
 */
export const pause = operation({
  name: 'pause',
  does:
    'Stops a project, an agent or a tool: once this responds, after about two seconds, no model is called and no tool ' +
    'call is sent for it or given to a client, in any process, and what is new waits. What is under way is not touched; idempotent.',
  permission: 'projects:Pause',
  input: z
    .object({
      ...stopped,
      reason: text(2000)
        .describe('Why, for those who see that it is paused; at most 2,000 characters.')
        .nullish(),
    })
    .describe(
      'What to stop: an agent, a tool or a whole project, by name. An input that names none is refused.',
    ),
  payload: changed,
  refuses: ['NOT_FOUND'],
  async run(ctx, given) {
    const found = await targetOf(ctx, given)
    await assertMay(ctx, 'projects:Pause', found.projectId, found.resource, { agentId: given.agentId })
    const held = await atomically(ctx.db, async (tx) => {
      await assertStillValid(tx, ctx.principal)
      return begin(tx, ctx, found, given.reason ?? null)
    })
    ctx.pubsub.publish([{ kind: 'news', projectId: held.projectId, generationId: null, seq: null }])
    await wait(sendWithinMs + clockMarginMs)
    return { pause: held }
  },
})

interface PauseTarget {
  id: string
  projectId: string
  name: string
  resource: string
}

async function targetOf(
  ctx: Ctx,
  { projectId, agentId, toolId }: z.output<z.ZodObject<typeof stopped>>,
): Promise<PauseTarget> {
  if (agentId && toolId)
    throw invalidAt(['input', 'toolId'], 'cannot be given with agentId: pause one of them')
  if (agentId || toolId) {
    const found = agentId ? await findAgent(ctx, agentId) : await findTool(ctx, toolId!)
    if (projectId && (await projectOf(ctx, projectId)) !== found.projectId)
      throw invalidAt(['input', 'projectId'], 'is not the project of what is to be paused: leave it out')
    return { ...found, resource: agentId ? `agent/${agentId}` : `tool/${toolId}` }
  }
  if (!projectId)
    throw invalidAt(
      ['input'],
      `names nothing to pause: give agentId, toolId or, to stop all of the key's project, projectId ${ctx.principal.projectId}`,
    )
  const { id, name } = await findProject(ctx, projectId)
  return { id, projectId: id, name, resource: `project/${id}` }
}

async function begin(
  tx: Database,
  ctx: Ctx,
  { id: target, projectId, name, resource }: PauseTarget,
  reason: string | null,
): Promise<Pause> {
  const own = { id: newId('pause'), projectId, target, targetName: name, reason, pausedBy: ctx.principal.id }
  const written = await query(
    tx,
    sql`${insertSelect(pauses, own)} on conflict (target) where ended_at is null do nothing returning id`,
  )
  const [row] = await selectRows(tx, pauses, sql`where target = ${target} and ended_at is null`)
  if (written.length > 0) {
    await recordChange(tx, ctx, {
      projectId,
      action: 'projects:Pause',
      resource,
      details: { paused: true, pauseId: own.id, name, ...(reason ? { reason } : {}) },
    })
    const event = pauseStarted({ pauseId: own.id, target, name, decidedBy: ctx.principal.id })
    await appendProjectEvents(tx, projectId, [event])
  }
  // The one that held has ended meanwhile.
  return row ? pauseOf(row) : begin(tx, ctx, { id: target, projectId, name, resource }, reason)
}

/** A repeat returns the pause as it ended, and makes due again what still waits. */
export const resume = operation({
  name: 'resume',
  does: 'Ends a pause: what waited goes on exactly where it stopped, unless another pause holds it. Idempotent.',
  permission: 'projects:Pause',
  input: z.object({ pauseId: idOf('pause') }).describe('The pause to end.'),
  payload: changed,
  refuses: ['NOT_FOUND'],
  async run(ctx, { pauseId }) {
    const [row] = await selectRows(ctx.db, pauses, sql`where id = ${pauseId}`)
    const found = pauseOf(reachable(ctx, row, 'pause', pauseId))
    const { projectId, target } = found
    const resource = resourceOfPause(found)
    const agentId = found.kind === 'AGENT' ? target : null
    await assertMay(ctx, 'projects:Pause', projectId, resource, { agentId })
    const ended = await atomically(ctx.db, async (tx) => {
      await assertStillValid(tx, ctx.principal)
      const [written] = await query(
        tx,
        sql`update pauses set ended_at = now(), ended_by = ${ctx.principal.id}
          where id = ${pauseId} and ended_at is null returning id`,
      )
      if (written) {
        const details = { paused: false, pauseId }
        await recordChange(tx, ctx, { projectId, action: 'projects:Pause', resource, details })
        const event = pauseEnded({ pauseId, target, decidedBy: ctx.principal.id })
        await appendProjectEvents(tx, projectId, [event])
      }
      const [now] = await selectRows(tx, pauses, sql`where id = ${pauseId}`)
      return pauseOf(now!)
    })
    ctx.pubsub.publish([
      { kind: 'news', projectId, generationId: null, seq: null },
      ...(await wakeParked(ctx.db, projectId)),
    ])
    return { pause: ended }
  },
})

/** How many runs a transaction, and how many rows a statement makes due. */
const batch = { runs: 100, rows: 1000 }

/**
 * Makes due what is parked in a project. Whatever another pause holds is parked again. Not in the transaction that ends the
 * pause: who parks a row holds it, and waits for that transaction.
 */
async function wakeParked(db: Database, projectId: string): Promise<Hint[]> {
  await query(db, wakeDirectCalls(projectId))
  const delayed = (await query<{ id: string }>(db, delayedRuns(projectId))).map(({ id }) => id)
  for (let from = 0; from < delayed.length; from += batch.runs)
    await wakeDelayed(db, projectId, delayed.slice(from, from + batch.runs))
  for (let woken = batch.rows; woken === batch.rows;) woken = await wakeQueued(db, projectId)
  return [
    { kind: 'work', table: 'generations' },
    { kind: 'work', table: 'tool_calls' },
    ...delayed.map((id): Hint => ({ kind: 'signal', name: 'recheck', id })),
  ]
}

/**
 * Takes the delays of these runs' calls away under the locks of the runs: a worker that reads them before waits until they
 * are due, and commits that before they are made due here.
 */
async function wakeDelayed(db: Database, projectId: string, ids: readonly string[]): Promise<void> {
  await atomically(db, async (tx) => {
    await lockOwners(
      tx,
      ids.map((id) => ({ table: 'generations', id, projectId })),
    )
    await query(tx, wakeCallsOf(ids))
    await query(
      tx,
      sql`update generations set wake_at = now()
        where id in ${[...ids]} and wake_at > now() and status in ('QUEUED', 'WAITING')`,
    )
  })
}

/** Makes runs due that wait for their next step. Returns how many. */
async function wakeQueued(db: Database, projectId: string): Promise<number> {
  const rows = await query(
    db,
    sql`with due as (
        select id
        from generations
        where project_id = ${projectId} and wake_at > now() and status = 'QUEUED'
        order by depth desc, id
        limit ${batch.rows}
        for update
      )
      update generations as g
      set wake_at = now()
      from due
      where g.id = due.id
      returning 1`,
  )
  return rows.length
}
