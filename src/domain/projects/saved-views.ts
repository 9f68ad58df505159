/** Saved views: addresses of the dashboard, such as a filtered list, with a name, for one person or for all of a project. */
import { z } from 'zod'
import { eq, inArray } from 'drizzle-orm'
import { text } from '../../core/check.ts'
import { AppError } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import { writeJson } from '../../core/json.ts'
import type { Page } from '../../core/page.ts'
import { entity, idOf, part } from '../../core/shapes.ts'
import * as view from '../../core/view.ts'
import { atomically, query, type Database } from '../../store/db/database.ts'
import { listPage } from '../../store/db/lists.ts'
import { selectRows } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { savedViews } from '../../store/db/tables/access.ts'
import {
  assertMay,
  assertStillValid,
  deletion,
  inProject,
  operation,
  projectOf,
  reachable,
  recordChange,
  type Ctx,
} from '../access/index.ts'

/** The owner of a view of the project. */
const everybody = ''

/** The most views of one owner. */
const mostViews = 100

export const savedView = part('SavedView', 'An address of the dashboard that was saved under a name.', {
  id: idOf('savedView', 'saved view'),
  name: view.text('The name of the saved view.'),
  address: view.text('The path and query in the dashboard, such as /runs?status=FAILED.'),
  shared: view.flag('Whether the view is for all of the project, and not only for the client that saved it.'),
  createdBy: view.principal('createdBy', 'The principal that saved the view.'),
  createdAt: view.date('When the view was first saved.'),
})
export interface SavedView extends z.output<typeof savedView> {
  projectId: string
}

export const SavedView = entity<SavedView>()('SavedView')

const viewOf = (row: typeof savedViews.$inferSelect): SavedView => ({
  ...row,
  shared: row.owner === everybody,
})

/** A path of this server, and nothing that a browser would take for another one. */
const isOwnPath = (address: string): boolean =>
  /^\/(?![/\\])[^\s\p{C}\\#]*$/u.test(address) && URL.canParse(address, 'http://own.invalid')

/** LIMITED beyond 100 own views, and beyond 100 of the project; NAME_TAKEN when one is not to be replaced. */
export const saveView = operation({
  name: 'saveView',
  does:
    'Saves an address of the dashboard under a name, for the caller or for the project; one with the same name is ' +
    'replaced only when asked.',
  permission: 'views:Save',
  input: z
    .object({
      ...inProject,
      name: text(80, 1).describe('The name of the saved view, at most 80 characters.'),
      address: z
        .string()
        .max(2000)
        .refine(isOwnPath, 'must be a path of the dashboard with its query, such as /runs?status=FAILED')
        .describe('The path and query in the dashboard, at most 2,000 characters.'),
      shared: z
        .boolean()
        .nullish()
        .describe(
          'Whether the view is for all of the project, which needs the permission views:Share. Default: false.',
        ),
      replace: z
        .boolean()
        .nullish()
        .describe('Whether a view of the same owner with this name is replaced. Default: false.'),
    })
    .describe('The saved view to create or replace.'),
  payload: z
    .object({ view: SavedView.describe('The saved view after the mutation.') })
    .describe('The saved view after the mutation.'),
  refuses: ['NOT_FOUND', 'LIMITED', 'NAME_TAKEN'],
  async run(ctx, { name, address, shared, replace, ...given }) {
    const projectId = await projectOf(ctx, given.projectId)
    const action = shared ? 'views:Share' : 'views:Save'
    await assertMay(ctx, 'views:Save', projectId, 'view/*')
    if (shared) await assertMay(ctx, action, projectId, 'view/*')
    const owner = shared ? everybody : ctx.principal.id
    const saved = await atomically(ctx.db, async (tx) => {
      await assertStillValid(tx, ctx.principal)
      const own = { id: newId('savedView'), projectId, owner, name, address, createdBy: ctx.principal.id }
      const target = [savedViews.projectId, savedViews.owner, savedViews.name]
      const insert = tx.insert(savedViews).values(own)
      const [row] = await (
        replace
          ? insert.onConflictDoUpdate({ target, set: { address } })
          : insert.onConflictDoNothing({ target })
      ).returning()
      if (!row) throw new AppError('NAME_TAKEN', `There is a saved view named ${writeJson(name)} already.`)
      await assertFew(tx, projectId, owner)
      await recordChange(tx, ctx, { projectId, action, resource: `view/${row.id}` })
      return viewOf(row)
    })
    return { view: saved }
  },
})

/** After the insertion, which another one of the same owner may have raced with: a few more do no harm. */
async function assertFew(tx: Database, projectId: string, owner: string): Promise<void> {
  const [count] = await query<{ n: number }>(
    tx,
    sql`select count(*)::int as n from saved_views where project_id = ${projectId} and owner = ${owner}`,
  )
  if (count!.n > mostViews)
    throw new AppError(
      'LIMITED',
      `There is a limit of ${mostViews} saved views. Delete one that is not used.`,
    )
}

export const deleteView = operation({
  name: 'deleteView',
  does: 'Deletes a saved view: an own one, or, with the permission views:Share, one of the project.',
  permission: 'views:Save',
  input: z.object({ viewId: idOf('savedView', 'saved view') }).describe('The saved view to delete.'),
  payload: deletion,
  refuses: ['NOT_FOUND'],
  async run(ctx, { viewId: id }) {
    const [row] = await selectRows(ctx.db, savedViews, sql`where id = ${id}`)
    // To others an own view does not exist.
    const own = row && [everybody, ctx.principal.id].includes(row.owner) ? row : undefined
    const { projectId, owner } = reachable(ctx, own, 'saved view', id)
    const action = owner === everybody ? 'views:Share' : 'views:Save'
    await assertMay(ctx, 'views:Save', projectId, `view/${id}`)
    if (owner === everybody) await assertMay(ctx, action, projectId, `view/${id}`)
    const deleted = await atomically(ctx.db, async (tx) => {
      await assertStillValid(tx, ctx.principal)
      const rows = await tx.delete(savedViews).where(eq(savedViews.id, id)).returning({ id: savedViews.id })
      if (rows.length > 0)
        await recordChange(tx, ctx, { projectId, action, resource: `view/${id}`, details: { deleted: true } })
      return rows.length > 0
    })
    return { deletedId: deleted ? id : null, deleted }
  },
})

/** The caller's own saved views and those of the project, newest first. Action `views:List`. */
export async function listSavedViews(
  ctx: Ctx,
  input: { projectId?: string | null | undefined; page: Page },
): Promise<SavedView[]> {
  const projectId = await projectOf(ctx, input.projectId)
  await assertMay(ctx, 'views:List', projectId, 'view/*')
  const visible = inArray(savedViews.owner, [everybody, ctx.principal.id])
  return (await listPage(ctx.db, savedViews, projectId, input.page, visible)).map(viewOf)
}
