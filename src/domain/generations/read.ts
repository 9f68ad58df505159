/** Reads generations and their steps. */
import { and, eq, sql, type SQL } from 'drizzle-orm'
import type { Page } from '../../core/page.ts'
import type { Database } from '../../store/db/database.ts'
import { listPage } from '../../store/db/keyset.ts'
import { selectRows } from '../../store/db/rows.ts'
import { generations, steps } from '../../store/db/tables/generations.ts'
import { assertMay, eachSeen, projectOf, reachable, type Ctx } from '../access/index.ts'
import { generationOf, stepOf, type Generation, type GenerationStatus, type Step } from './generation.ts'

/** Generations by id, null for what does not exist for the caller. Action `generations:Get` on each. */
export async function getGenerations(ctx: Ctx, ids: readonly string[]): Promise<(Generation | null)[]> {
  const rows = await loadGenerations(ctx.db, ids)
  return eachSeen(
    ctx,
    ids,
    rows,
    'generations:Get',
    ({ id }) => `generation/${id}`,
    ({ requestedBy }) => ({ by: requestedBy }),
  )
}

/** Generations of a project, newest first, all or of one agent, thread or status. Action `generations:List`. */
export async function listGenerations(
  ctx: Ctx,
  input: {
    projectId?: string | null | undefined
    agentId?: string | null | undefined
    threadId?: string | null | undefined
    status?: GenerationStatus | null | undefined
    /** Only child runs of this generation. */
    parentId?: string | null | undefined
    page: Page
  },
): Promise<Generation[]> {
  const projectId = projectOf(ctx, input.projectId)
  await assertMay(ctx, 'generations:List', projectId, 'generation/*')
  const g = generations
  const where = and(
    input.agentId ? eq(g.agentId, input.agentId) : undefined,
    input.threadId ? eq(g.threadId, input.threadId) : undefined,
    input.parentId ? eq(g.parentId, input.parentId) : undefined,
    input.status ? hasStatus(input.status) : undefined,
  )
  return (await listPage(ctx.db, g, projectId, input.page, where)).map(generationOf)
}

/** The rows with this status in the API (see `shownStatus`), by their own open calls and those of their descendants. */
function hasStatus(status: GenerationStatus): SQL {
  const { id, status: stored } = generations
  if (!['RUNNING', 'REQUIRES_ACTION', 'AWAITING_APPROVAL'].includes(status)) return eq(stored, status)
  const waitsFor = (callStatus: string) =>
    sql`exists (
        with recursive tree as (
          select ${id} as id
          union all
          select c.id
          from tree
          join generations as c on c.parent_id = tree.id
        )
        select 1
        from tree
        join tool_calls as t on t.generation_id = tree.id
        where t.status = ${callStatus} and t.settled_at is null
      )`
  const client = waitsFor('AWAITING_CLIENT')
  const gate = waitsFor('AWAITING_APPROVAL')
  const run = sql`exists (
      select 1
      from tool_calls
      where generation_id = ${id}
        and status = 'EXECUTING'
        and child_id is not null
        and settled_at is null
    )`
  if (status === 'RUNNING')
    return sql`(${stored} = 'RUNNING' or (${stored} = 'WAITING' and not ${client} and not ${gate} and ${run}))`
  return status === 'REQUIRES_ACTION'
    ? sql`(${stored} = 'WAITING' and (${client} or (not ${gate} and not ${run})))`
    : sql`(${stored} = 'WAITING' and not ${client} and ${gate})`
}

/** Generations by id, in no order. Checks no permission. */
export async function loadGenerations(db: Database, ids: readonly string[]): Promise<Generation[]> {
  if (ids.length === 0) return []
  return (await selectRows(db, generations, sql`where id in ${[...ids]}`)).map(generationOf)
}

/** The generation if it exists for the caller, else NOT_FOUND. Checks no permission. */
export async function findGeneration(ctx: Ctx, id: string): Promise<Generation> {
  const [generation] = await loadGenerations(ctx.db, [id])
  return reachable(ctx, generation, 'generation', id)
}

/** Steps by id, null for what does not exist for the caller. Action `generations:Get` on the generation. */
export async function getSteps(ctx: Ctx, ids: readonly string[]): Promise<(Step | null)[]> {
  const stored = ids.length > 0 ? await selectRows(ctx.db, steps, sql`where id in ${[...ids]}`) : []
  const rows = stored.map((row) => stepOf(row))
  const owners = await loadGenerations(
    ctx.db,
    rows.map((step) => step.generationId),
  )
  const by = new Map(owners.map(({ id, requestedBy }) => [id, requestedBy]))
  return eachSeen(
    ctx,
    ids,
    rows,
    'generations:Get',
    (step) => `generation/${step.generationId}`,
    (step) => ({ by: by.get(step.generationId) ?? null }),
  )
}
