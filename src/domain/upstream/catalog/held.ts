/**
 * What a server said about its tools holds until a person agrees to less: a hint that it takes back, or arguments that it
 * changes, open no gate, unmask nothing and evade no preset. Pure.
 */
import { hashJson, isJsonObject, type JsonObject } from '../../../core/json.ts'
import { bareSchema } from '../../../core/schema-walk.ts'
import type { Catalog, HeldFacts, UpstreamTool } from './catalog.ts'

/** How many tools that are gone are remembered, in case they come back as something else. */
const mostGone = 1000

/** The hints that loosen a tool, each with the value that does. */
const loosening = { destructiveHint: false, readOnlyHint: true, idempotentHint: true } as const
type Hint = keyof typeof loosening

/** The tools as found, each with what holds of what was known of it; and what is remembered of those that are gone. */
export function holdKnown(
  known: Pick<Catalog, 'tools' | 'gone'>,
  found: readonly UpstreamTool[],
): Pick<Catalog, 'tools' | 'gone'> {
  const before = new Map<string, UpstreamTool>()
  for (const tool of [...(known.gone ?? []), ...known.tools]) before.set(tool.name, tool)
  const tools = found.map((tool) => {
    const earlier = before.get(tool.name)
    before.delete(tool.name)
    return earlier ? held(tool, earlier) : tool
  })
  const gone = [...before.values()].slice(-mostGone)
  return { tools, ...(gone.length > 0 ? { gone } : {}) }
}

function held(tool: UpstreamTool, earlier: UpstreamTool): UpstreamTool {
  const { held: _held, ...now } = tool
  const annotations = heldHints(tool, earlier)
  const agreed = earlier.held?.inputSchema ?? earlier.inputSchema
  const isChanged = hashJson(bareSchema(agreed)) !== hashJson(bareSchema(tool.inputSchema))
  if (!isChanged && Object.keys(annotations).length === 0) return now
  const facts: HeldFacts = {
    ...(Object.keys(annotations).length > 0 ? { annotations } : {}),
    ...(isChanged ? { inputSchema: agreed } : {}),
  }
  return { ...now, held: facts }
}

/** The hints that hold against those of now. */
function heldHints(tool: UpstreamTool, earlier: UpstreamTool): Partial<Record<Hint, boolean>> {
  const was = { ...earlier.annotations, ...earlier.held?.annotations } as JsonObject
  const is = tool.annotations ?? {}
  return Object.fromEntries(
    Object.entries(loosening).flatMap(([hint, loose]) => {
      // Without the hint, a tool is neither destructive nor safe to repeat for us.
      const isLoose = (said: JsonObject) => (said[hint] === true) === loose
      return isLoose(is) && !isLoose(was) ? [[hint, !loose]] : []
    }),
  )
}

/** What the server says now that does not count yet, in a sentence each; empty when everything counts. */
export function heldChanges({ held: facts, annotations, inputSchema }: UpstreamTool): string[] {
  const hints = Object.entries(facts?.annotations ?? {}).map(([hint, value]) => {
    const now = annotations?.[hint]
    const says = now === undefined ? 'leaves it out' : `says ${String(now)}`
    return `${hint} was ${value ? 'true' : 'not true'}; this server now ${says}.`
  })
  return facts?.inputSchema ? [...hints, argumentChange(facts.inputSchema, inputSchema)] : hints
}

/** The most names of arguments in a sentence. */
const mostNames = 10

function argumentChange(agreed: JsonObject, now: JsonObject): string {
  const [before, after] = [namesOf(agreed), namesOf(now)]
  const list = (what: string, names: string[]) =>
    names.length > 0 ? [`${what} ${names.slice(0, mostNames).join(', ')}`] : []
  const parts = [
    ...list(
      'without',
      before.filter((name) => !after.includes(name)),
    ),
    ...list(
      'with',
      after.filter((name) => !before.includes(name)),
    ),
  ]
  return `This server now asks for other arguments${parts.length > 0 ? `: ${parts.join(', ')}` : ''}.`
}

const namesOf = ({ properties }: JsonObject) => (isJsonObject(properties) ? Object.keys(properties) : [])
