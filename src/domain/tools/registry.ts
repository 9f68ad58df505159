/** The registry: tools are saved, versioned, found and listed. */
import { and, eq } from 'drizzle-orm'
import { z } from 'zod'
import { check, text } from '../../core/check.ts'
import { invalidAt } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import { looseningOf, fieldShapes } from '../../core/field-list.ts'
import type { Page } from '../../core/page.ts'
import { idOf, resetOnNull, part } from '../../core/shapes.ts'
import { atomically, type Database } from '../../store/db/database.ts'
import { containsText, listPage } from '../../store/db/lists.ts'
import { selectRows } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { tools } from '../../store/db/tables/tools.ts'
import {
  assertMay,
  visibleRows,
  assertQuota,
  inProject,
  ofVersion,
  operation,
  projectOf,
  reachable,
  type Ctx,
  publishSurface,
  guardName,
  changedMeanwhile,
} from '../access/index.ts'
import { assertOneMayRegate } from '../projects/index.ts'
import { changedDefinition, newDefinition } from './definition.ts'
import { toolFields } from './fields.ts'
import { checkOutside, dropOutside, refreshOutside, saveOutside } from './outside.ts'
import { gateFactsOf, checkActionTitles } from './gates.ts'
import { Tool } from './callable.ts'
import { insertVersion, recordToolChange, saveVersion, storedDefinition, toolOf } from './versions.ts'

const { name, config, ...others } = fieldShapes(toolFields)
const changed = part('ToolPayload', 'The tool after the mutation; a deleted one as it was before.', {
  tool: Tool.describe('The tool after the mutation.'),
})

/**
 * Saves a new tool as version 1. INVALID lists every fault; NAME_TAKEN when the project has a tool of that name. Writes tool,
 * version, upstream, audit entry and event together. Waits a few seconds for the first refresh of an upstream; an unreachable
 * one is a state, not an error.
 */
export const createTool = operation({
  name: 'createTool',
  does: 'Creates a tool after checking its schemas, names and URL.',
  permission: 'tools:Create',
  isAction: true,
  input: z.object({ ...inProject, name, ...others, config }).describe('The tool to create.'),
  payload: changed,
  refuses: ['NAME_TAKEN', 'NOT_FOUND', 'LIMITED'],
  async run(ctx, input) {
    const projectId = await projectOf(ctx, input.projectId)
    await assertMay(ctx, 'tools:Create', projectId, 'tool/*')
    const definition = newDefinition(input, ctx, projectId)
    await checkOutside(ctx, projectId, definition)
    const id = newId('tool')
    const tool = await guardName('tool', definition.name, () =>
      atomically(ctx.db, async (tx) => {
        await assertQuota(tx, ctx, tools, projectId, 'tools')
        const { name: own, kind } = definition
        const [row] = await tx
          .insert(tools)
          .values({ id, projectId, name: own, kind, definition: storedDefinition(definition, 1) })
          .returning()
        await insertVersion(tx, ctx, row!)
        await saveOutside(tx, toolOf(row!))
        await recordToolChange(tx, ctx, 'create', toolOf(row!))
        return toolOf(row!)
      }),
    )
    publishSurface(ctx, projectId)
    await refreshOutside(ctx, tool, null)
    return { tool }
  },
})

/** How often a change is computed again after concurrent changes of the same tool. */
const maxTries = 5

/**
 * Every update makes a new version; calls already proposed keep theirs. With `expectedVersion` it fails with CONFLICT after a
 * concurrent change; without it the change is applied on top of that one. `gates:Update` is for whatever decides about calls
 * (see gateFactsOf); CONFLICT for that in a project where changes of gates need a second person.
 */
export const updateTool = operation({
  name: 'updateTool',
  does: 'Changes the given fields of a tool, keeps the others and increments the version.',
  permission: ['tools:Update', ['gates:Update', 'its gates']],
  isAction: true,
  loosening: looseningOf(toolFields),
  input: z
    .object({
      id: idOf('tool'),
      ...ofVersion,
      name: name.nullish().describe('The new name of the tool, unique in the project.'),
      ...resetOnNull(others),
      config: config.nullish().describe('The new settings; the kind must be the same. Default: unchanged.'),
    })
    .describe('The changes of a tool: fields that are left out keep their values.'),
  payload: changed,
  refuses: ['NAME_TAKEN', 'NOT_FOUND', 'CONFLICT'],
  async run(ctx, input) {
    for (let tries = 1; ; tries++) {
      const known = await findTool(ctx, input.id)
      await assertMay(ctx, 'tools:Update', known.projectId, `tool/${known.id}`)
      const { expectedVersion } = input
      if (typeof expectedVersion === 'number' && expectedVersion !== known.version)
        throw changedMeanwhile('tool')
      const definition = changedDefinition(input, ctx, known)
      if (definition.kind !== known.kind)
        throw invalidAt(
          ['input', 'config'],
          `must stay of the kind "${known.kind}": create a new tool for another kind`,
        )
      await checkOutside(ctx, known.projectId, definition)
      await checkActionTitles(ctx.db, known, definition)
      const regates = gateFactsOf(definition) !== gateFactsOf(known)
      if (regates) await assertMay(ctx, 'gates:Update', known.projectId, `tool/${known.id}`)
      const tool = await guardName('tool', definition.name, () =>
        atomically(ctx.db, async (tx) => {
          if (regates) await assertOneMayRegate(tx, known.projectId)
          return saveVersion(tx, ctx, known, definition)
        }),
      )
      if (tool) {
        publishSurface(ctx, tool.projectId)
        await refreshOutside(ctx, tool, known)
        return { tool }
      }
      if (tries === maxTries) throw changedMeanwhile('tool')
    }
  },
})

export const deleteTool = operation({
  name: 'deleteTool',
  does: 'Deletes a tool; calls that were requested before still run.',
  permission: 'tools:Delete',
  isAction: true,
  input: z.object({ id: idOf('tool') }).describe('The tool to delete.'),
  payload: changed,
  refuses: ['NOT_FOUND'],
  async run(ctx, input) {
    const known = await findTool(ctx, input.id)
    await assertMay(ctx, 'tools:Delete', known.projectId, `tool/${known.id}`)
    await atomically(ctx.db, async (tx) => {
      const rows = await tx.delete(tools).where(eq(tools.id, known.id)).returning({ id: tools.id })
      if (rows.length === 0) return
      await dropOutside(tx, known)
      await recordToolChange(tx, ctx, 'delete', known)
    })
    publishSurface(ctx, known.projectId)
    return { tool: known }
  },
})

/** Tools by id; null for those that do not exist for the caller. Action `tools:Get` on each. */
export async function getTools(ctx: Ctx, ids: readonly string[]): Promise<(Tool | null)[]> {
  const rows = await loadTools(ctx.db, ids)
  return visibleRows(ctx, ids, rows, 'tools:Get', (tool) => `tool/${tool.id}`)
}

const partShape = z.object({ name: text(100, 1).optional() })

/**
 * Tools of a project, newest first, all or those of one kind and with this part in their name, letters of any case.
 * Action `tools:List`. INVALID for a part that is empty or has more than 100 characters.
 */
export async function listTools(
  ctx: Ctx,
  input: {
    projectId?: string | null | undefined
    kind?: string | null | undefined
    name?: string | null | undefined
    page: Page
  },
): Promise<Tool[]> {
  const projectId = await projectOf(ctx, input.projectId)
  await assertMay(ctx, 'tools:List', projectId, 'tool/*')
  const { name: wanted } = check(partShape, { name: input.name ?? undefined }, [])
  const where = and(
    input.kind ? eq(tools.kind, input.kind) : undefined,
    wanted === undefined ? undefined : containsText(tools.name, wanted),
  )
  return (await listPage(ctx.db, tools, projectId, input.page, where)).map(toolOf)
}

/** Returns the tool, or throws NOT_FOUND when it does not exist for the caller. Checks no permission. */
export async function findTool(ctx: Ctx, id: string): Promise<Tool> {
  const [tool] = await loadTools(ctx.db, [id])
  return reachable(ctx, tool, 'tool', id)
}

/** Tools by id, in no particular order. Checks no permission. */
export async function loadTools(db: Database, ids: readonly string[]): Promise<Tool[]> {
  if (ids.length === 0) return []
  return (await selectRows(db, tools, sql`where id in ${[...ids]}`)).map(toolOf)
}
