/** Reads of pauses. */
import * as view from '../../core/view.ts'
import type { z } from 'zod'
import { kindOfId } from '../../core/ids.ts'
import type { Page } from '../../core/page.ts'
import { choice, entity, part, idOf } from '../../core/shapes.ts'
import { query, type Database } from '../../store/db/database.ts'
import { listPage } from '../../store/db/lists.ts'
import { selectRows } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { pauses } from '../../store/db/tables/access.ts'
import { pausesOfRun } from '../basis/index.ts'
import { assertMay, visibleRows, projectOf, type Ctx } from '../access/index.ts'

const pauseKind = choice('PauseKind', 'What a pause stops.', {
  PROJECT: 'Every model step and every tool call of the project.',
  AGENT: 'The model steps and tool calls of the generations of one agent, and of those below them.',
  TOOL: 'The calls of one tool.',
})

export const pauseShape = part(
  'Pause',
  'A pause of a project, an agent or a tool. While it holds, no model is called for it, and no tool call is sent or ' +
    'given to a client; what is under way is not touched, approvals can be decided, and deadlines wait.',
  {
    id: idOf('pause'),
    target: view.under('targetId', view.id('The id of the project, agent or tool.')),
    kind: pauseKind.describe('What the pause stops.'),
    targetName: view.text('What the project, agent or tool was called when it was paused.'),
    reason: view.text('The reason that was given; null for none.').nullable(),
    pausedBy: view.principal('pausedBy', 'The API key or person that paused it.'),
    createdAt: view.date('When the pause began.'),
    endedAt: view.date('When the pause ended; null while it holds.').nullable(),
    endedBy: view
      .principal('endedBy', 'The API key or person that ended it; null while it holds.')
      .nullable(),
  },
)
export interface Pause extends z.output<typeof pauseShape> {
  projectId: string
}

export const Pause = entity<Pause>()('Pause')

export function pauseOf(row: typeof pauses.$inferSelect): Pause {
  const kinds = { project: 'PROJECT', agent: 'AGENT', tool: 'TOOL' } as const
  return { ...row, kind: kinds[kindOfId(row.target) as keyof typeof kinds] }
}

/** The resource of permissions and audit entries: `tool/tool_…`. */
export function resourceOfPause({ kind, target }: Pick<Pause, 'kind' | 'target'>): string {
  return `${kind.toLowerCase()}/${target}`
}

/** Pauses by id, null for what does not exist for the caller. Action `projects:Get`. */
export async function getPauses(ctx: Ctx, ids: readonly string[]): Promise<(Pause | null)[]> {
  const rows = (await selectRows(ctx.db, pauses, sql`where id in ${[...ids]}`)).map(pauseOf)
  return visibleRows(ctx, ids, rows, 'projects:Get', ({ projectId }) => `project/${projectId}`)
}

/** Pauses of a project, newest first, all or those that hold. Action `projects:Get`. */
export async function listPauses(
  ctx: Ctx,
  input: { projectId?: string | null | undefined; active?: boolean | null | undefined; page: Page },
): Promise<Pause[]> {
  const projectId = await projectOf(ctx, input.projectId)
  await assertMay(ctx, 'projects:Get', projectId, `project/${projectId}`)
  const where = input.active ? sql`ended_at is null` : undefined
  return (await listPage(ctx.db, pauses, projectId, input.page, where)).map(pauseOf)
}

/** The pauses that hold for these targets, each null without one. Checks no permission. */
export async function loadOpenPauses(db: Database, targets: readonly string[]): Promise<(Pause | null)[]> {
  if (targets.length === 0) return []
  const rows = await selectRows(db, pauses, sql`where ended_at is null and target in ${[...targets]}`)
  const found = new Map(rows.map((row) => [row.target, pauseOf(row)]))
  return targets.map((target) => found.get(target) ?? null)
}

/** For each of these generations a pause that holds it, null without one. Checks no permission. */
export async function loadPausesOfRuns(db: Database, ids: readonly string[]): Promise<(Pause | null)[]> {
  if (ids.length === 0) return []
  const rows = await query<{ id: string; pause: string | null }>(
    db,
    sql`select g.id, (
        ${pausesOfRun(sql`g.id`)}
        order by open_pause.created_at
        limit 1
      ) as pause
      from generations as g
      where g.id in ${[...ids]} and exists (select 1 from pauses where ended_at is null)`,
  )
  const held = rows.flatMap(({ id, pause }) => (pause ? [[id, pause] as const] : []))
  if (held.length === 0) return ids.map(() => null)
  const pauseIds = [...new Set(held.map(([, pause]) => pause))]
  const found = await selectRows(db, pauses, sql`where id in ${pauseIds}`)
  const byId = new Map(found.map((row) => [row.id, pauseOf(row)]))
  const byRun = new Map(held)
  return ids.map((id) => byId.get(byRun.get(id) ?? '') ?? null)
}
