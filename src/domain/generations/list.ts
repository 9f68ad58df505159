/**
 * Lists generations: of a project with a filter, and the descendants of one; and how many there are of what has become
 * of them.
 */
import * as view from '../../core/view.ts'
import { idShape, optional, part } from '../../core/shapes.ts'
import { and, eq, or } from 'drizzle-orm'
import { z } from 'zod'
import { searchedWords } from '../../core/check.ts'
import { kindOfId } from '../../core/ids.ts'
import type { Page, PlaceInList } from '../../core/page.ts'
import { query } from '../../store/db/database.ts'
import {
  createdFields,
  createdWithin,
  isOneOf,
  listPage,
  maxPageBytes,
  hasWords,
} from '../../store/db/lists.ts'
import { selectRowsWithin } from '../../store/db/rows.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { generations } from '../../store/db/tables/generations.ts'
import { assertMay, ownershipCondition, projectOf, type Ctx } from '../access/index.ts'
import { agentIdsNamed } from '../agents/index.ts'
import {
  generationOf,
  generationStatus,
  type Generation,
  type GenerationStatus,
  type StoredStatus,
} from './generation.ts'
import { hasFailed } from '../tool-calls/index.ts'
import { boundFields, withinBounds } from './bounds.ts'
import { treeOf } from './nesting/tree.ts'

export const generationFilter = part(
  'GenerationFilter',
  'Which generations of a project are listed: those that match all given fields.',
  {
    statuses: optional(
      z.array(generationStatus).describe('Only generations with one of these statuses.'),
      'any status',
    ),
    agentId: idShape('Only generations of the agent with this id.').nullish(),
    threadId: idShape('Only generations of the thread with this id.').nullish(),
    requestedBy: idShape('Only generations that the principal with this id started.').nullish(),
    failedToolId: idShape(
      'Only generations with a call of the tool with this id that failed: its status is ERRORED, INVALID or UNKNOWN.',
    ).nullish(),
    rootOnly: optional(z.boolean().describe('Whether child runs are left out.'), 'false'),
    search: z
      .string()
      .nullish()
      .describe(
        'Only generations with all these words, at most 200 characters, in the name of the agent or in the first line of the ' +
          'first user message; the last word may be a beginning, and letter case does not matter. Found too are the whole id of a ' +
          'generation (with the child runs below it), of a thread or of an agent, a part of the name of an agent of the project ' +
          '(of more than 100 such agents the newest 100 count), and the code of an error. Generations of earlier releases ' +
          'have no words.',
      ),
    ...boundFields,
    ...createdFields('generations'),
  },
)
export type GenerationFilter = z.output<typeof generationFilter>

/**
 * Generations of a project, newest first, all or those that match the filter. Action `generations:List`.
 */
export async function listGenerations(
  ctx: Ctx,
  input: {
    projectId?: string | null | undefined
    filter?: GenerationFilter | null | undefined
    /** Only child runs of this generation. */
    parentId?: string | null | undefined
    /** Only retries of this generation. */
    retryOfId?: string | null | undefined
    page: Page
  },
): Promise<Generation[]> {
  const { projectId, where } = await listCondition(ctx, input)
  return (await listPage(ctx.db, generations, projectId, input.page, where)).map(generationOf)
}

/** How many generations match the filter, counted up to `most`. Action `generations:List`. */
export async function countGenerations(
  ctx: Ctx,
  input: { filter?: GenerationFilter | null | undefined },
  most: number,
): Promise<number> {
  const { projectId, where } = await listCondition(ctx, input)
  const matching = and(eq(generations.projectId, projectId), where)!
  const rows = await query<{ count: number }>(
    ctx.db,
    sql`select count(*)::int as count
      from (select 1 from ${generations} where ${matching} limit ${most}) as matching`,
  )
  return rows[0]!.count
}

/**
 * The ids of generations that match the filter, have not ended and were not asked to end, oldest first, at most `most`.
 * Action `generations:List`.
 */
export async function listToCancel(
  ctx: Ctx,
  input: { projectId?: string | null | undefined; filter: GenerationFilter },
  most: number,
): Promise<string[]> {
  const { projectId, where } = await listCondition(ctx, input)
  const g = generations
  const open = and(eq(g.projectId, projectId), isOneOf(g.status, openStatuses), where)!
  const rows = await query<{ id: string }>(
    ctx.db,
    sql`select id from ${g} where ${open} and cancel_requested_at is null order by created_at, id limit ${most}`,
  )
  return rows.map(({ id }) => id)
}

/** The project and the condition of a list, for a caller who may list. */
async function listCondition(
  ctx: Ctx,
  input: {
    projectId?: string | null | undefined
    filter?: GenerationFilter | null | undefined
    parentId?: string | null | undefined
    retryOfId?: string | null | undefined
  },
): Promise<{ projectId: string; where: SQL | undefined }> {
  const projectId = await projectOf(ctx, input.projectId)
  await assertMay(ctx, 'generations:List', projectId, 'generation/*', { reached: true })
  const filter = input.filter ?? {}
  const g = generations
  const where = and(
    input.parentId ? eq(g.parentId, input.parentId) : undefined,
    input.retryOfId ? eq(g.retryOfId, input.retryOfId) : undefined,
    filter.agentId ? eq(g.agentId, filter.agentId) : undefined,
    filter.threadId ? eq(g.threadId, filter.threadId) : undefined,
    filter.requestedBy ? eq(g.requestedBy, filter.requestedBy) : undefined,
    filter.failedToolId
      ? sql`exists (
          select 1 from tool_calls as c
          where c.generation_id = ${g.id} and c.tool_id = ${filter.failedToolId} and ${hasFailed}
        )`
      : undefined,
    filter.rootOnly ? sql`${g.parentId} is null` : undefined,
    filter.statuses ? hasAnyStatus(filter.statuses) : undefined,
    createdWithin(g, filter),
    withinBounds(filter),
    typeof filter.search === 'string' ? found(projectId, filter.search) : undefined,
    ownershipCondition(ctx, 'generation/*', g.requestedBy),
  )
  return { projectId, where }
}

/**
 * All descendants of a generation in one list: first its child runs, then theirs, each level oldest first, so that a
 * parent always precedes its children. Actions `generations:List`, and `generations:Get` on the generation.
 */
export async function listDescendants(ctx: Ctx, top: Generation, page: Page): Promise<Generation[]> {
  await assertMay(ctx, 'generations:List', top.projectId, 'generation/*', { reached: true })
  await assertMay(ctx, 'generations:Get', top.projectId, `generation/${top.id}`, { by: top.requestedBy })
  // A chain has few levels and a root few descendants (nesting/limits.ts): all of them are found by their parents.
  const place = sql`(depth, created_at, id)`
  const value = ({ at, id }: PlaceInList) =>
    sql`((select depth from generations where id = ${id}), ${new Date(at).toISOString()}::timestamptz, ${id})`
  const order = page.inverted ? sql`desc` : sql`asc`
  const rows = await selectRowsWithin(
    ctx.db,
    generations,
    sql`where id in (
        with recursive ${treeOf(sql`select id as top, id from generations where id = ${top.id}`)}
        select id from tree where id <> top
      )
      and ${page.after ? sql`${place} > ${value(page.after)}` : sql`true`}
      and ${page.before ? sql`${place} < ${value(page.before)}` : sql`true`}
      order by depth ${order}, created_at ${order}, id ${order}
      limit ${page.limit}`,
    maxPageBytes,
  )
  return rows.map(generationOf)
}

/**
 * The condition of a text. Every alternative has an index: the text is an id as a whole, or part of the name of an
 * agent, which is looked for among the agents of the project (their number is limited) and not in the generations.
 */
function matches(projectId: string, wanted: string): SQL {
  const g = generations
  const kind = kindOfId(wanted)
  if (kind === 'generation') return or(eq(g.id, wanted), eq(g.rootId, wanted))!
  if (kind === 'agent') return eq(g.agentId, wanted)
  // A thread that a generation began has the form of its id.
  if (kind === 'thread') return eq(g.threadId, wanted)
  return sql`${g.agentId} = any(array(${agentIdsNamed(projectId, wanted)}))`
}

/** The condition of a search: words, or what `matches` finds, or the code of an error. Each alternative has an index. */
function found(projectId: string, search: string): SQL {
  const words = searchedWords(search)
  const wanted = search.trim()
  const code = /^[a-z_]+$/i.test(wanted) ? wanted.toUpperCase() : null
  const failed = code && and(isOneOf(generations.status, failedStatuses), eq(generations.errorCode, code))
  return or(hasWords(generations.search, words), matches(projectId, wanted), ...(failed ? [failed] : []))!
}

/** Stored statuses that `generations_open` and `generations_not_completed` hold: the two partial indexes. */
const openStatuses = ['QUEUED', 'RUNNING', 'WAITING'] as const satisfies readonly StoredStatus[]
const failedStatuses = ['FAILED', 'CANCELLED', 'EXPIRED'] as const satisfies readonly StoredStatus[]
const derived: readonly GenerationStatus[] = ['RUNNING', 'REQUIRES_ACTION', 'AWAITING_APPROVAL']

/** The rows with any of these statuses in the API. Final ones and open ones are each found by a partial index. */
function hasAnyStatus(statuses: readonly GenerationStatus[]): SQL {
  const { status } = generations
  const isFailed = (one: string) => (failedStatuses as readonly string[]).includes(one)
  const failed = statuses.filter(isFailed)
  const open = statuses.filter((one) => one === 'QUEUED' || derived.includes(one))
  const conditions = [
    statuses.includes('COMPLETED') ? sql`${status} = 'COMPLETED'` : undefined,
    failed.length > 0 ? isOneOf(status, failed) : undefined,
    open.length > 0 ? and(isOneOf(status, openStatuses), or(...open.map(hasStatus))) : undefined,
  ]
  return or(...conditions) ?? sql`false`
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

const generationGroup = part(
  'GenerationGroup',
  'Numbers of generations by what has become of them, of one agent or of all.',
  {
    id: view
      .object(
        'agent',
        'Agent',
        'The agent; null for all agents, and when it was deleted or is hidden from this API key.',
        'The id of the agent, which may be deleted by now; null for all agents.',
      )
      .nullable(),
    completed: view.int('The number of generations that completed.'),
    failed: view.int('The number of generations that failed.'),
    cancelled: view.int('The number of generations that were cancelled.'),
    expired: view.int('The number of generations that reached their deadline.'),
    open: view.int('The number of generations that have not ended.'),
  },
)
type GenerationGroup = z.output<typeof generationGroup>
type GenerationNumbers = Omit<GenerationGroup, 'id'>

export const generationTally = part('GenerationTally', 'How many generations a list has.', {
  total: generationGroup.describe('The generations of the list.'),
  groups: z.array(generationGroup).describe('The groups, those with the most generations first.'),
  isComplete: view.flag('Whether everything was counted: counting stops at 10,000 generations.'),
})
export type GenerationTally = z.output<typeof generationTally>

const countLimit = 10_000
const mostGroups = 50

/** How many generations of a list there are. Action `generations:List`. INVALID as `listGenerations`. */
export async function tallyGenerations(
  ctx: Ctx,
  input: { projectId?: string | null | undefined; filter?: GenerationFilter | null | undefined },
): Promise<GenerationTally> {
  const { projectId, where } = await listCondition(ctx, input)
  const g = generations
  const rows = await query<GenerationGroup>(
    ctx.db,
    sql`select agent_id as id,
        count(*) filter (where status = 'COMPLETED')::int as completed,
        count(*) filter (where status = 'FAILED')::int as failed,
        count(*) filter (where status = 'CANCELLED')::int as cancelled,
        count(*) filter (where status = 'EXPIRED')::int as expired,
        count(*) filter (where status in ('QUEUED', 'RUNNING', 'WAITING'))::int as open
      from (
        select agent_id, status
        from ${g}
        where ${and(eq(g.projectId, projectId), where)!}
        limit ${countLimit}
      ) as matching
      group by agent_id
      order by count(*) desc, agent_id`,
  )
  const total: GenerationNumbers = { completed: 0, failed: 0, cancelled: 0, expired: 0, open: 0 }
  for (const row of rows)
    for (const name of Object.keys(total) as (keyof GenerationNumbers)[]) total[name] += row[name]
  const counted = Object.values(total).reduce((sum, number) => sum + number, 0)
  return {
    total: { id: null, ...total },
    groups: rows.slice(0, mostGroups),
    isComplete: counted < countLimit,
  }
}
