/** The registry: tools are saved, versioned, found and listed. */
import { and, eq } from 'drizzle-orm'
import { z } from 'zod'
import { check, text } from '../../core/check.ts'
import { invalidAt } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import type { Page } from '../../core/page.ts'
import { atomically, type Database } from '../../store/db/database.ts'
import { containsText, listPage } from '../../store/db/keyset.ts'
import { selectRows } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { tools } from '../../store/db/tables/tools.ts'
import {
  assertMay,
  eachSeen,
  assertQuota,
  projectOf,
  reachable,
  type Ctx,
  publishSurface,
  guardName,
  changedMeanwhile,
} from '../access/index.ts'
import { assertOneMayRegate } from '../projects/index.ts'
import { checkDefinition, type ToolInput } from './definition.ts'
import { checkOutside, dropOutside, refreshOutside, saveOutside } from './outside.ts'
import { gateFactsOf } from './gate-facts.ts'
import { checkActionTitles } from './gate-titles.ts'
import { inputOf } from './regate.ts'
import type { Tool } from './tool.ts'
import { insertVersion, saveVersion, storedDefinition, recordToolChange, toolOf } from './versions.ts'

export type CreateToolInput = ToolInput & { projectId?: string | null | undefined }
export type UpdateToolInput = { [Field in keyof ToolInput]?: ToolInput[Field] | null | undefined } & {
  id: string
  expectedVersion?: number | null | undefined
}

/**
 * Saves a new tool as version 1. Action `tools:Create`. INVALID lists every fault; NAME_TAKEN when the project has a
 * tool of that name. Writes tool, version, upstream, audit entry and event together. Waits a few seconds for the first
 * refresh of an upstream; an unreachable one is a state, not an error.
 */
export async function createTool(ctx: Ctx, input: CreateToolInput): Promise<Tool> {
  const projectId = await projectOf(ctx, input.projectId)
  await assertMay(ctx, 'tools:Create', projectId, 'tool/*')
  const definition = checkDefinition(input, ctx, projectId)
  await checkOutside(ctx, projectId, definition)
  const id = newId('tool')
  const tool = await guardName('tool', definition.name, () =>
    atomically(ctx.db, async (tx) => {
      await assertQuota(tx, ctx, tools, projectId, 'tools')
      const { name, kind } = definition
      const stored = storedDefinition(definition, 1)
      const [row] = await tx
        .insert(tools)
        .values({ id, projectId, name, kind, definition: stored })
        .returning()
      await insertVersion(tx, ctx, row!)
      await saveOutside(tx, toolOf(row!))
      await recordToolChange(tx, ctx, 'create', toolOf(row!))
      return toolOf(row!)
    }),
  )
  publishSurface(ctx, projectId)
  await refreshOutside(ctx, tool, null)
  return tool
}

/** How often a change is computed again after concurrent changes of the same tool. */
const maxTries = 5

/**
 * Changes the given fields and keeps the rest. Every update makes a new version; calls already proposed keep theirs.
 * With `expectedVersion` it fails with CONFLICT after a concurrent change; without it the change is applied on top of
 * that one. Action `tools:Update`, and `gates:Update` for whatever decides about calls (see gateFactsOf); CONFLICT for
 * that in a project where changes of gates need a second person.
 */
export async function updateTool(ctx: Ctx, input: UpdateToolInput): Promise<Tool> {
  for (let tries = 1; ; tries++) {
    const known = await findTool(ctx, input.id)
    await assertMay(ctx, 'tools:Update', known.projectId, `tool/${known.id}`)
    const { expectedVersion } = input
    if (typeof expectedVersion === 'number' && expectedVersion !== known.version)
      throw changedMeanwhile('tool')
    const definition = checkDefinition(
      { ...inputOf(known), ...withoutUndefined(input) },
      ctx,
      known.projectId,
      known,
    )
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
      return tool
    }
    if (tries === maxTries) throw changedMeanwhile('tool')
  }
}

/** Deletes a tool. Calls already proposed run to their end with their version. Action `tools:Delete`. */
export async function deleteTool(ctx: Ctx, input: { id: string }): Promise<Tool> {
  const known = await findTool(ctx, input.id)
  await assertMay(ctx, 'tools:Delete', known.projectId, `tool/${known.id}`)
  await atomically(ctx.db, async (tx) => {
    const rows = await tx.delete(tools).where(eq(tools.id, known.id)).returning({ id: tools.id })
    if (rows.length === 0) return
    await dropOutside(tx, known)
    await recordToolChange(tx, ctx, 'delete', known)
  })
  publishSurface(ctx, known.projectId)
  return known
}

/** Tools by id; null for those that do not exist for the caller. Action `tools:Get` on each. */
export async function getTools(ctx: Ctx, ids: readonly string[]): Promise<(Tool | null)[]> {
  const rows = await loadTools(ctx.db, ids)
  return eachSeen(ctx, ids, rows, 'tools:Get', (tool) => `tool/${tool.id}`)
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
  const { name } = check(partShape, { name: input.name ?? undefined }, [])
  const where = and(
    input.kind ? eq(tools.kind, input.kind) : undefined,
    name === undefined ? undefined : containsText(tools.name, name),
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

function withoutUndefined<T extends object>(value: T): Partial<T> {
  return Object.fromEntries(Object.entries(value).filter(([, v]) => v !== undefined)) as Partial<T>
}
