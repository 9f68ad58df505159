/** Projects: the tenants. */
import { and, inArray, sql } from 'drizzle-orm'
import { z } from 'zod'
import { check, text } from '../../core/check.ts'
import { AppError } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import type { Page } from '../../core/page.ts'
import { atomically, type Database } from '../../store/db/database.ts'
import { projects } from '../../store/db/tables/access.ts'
import { allows } from './policy.ts'
import { reaches, type Ctx } from './context.ts'
import { assertMay, recordChange } from './permission.ts'

export interface Project {
  id: string
  name: string
  createdAt: Date
}

export async function insertProject(db: Database, name: string): Promise<Project> {
  const [row] = await db
    .insert(projects)
    .values({ id: newId('project'), name })
    .returning()
  return row!
}

/**
 * Makes a project. Action `projects:Create`, and only for an operator's key: any other key belongs to its own project.
 * Not idempotent: names need not be unique.
 */
export async function createProject(ctx: Ctx, input: { name: string }): Promise<Project> {
  const { name } = check(z.object({ name: text(100, 1) }), input)
  await assertMay(ctx, 'projects:Create', ctx.principal.projectId, 'project/*')
  if (!ctx.principal.installation)
    throw new AppError('FORBIDDEN', "Only an operator's key may create projects.", {
      action: 'projects:Create',
    })
  return atomically(ctx.db, async (tx) => {
    const project = await insertProject(tx, name)
    const resource = `project/${project.id}`
    await recordChange(tx, ctx, {
      projectId: project.id,
      action: 'projects:Create',
      resource,
      details: { name },
    })
    return project
  })
}

/** Projects by id, null for what the caller cannot reach. Action `projects:Get` on each. */
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

/** The projects that the caller reaches, newest first. Action `projects:List`. */
export async function listProjects(ctx: Ctx, input: { page: Page }): Promise<Project[]> {
  const own = ctx.principal.projectId
  await assertMay(ctx, 'projects:List', own, 'project/*')
  const { after, before, inverted, limit } = input.page
  const place = sql`(${projects.createdAt}, ${projects.id})`
  const value = (at: { at: number; id: string }) =>
    sql`(${new Date(at.at).toISOString()}::timestamptz, ${at.id})`
  const order = inverted ? sql`asc` : sql`desc`
  const rows = await ctx.db
    .select()
    .from(projects)
    .where(
      and(
        ctx.principal.installation ? undefined : inArray(projects.id, [own]),
        after && sql`${place} < ${value(after)}`,
        before && sql`${place} > ${value(before)}`,
      ),
    )
    .orderBy(sql`${projects.createdAt} ${order}, ${projects.id} ${order}`)
    .limit(limit)
  return rows.filter((row) => allows(ctx.principal.policy, 'projects:Get', `project/${row.id}`))
}
