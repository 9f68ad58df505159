/** Operations on agents. */
import { and, eq } from 'drizzle-orm'
import { z } from 'zod'
import { check, text } from '../../core/check.ts'
import { newId } from '../../core/ids.ts'
import { looseningOf, fieldShapes } from '../../core/field-list.ts'
import type { Page } from '../../core/page.ts'
import { idOf, resetOnNull, part } from '../../core/shapes.ts'
import { atomically, type Database } from '../../store/db/database.ts'
import { containsText, listPage } from '../../store/db/lists.ts'
import { selectRows } from '../../store/db/rows.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { agents } from '../../store/db/tables/agents.ts'
import {
  assertMay,
  visibleRows,
  assertQuota,
  inProject,
  ofVersion,
  operation,
  projectOf,
  reachable,
  recordChange,
  type Ctx,
  publishSurface,
  guardName,
  changedMeanwhile,
} from '../access/index.ts'
import { assertOneMayRegate } from '../projects/index.ts'
import { agentCreated, agentDeleted, agentUpdated, appendProjectEvents } from '../events/index.ts'
import { gateInput, type GateInput } from '../gates/index.ts'
import { gateFactsOfAgent, recordGateChanged } from '../tools/index.ts'
import { Agent, changedSettings, newSettings, settingsOf } from './agent.ts'
import { agentFields, type OwnSettings } from './fields.ts'
import { checkTools } from './names.ts'
import { insertVersion, keepPresentVersion } from './version-list.ts'
import { memoryOf } from '../basis/index.ts'

const name = text(100, 1)
const { toolIds, ...others } = fieldShapes(agentFields)
const changed = part('AgentPayload', 'The agent after the mutation; a deleted one as it was before.', {
  agent: Agent.describe('The agent after the mutation.'),
})

/**
 * Its tools and agents must exist in the project and have different runtime names, and `toolChoice` and `stopConditions` must
 * name one of them; else INVALID. NAME_TAKEN when the project has an agent of that name. Writes agent, version, audit entry and
 * event together.
 */
export const createAgent = operation({
  name: 'createAgent',
  does: 'Creates an agent: a model, instructions, tools and the settings of its loop.',
  permission: 'agents:Create',
  isAction: true,
  input: z
    .object({
      ...inProject,
      name: name.describe('The name of the agent, unique in the project, 1 to 100 characters.'),
      toolIds,
      ...others,
    })
    .describe('The agent to create.'),
  payload: changed,
  refuses: ['NAME_TAKEN', 'NOT_FOUND', 'LIMITED'],
  async run(ctx, input) {
    const projectId = await projectOf(ctx, input.projectId)
    await assertMay(ctx, 'agents:Create', projectId, 'agent/*')
    const definition = newSettings(input, projectId)
    await checkTools(ctx, projectId, definition)
    const agent = await guardName('agent', input.name, () =>
      atomically(ctx.db, async (tx) => {
        await assertQuota(tx, ctx, agents, projectId, 'agents')
        const [row] = await tx
          .insert(agents)
          .values({ id: newId('agent'), projectId, name: input.name, definition })
          .returning()
        await insertVersion(tx, ctx, row!)
        await recordAgentChange(tx, ctx, 'create', agentOf(row!))
        return agentOf(row!)
      }),
    )
    publishSurface(ctx, projectId)
    return { agent }
  },
})

/** How often a change is computed again after concurrent changes of the same agent. */
const maxTries = 5

/**
 * Running generations keep their settings. CONFLICT for a gate in a project where changes of gates need a second person. With
 * `expectedVersion` it fails with CONFLICT after a concurrent change; without it the change is applied on top of that one.
 */
export const updateAgent = operation({
  name: 'updateAgent',
  does: 'Changes the given fields of an agent and keeps the others; null restores a default.',
  permission: ['agents:Update', ['gates:Update', 'gate']],
  isAction: true,
  loosening: looseningOf(agentFields),
  input: z
    .object({
      id: idOf('agent'),
      ...ofVersion,
      name: name.nullish().describe('The new name of the agent, unique in the project, 1 to 100 characters.'),
      toolIds: toolIds.describe(
        'The ids of the tools that the agent may call from then on, at most 1,000. Left out: unchanged; null: none.',
      ),
      ...resetOnNull(others),
    })
    .describe('The changes of an agent: fields that are left out keep their values.'),
  payload: changed,
  refuses: ['NAME_TAKEN', 'NOT_FOUND', 'CONFLICT'],
  async run(ctx, input) {
    for (let tries = 1; ; tries++) {
      const known = await findAgent(ctx, input.id)
      await assertMay(ctx, 'agents:Update', known.projectId, `agent/${known.id}`)
      const { expectedVersion } = input
      if (typeof expectedVersion === 'number' && expectedVersion !== known.version)
        throw changedMeanwhile('agent')
      const own = input.name ?? known.name
      const definition = changedSettings(input, known, known.projectId)
      await checkTools(ctx, known.projectId, definition, { id: known.id, name: own })
      const regates = gateFactsOfAgent(definition) !== gateFactsOfAgent(known)
      if (regates) await assertMay(ctx, 'gates:Update', known.projectId, `agent/${known.id}`)
      const agent = await guardName('agent', own, () =>
        atomically(ctx.db, async (tx) => {
          if (regates) await assertOneMayRegate(tx, known.projectId)
          return saveVersion(tx, ctx, known, { ...definition, name: own })
        }),
      )
      if (agent) {
        publishSurface(ctx, agent.projectId)
        return { agent }
      }
      if (tries === maxTries) throw changedMeanwhile('agent')
    }
  },
})

/** Saves settings as the next version; null when the agent no longer has `known.version`. */
async function saveVersion(
  tx: Database,
  ctx: Ctx,
  known: Agent,
  { name: own, ...definition }: OwnSettings & { name: string },
): Promise<Agent | null> {
  await keepPresentVersion(tx, known)
  const [row] = await tx
    .update(agents)
    .set({ name: own, definition, version: sql`${agents.version} + 1`, updatedAt: sql`now()` })
    .where(and(eq(agents.id, known.id), eq(agents.version, known.version)))
    .returning()
  if (!row) return null
  const agent = agentOf(row)
  await insertVersion(tx, ctx, row)
  await recordAgentChange(tx, ctx, 'update', agent)
  if (gateFactsOfAgent(definition) !== gateFactsOfAgent(known))
    await recordGateChanged(tx, ctx, agent, { version: agent.version })
  return agent
}

/** Returns the settings of an agent with another gate, or with none, validated. Throws INVALID with every fault. */
export function withAgentGate(known: Agent, gate: GateInput | null): OwnSettings {
  return changedSettings(
    { gate: check(gateInput.nullable(), gate, ['input', 'gate']) },
    known,
    known.projectId,
  )
}

/** Sets the gate of an agent in the caller's transaction; null when the agent no longer has that version. */
export function regateAgent(
  tx: Database,
  ctx: Ctx,
  known: Agent,
  gate: GateInput | null,
): Promise<Agent | null> {
  return saveVersion(tx, ctx, known, { ...withAgentGate(known, gate), name: known.name })
}

export const deleteAgent = operation({
  name: 'deleteAgent',
  does: 'Deletes an agent; its generations are kept, and running ones go on.',
  permission: 'agents:Delete',
  isAction: true,
  input: z.object({ id: idOf('agent') }).describe('The agent to delete.'),
  payload: changed,
  refuses: ['NOT_FOUND'],
  async run(ctx, input) {
    const known = await findAgent(ctx, input.id)
    await assertMay(ctx, 'agents:Delete', known.projectId, `agent/${known.id}`)
    await atomically(ctx.db, async (tx) => {
      const rows = await tx.delete(agents).where(eq(agents.id, known.id)).returning({ id: agents.id })
      if (rows.length > 0) await recordAgentChange(tx, ctx, 'delete', known)
    })
    publishSurface(ctx, known.projectId)
    return { agent: known }
  },
})

/** Agents by id; null for those that do not exist for the caller. Action `agents:Get` on each. */
export async function getAgents(ctx: Ctx, ids: readonly string[]): Promise<(Agent | null)[]> {
  const rows = await loadAgents(ctx.db, ids)
  return visibleRows(
    ctx,
    ids,
    rows,
    'agents:Get',
    ({ id }) => `agent/${id}`,
    ({ id }) => ({ agentId: id }),
  )
}

/**
 * Agents of a project, newest first, all or those whose name has this part, letters of any case. Action `agents:List`.
 * INVALID for a part that is empty or has more than 100 characters.
 */
export async function listAgents(
  ctx: Ctx,
  input: { projectId?: string | null | undefined; name?: string | null | undefined; page: Page },
): Promise<Agent[]> {
  const projectId = await projectOf(ctx, input.projectId)
  await assertMay(ctx, 'agents:List', projectId, 'agent/*')
  const { name: wanted } = check(z.object({ name }).partial(), { name: input.name ?? undefined }, [])
  const where = wanted === undefined ? undefined : containsText(agents.name, wanted)
  return (await listPage(ctx.db, agents, projectId, input.page, where)).map(agentOf)
}

/** The ids of the agents of a project whose name has this part, as a subquery. Checks no permission. */
export function agentIdsNamed(projectId: string, wanted: string): SQL {
  return sql`select id from agents where project_id = ${projectId} and ${containsText(agents.name, wanted)}`
}

/** Returns the agent, or throws NOT_FOUND when it does not exist for the caller. Checks no permission. */
export async function findAgent(ctx: Ctx, id: string): Promise<Agent> {
  const [agent] = await loadAgents(ctx.db, [id])
  return reachable(ctx, agent, 'agent', id)
}

/**
 * The agent of the caller's project with this id or exactly this name, else NOT_FOUND. Action `generations:Start` on it:
 * it is for callers who name what they start.
 */
export async function findAgentToStart(ctx: Ctx, named: string): Promise<Agent> {
  const { projectId } = ctx.principal
  const [row] = await selectRows(
    ctx.db,
    agents,
    sql`where project_id = ${projectId} and (name = ${named} or id = ${named}) order by id = ${named} desc limit 1`,
  )
  const agent = reachable(ctx, row && agentOf(row), 'agent', named)
  await assertMay(ctx, 'generations:Start', projectId, `agent/${agent.id}`, { agentId: agent.id })
  return agent
}

/** Agents by id, in no particular order. Checks no permission. */
export async function loadAgents(db: Database, ids: readonly string[]): Promise<Agent[]> {
  if (ids.length === 0) return []
  return (await selectRows(db, agents, sql`where id in ${[...ids]}`)).map(agentOf)
}

function agentOf(row: typeof agents.$inferSelect): Agent {
  const { definition, ...rest } = row
  return { ...settingsOf(definition), ...rest }
}

const changes = {
  create: { action: 'agents:Create', event: agentCreated },
  update: { action: 'agents:Update', event: agentUpdated },
  delete: { action: 'agents:Delete', event: agentDeleted },
} as const

/** Records what happened to an agent: an audit entry and an event. Call it in the transaction of the change. */
async function recordAgentChange(
  tx: Database,
  ctx: Ctx,
  change: keyof typeof changes,
  agent: Agent,
): Promise<void> {
  const { action, event } = changes[change]
  const details = { name: agent.name, version: agent.version }
  await recordChange(tx, ctx, { projectId: agent.projectId, action, resource: `agent/${agent.id}`, details })
  await appendProjectEvents(tx, agent.projectId, [event({ agentId: agent.id, ...details })])
}

const agentsOf = memoryOf<Agent>(2000)

/**
 * The agent as this process has read it before, without a statement; null when it has not. NOT_FOUND when it does not
 * exist for the caller. The statement that relies on it proves its version. Checks no permission.
 */
export function rememberedAgent(ctx: Ctx, id: string): Agent | null {
  const known = agentsOf(ctx.db).get(id)
  return known ? reachable(ctx, known, 'agent', id) : null
}

/** The agent as it is now, which this process remembers from then on. NOT_FOUND as `findAgent`. Checks no permission. */
export async function readAgent(ctx: Ctx, id: string): Promise<Agent> {
  agentsOf(ctx.db).delete(id)
  const agent = await findAgent(ctx, id)
  agentsOf(ctx.db).set(id, agent)
  return agent
}
