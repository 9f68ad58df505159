/** Which tools of a step its model gets: without those that it refused, and no more than it takes. Pure. */
import { shortText } from '../../../core/text.ts'
import type { Callable } from '../../tools/index.ts'
import { mostToolsOf, type ModelError, type ModelPort } from '../../models/index.ts'
import type { LeftOutTool, Step } from '../generation.ts'

/** What a model is known to take of tools. */
export interface Accepted {
  /** The words with which it refused a tool, by `keyOf` the tool. */
  refused: ReadonlyMap<string, string>
  /** The most tools of a request; null: no limit is known. */
  mostTools: number | null
  /** The longest description of a tool, in characters; null: no limit is known. */
  longestDescription: number | null
}

/** The tools of a request by runtime name, and what is left out of them. */
export interface Offered {
  tools: Map<string, Callable>
  leftOut: LeftOutTool[]
}

type Named = Pick<Callable, 'id' | 'version'> & { name: string }

/** A tool as it was refused: a new version of it is offered again. */
const keyOf = ({ name, id, version }: Named) => `${id}@${version}/${name}`
const named = ([name, { id, version }]: [string, Callable]): Named => ({ name, id, version })

/** What is known of a model before it is asked: its kind's limits, what the process remembers, and what the run has recorded. */
export function acceptedBy(
  { name, providerKind }: ModelPort,
  remembered: Accepted | null,
  steps: readonly Step[],
): Accepted {
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
  { refused, mostTools }: Accepted,
  isNeeded: (name: string) => boolean,
  reserved: number,
): Offered {
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
export function shownDescription(description: string | null, { longestDescription: max }: Accepted) {
  return description === null || max === null ? description : shortText(description, max)
}

/**
 * What is known after a refusal of a request with these tools; null when there is nothing to change: it names no tool that
 * can be left out, and no limit that was exceeded.
 */
export function acceptedAfter(
  known: Accepted,
  { toolRefusal, message }: ModelError,
  offered: ReadonlyMap<string, Callable>,
  isNeeded: (name: string) => boolean,
): Accepted | null {
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
