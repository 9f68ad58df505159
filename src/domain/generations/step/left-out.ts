/**
 * Which tools of a step its model gets: without those that it refused, as this process remembers and the newest runs
 * show, and no more than it takes.
 */
import { shortText } from '../../../core/text.ts'
import type { Callable } from '../../tools/index.ts'
import { mostToolsOf, type ModelError, type ModelPort } from '../../models/index.ts'
import type { LeftOutTool, Step } from '../steps.ts'
import { query, type Database } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import { BoundedMap } from '../../../core/bounded.ts'
import { memoryOf } from '../../basis/index.ts'
import type { Services } from '../../access/index.ts'

/** What a model is known to take of tools. */
export interface AcceptedTools {
  /** The words with which it refused a tool, by `keyOf` the tool. */
  refused: ReadonlyMap<string, string>
  /** The most tools of a request; null: no limit is known. */
  mostTools: number | null
  /** The longest description of a tool, in characters; null: no limit is known. */
  longestDescription: number | null
}

/** The tools of a request by runtime name, and what is left out of them. */
export interface OfferedTools {
  tools: Map<string, Callable>
  leftOut: LeftOutTool[]
}

type Named = Pick<Callable, 'id' | 'version'> & { name: string }

/** A tool as it was refused: a new version of it is offered again. */
const keyOf = ({ name, id, version }: Named) => `${id}@${version}/${name}`
const named = ([name, { id, version }]: [string, Callable]): Named => ({ name, id, version })

/** What is known of a model before it is asked: its kind's limits, what the process remembers, and what the run has recorded. */
export function knownAcceptance(
  { name, providerKind }: ModelPort,
  remembered: AcceptedTools | null,
  steps: readonly Step[],
): AcceptedTools {
  const refused = new Map(remembered?.refused)
  for (const step of steps)
    if (step.model.name === name)
      for (const tool of step.leftOut ?? [])
        if (tool.isRefused) refused.set(keyOf({ ...tool, id: tool.toolId }), tool.reason)
  return {
    refused,
    mostTools: remembered?.mostTools ?? mostToolsOf[providerKind],
    longestDescription: remembered?.longestDescription ?? null,
  }
}

/** Surplus tools that are noted by name; the note says how many there are. */
const mostNoted = 20

/**
 * The tools that are offered. What `isNeeded` is offered always: without it the step could not be made. `reserved` counts the
 * tools that come in addition. Of too many the last ones are left out.
 */
export function offeredOf(
  active: ReadonlyMap<string, Callable>,
  { refused, mostTools }: AcceptedTools,
  isNeeded: (name: string) => boolean,
  reserved: number,
): OfferedTools {
  const tools = new Map(active)
  const leftOut: LeftOutTool[] = []
  const leave = (tool: Named, reason: string, isRefused: boolean) =>
    leftOut.push({ name: tool.name, toolId: tool.id, version: tool.version, reason, isRefused })
  for (const tool of [...active].map(named)) {
    const reason = refused.get(keyOf(tool))
    if (reason === undefined || isNeeded(tool.name)) continue
    tools.delete(tool.name)
    leave(tool, reason, true)
  }
  const surplus = mostTools === null ? 0 : Math.max(0, tools.size + reserved - mostTools)
  const last = [...tools].map(named).filter(({ name }) => !isNeeded(name))
  const tooMany = surplus === 0 ? [] : last.slice(-surplus)
  for (const [i, tool] of tooMany.entries()) {
    tools.delete(tool.name)
    if (i < mostNoted) leave(tool, tooManyWords(mostTools!, surplus), false)
  }
  return { tools, leftOut }
}

const tooManyWords = (most: number, surplus: number) =>
  `The model takes at most ${most} tools in a request; ${surplus} more were there.`

/** The description as the model takes it. */
export function shownDescription(description: string | null, { longestDescription: max }: AcceptedTools) {
  return description === null || max === null ? description : shortText(description, max)
}

/**
 * What is known after a refusal of a request with these tools; null when there is nothing to change: it names no tool that
 * can be left out, and no limit that was exceeded.
 */
export function acceptanceAfter(
  known: AcceptedTools,
  { toolRefusal, message }: ModelError,
  offered: ReadonlyMap<string, Callable>,
  isNeeded: (name: string) => boolean,
): AcceptedTools | null {
  if (!toolRefusal) return null
  const { names, mostTools, longestDescription: max } = toolRefusal
  if (max !== null && (known.longestDescription ?? Infinity) > max)
    return { ...known, longestDescription: max }
  if (mostTools !== null && offered.size >= mostTools && (known.mostTools ?? Infinity) > mostTools)
    return { ...known, mostTools }
  const refused = new Map(known.refused)
  for (const name of names) {
    const tool = offered.get(name)
    if (tool && !isNeeded(name)) refused.set(keyOf(named([name, tool])), message)
  }
  return refused.size > known.refused.size ? { ...known, refused } : null
}

/** The newest runs of an agent of which one has to have asked its model. */
const newestRuns = 20

/**
 * For each of these agents the tools that were left out in its newest run that asked its model, each once, in the order of
 * steps. None for an agent whose newest runs are removed, or have asked no model yet. Checks no permission.
 */
export async function loadLeftOutOf(db: Database, agentIds: readonly string[]): Promise<LeftOutTool[][]> {
  const rows = await query<{ agentId: string; leftOut: LeftOutTool[] }>(
    db,
    sql`select a.id as "agentId", s.left_out as "leftOut"
      from agents as a
      cross join lateral (
        select r.id from (
          select g.id, g.step_count, g.created_at from generations as g where g.agent_id = a.id
          order by g.created_at desc, g.id desc limit ${newestRuns}::int
        ) as r
        where r.step_count > 0 order by r.created_at desc, r.id desc limit 1
      ) as newest
      join steps as s on s.generation_id = newest.id and s.left_out is not null
      where a.id in ${[...agentIds]}
      order by s.step_index`,
  )
  return agentIds.map((id) => {
    const tools = rows.filter(({ agentId }) => agentId === id).flatMap(({ leftOut }) => leftOut)
    return [...new Map(tools.map((tool) => [tool.name, tool])).values()]
  })
}

/** Until a new run asks a model again for a tool that it refused: providers change, too. */
const keptMs = 10 * 60_000
const mostModels = 500
const mostTools = 200

const models = memoryOf<{ accepted: AcceptedTools; until: number }>(mostModels)

/** A model of a project, as `provider/model`. */
interface Place {
  projectId: string
  model: string
}

const placeKey = ({ projectId, model }: Place) => `${projectId} ${model}`

/** What the model is known to take; null when it refused nothing lately. */
export function rememberedOf({ db, clock }: Services, place: Place): AcceptedTools | null {
  const found = models(db).get(placeKey(place))
  return found && clock.now() < found.until ? found.accepted : null
}

/** Adds to what is remembered of the model. All of it is forgotten together. */
export function rememberAccepted(services: Services, place: Place, accepted: AcceptedTools): void {
  const { db, clock } = services
  const known = rememberedOf(services, place)
  const refused = new BoundedMap<string, string>(mostTools)
  for (const [tool, reason] of [...(known?.refused ?? []), ...accepted.refused]) refused.set(tool, reason)
  const until = known ? models(db).get(placeKey(place))!.until : clock.now() + keptMs
  models(db).set(placeKey(place), { accepted: { ...accepted, refused }, until })
}
