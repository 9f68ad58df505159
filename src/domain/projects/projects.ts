/** Projects: the tenants, and streams of their events. */
import * as view from '../../core/view.ts'
import { and, eq, inArray } from 'drizzle-orm'
import { z } from 'zod'
import { text, whole } from '../../core/check.ts'
import { AppError, invalidAt, notFound } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import type { Page } from '../../core/page.ts'
import { entity, idOf, part } from '../../core/shapes.ts'
import { atomically, type Database } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import { projects } from '../../store/db/tables/access.ts'
import {
  appendProjectEvents,
  projectUpdated,
  cursorAt,
  followProject,
  searchProject,
  type FeedFilter,
  type FeedPage,
  type FeedStream,
} from '../events/index.ts'
import {
  type Ctx,
  allows,
  assertMay,
  operation,
  publishNews,
  reaches,
  recordChange,
  memberOf,
  ownEvents,
  projectOf,
  reachesOthers,
  untilRevoked,
} from '../access/index.ts'

export const projectShape = part(
  'Project',
  'A tenant: every tool, agent, generation and key belongs to one project.',
  {
    id: idOf('project'),
    name: view.text('The display name of the project; it need not be unique.'),
    gatesNeedSecond: view.flag(
      'Whether a change of a gate must be confirmed by another person: see proposeGateChange.',
    ),
    runGraceSeconds: view.int(
      'How long a generation of a person (OIDC) may still act after the token expired, in seconds.',
    ),
    createdAt: view.date('When the project was created.'),
  },
)
export type Project = z.output<typeof projectShape>

export const Project = entity<Project>()('Project')

export async function insertProject(db: Database, name: string): Promise<Project> {
  const [row] = await db
    .insert(projects)
    .values({ id: newId('project'), name })
    .returning()
  return row!
}

const changed = part('ProjectPayload', 'The project after the mutation.', {
  project: Project.describe('The project after the mutation.'),
})
const name = text(100, 1).describe('The display name of the project, 1 to 100 characters.')

/** Not idempotent: names need not be unique. Any other key belongs to its own project. */
export const createProject = operation({
  name: 'createProject',
  does: "Creates a project. Only an operator's API key may; it can then create keys for the project.",
  permission: 'projects:Create',
  input: z.object({ name }).describe('The project to create.'),
  payload: changed,
  refuses: ['LIMITED'],
  async run(ctx, given) {
    await assertMay(ctx, 'projects:Create', ctx.principal.projectId, 'project/*')
    if (!ctx.principal.installation)
      throw new AppError('FORBIDDEN', "Only an operator's key may create projects.", {
        action: 'projects:Create',
      })
    return atomically(ctx.db, async (tx) => {
      const project = await insertProject(tx, given.name)
      const resource = `project/${project.id}`
      const details = { name: given.name }
      await recordChange(tx, ctx, { projectId: project.id, action: 'projects:Create', resource, details })
      return { project }
    })
  },
})

/** INVALID when `gatesNeedSecond` is true and the input sets it to false: that takes two people and proposeGateChange. */
export const updateProject = operation({
  name: 'updateProject',
  does: 'Changes the given fields of a project and keeps the others.',
  permission: 'projects:Update',
  input: z
    .object({
      id: idOf('project'),
      name: name.nullish(),
      runGraceSeconds: whole(0, 30 * 24 * 60 * 60)
        .describe(
          'How long a generation of a person (OIDC) may still act after the token expired: 0 to 2,592,000 seconds. ' +
            'A new project has 0.',
        )
        .nullish(),
      gatesNeedSecond: z
        .boolean()
        .describe(
          'Whether a change of a gate must be confirmed by another person. True needs the permission gates:Update ' +
            'too; once true, only proposeGateChange takes it back.',
        )
        .nullish(),
    })
    .describe('The changes of a project.'),
  payload: changed,
  refuses: ['NOT_FOUND'],
  async run(ctx, { id, gatesNeedSecond, ...given }) {
    const found = await findProject(ctx, id)
    const resource = `project/${id}`
    await assertMay(ctx, 'projects:Update', id, resource)
    if (gatesNeedSecond === true) await assertMay(ctx, 'gates:Update', id, resource)
    if (gatesNeedSecond === false && found.gatesNeedSecond)
      throw invalidAt(
        ['input', 'gatesNeedSecond'],
        'can be set to false only by two people: use proposeGateChange',
      )
    const set = {
      name: given.name ?? found.name,
      runGraceSeconds: given.runGraceSeconds ?? found.runGraceSeconds,
      // Never set to false here, so that a concurrent update that set it to true is kept.
      ...(gatesNeedSecond === true ? { gatesNeedSecond } : {}),
    }
    const project = await atomically(ctx.db, async (tx) => {
      const [row] = await tx.update(projects).set(set).where(eq(projects.id, id)).returning()
      await recordChange(tx, ctx, { projectId: id, action: 'projects:Update', resource, details: set })
      await appendProjectEvents(tx, id, [projectUpdated({})])
      return row!
    })
    publishNews(ctx, id)
    return { project }
  },
})

/** Projects by id, null for a project to which the caller has no access. Action `projects:Get` on each. */
export async function getProjects(ctx: Ctx, ids: readonly string[]): Promise<(Project | null)[]> {
  const reachableIds = ids.filter((id) => reaches(ctx, id))
  const rows =
    reachableIds.length > 0
      ? await ctx.db.select().from(projects).where(inArray(projects.id, reachableIds))
      : []
  const found = new Map(rows.map((row) => [row.id, row]))
  return Promise.all(
    ids.map(async (id) => {
      const project = found.get(id)
      if (!project) return null
      await assertMay(ctx, 'projects:Get', id, `project/${id}`)
      return project
    }),
  )
}

/** The projects to which the caller has access, newest first. Action `projects:List`. */
export async function listProjects(ctx: Ctx, input: { page: Page }): Promise<Project[]> {
  const own = ctx.principal.projectId
  await assertMay(ctx, 'projects:List', own, 'project/*')
  const { after, before, inverted, limit } = input.page
  const position = sql`(${projects.createdAt}, ${projects.id})`
  const value = (at: { at: number; id: string }) =>
    sql`(${new Date(at.at).toISOString()}::timestamptz, ${at.id})`
  const order = inverted ? sql`asc` : sql`desc`
  const rows = await ctx.db
    .select()
    .from(projects)
    .where(
      and(
        ctx.principal.installation ? undefined : inArray(projects.id, [own]),
        after && sql`${position} < ${value(after)}`,
        before && sql`${position} > ${value(before)}`,
      ),
    )
    .orderBy(sql`${projects.createdAt} ${order}, ${projects.id} ${order}`)
    .limit(limit)
  return rows.filter((row) => allows(ctx.principal.policy, 'projects:Get', `project/${row.id}`))
}

/**
 * Throws CONFLICT in a project where a second person must confirm changes of gates. Call it in the transaction of the
 * change: it locks the project, so that an update that sets this rule waits.
 */
export async function assertOneMayRegate(tx: Database, projectId: string): Promise<void> {
  const [project] = await tx
    .select({ needsSecond: projects.gatesNeedSecond })
    .from(projects)
    .where(eq(projects.id, projectId))
    .for('share')
  if (project?.needsSecond)
    throw new AppError(
      'CONFLICT',
      'In this project a second person must confirm changes of a gate, and of the arguments that a gate checks: leave both ' +
        'unchanged here and use proposeGateChange.',
    )
}

/** Sets `gatesNeedSecond` to false. The caller has checked that two people agreed to it. */
export async function dropSecondForGates(tx: Database, projectId: string): Promise<Project> {
  const [row] = await tx
    .update(projects)
    .set({ gatesNeedSecond: false })
    .where(eq(projects.id, projectId))
    .returning()
  return row!
}

/** The project when it exists for the caller, else NOT_FOUND. Checks no permission. */
export async function findProject(ctx: Ctx, id: string): Promise<Project> {
  const [found] = reaches(ctx, id) ? await ctx.db.select().from(projects).where(eq(projects.id, id)) : []
  if (!found) throw notFound('project', id)
  return found
}

/**
 * Every event of a project that the caller reaches after the cursor, then live, without end. Without a cursor it begins now, and its first
 * item tells where that is; with "0" at the beginning of the log. Action `events:Subscribe` on the project. CURSOR_EXPIRED, before the stream opens, when the
 * event of the cursor is not in the log any more.
 */
export async function watchProject(
  ctx: Ctx,
  input: {
    projectId?: string | null | undefined
    after?: string | null | undefined
    types?: readonly string[] | null | undefined
  },
): Promise<FeedStream> {
  const projectId = await projectOf(ctx, input.projectId)
  const resource = `project/${projectId}`
  await assertMay(ctx, 'events:Subscribe', projectId, resource, { reached: true })
  return untilRevoked(ctx, ownEvents(ctx, resource, await followProject(ctx, projectId, input)))
}

/**
 * The cursor of a project's feed at a newest position: following the feed after it gives everything that was committed
 * since that position was taken, and nothing that was committed before. Action `events:Subscribe` on the project.
 */
export async function feedCursor(ctx: Ctx, projectId: string, newest: number): Promise<string> {
  await assertMay(ctx, 'events:Subscribe', projectId, `project/${projectId}`, { reached: true })
  return cursorAt(ctx, projectId, newest)
}

/**
 * A page of the events of a project after the cursor, or from the beginning of the log, that match the filter. Action
 * `events:Subscribe` on the project. CURSOR_EXPIRED when the event of the cursor is not in the log any more.
 */
export async function listProjectEvents(
  ctx: Ctx,
  input: FeedFilter & {
    projectId?: string | null | undefined
    after?: string | null | undefined
    first: number
  },
): Promise<FeedPage> {
  const { projectId: given, ...rest } = input
  const projectId = await projectOf(ctx, given)
  const resource = `project/${projectId}`
  await assertMay(ctx, 'events:Subscribe', projectId, resource, { reached: true })
  const requesters = reachesOthers(ctx, resource) ? null : memberOf(ctx.principal.id)
  return searchProject(ctx, projectId, { ...rest, requesters })
}
