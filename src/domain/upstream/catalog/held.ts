/**
 * What a server said about its tools holds until a person agrees to less: a hint that it takes back, or arguments that
 * it changes.
 */
import { hashJson, isJsonObject, writeJson, type JsonObject, readJson } from '../../../core/json.ts'
import { bareSchema } from '../../../core/schema-walk.ts'
import { looseningHints, type Catalog, type HeldFacts, type UpstreamTool, catalogHash } from './catalog.ts'
import { query, type Database } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'

/** How many tools that are gone are remembered, in case they come back as something else. */
const mostGone = 1000
/** The largest schemas of earlier readings that a catalog keeps, in bytes of JSON together. */
const mostKept = 1024 * 1024

/** Stands for arguments that were too large to keep: all are masked, and none is known. */
const forgottenSchema: JsonObject = { writeOnly: true }

/** The tools as found, each with what holds of what was known of it; and what is remembered of those that are gone. */
export function holdKnown(
  known: Pick<Catalog, 'tools' | 'gone' | 'forgot'>,
  found: readonly UpstreamTool[],
): Pick<Catalog, 'tools' | 'gone' | 'forgot'> {
  const before = new Map<string, UpstreamTool>()
  for (const tool of [...(known.gone ?? []), ...known.tools]) before.set(tool.name, tool)
  const fits = budgetOf(mostKept)
  const tools = found.map((tool) => {
    const earlier = before.get(tool.name)
    before.delete(tool.name)
    if (earlier) return held(tool, earlier, fits)
    // It may be one that was forgotten.
    return known.forgot
      ? { ...tool, ...holding({ annotations: heldHints(tool, { destructiveHint: true }) }) }
      : tool
  })
  const gone = [...before.values()].toReversed().slice(0, mostGone)
  const forgot = known.forgot || before.size > mostGone
  return {
    tools,
    ...(gone.length > 0 ? { gone: gone.map((tool) => remembered(tool, fits)).toReversed() } : {}),
    ...(forgot ? { forgot } : {}),
  }
}

/** Whether a schema fits beside those that were asked about before. */
type Budget = (schema: JsonObject) => boolean

function budgetOf(bytes: number): Budget {
  let left = bytes
  return (schema) => (left -= writeJson(schema).length) >= 0
}

/** What is needed of a tool that is gone. */
function remembered(tool: UpstreamTool, fits: Budget): UpstreamTool {
  const agreed = tool.held?.inputSchema ?? tool.inputSchema
  const said = saidBy(tool)
  const hints = Object.keys(looseningHints).filter((hint) => said[hint] !== undefined)
  return {
    name: tool.name,
    title: null,
    description: '',
    inputSchema: fits(agreed) ? agreed : forgottenSchema,
    outputSchema: null,
    annotations: Object.fromEntries(hints.map((hint) => [hint, said[hint]!])),
    hash: tool.hash,
  }
}

const saidBy = ({ annotations, held: facts }: Pick<UpstreamTool, 'annotations' | 'held'>) =>
  ({ ...annotations, ...facts?.annotations }) as JsonObject

function holding(facts: HeldFacts): { held?: HeldFacts } {
  const { annotations = {}, inputSchema } = facts
  if (!inputSchema && Object.keys(annotations).length === 0) return {}
  return {
    held: {
      ...(Object.keys(annotations).length > 0 ? { annotations } : {}),
      ...(inputSchema ? { inputSchema } : {}),
    },
  }
}

function held(tool: UpstreamTool, earlier: UpstreamTool, fits: Budget): UpstreamTool {
  const annotations = heldHints(tool, saidBy(earlier))
  const agreed = earlier.held?.inputSchema ?? earlier.inputSchema
  if (hashJson(bareSchema(agreed)) === hashJson(bareSchema(tool.inputSchema)))
    return { ...tool, ...holding({ annotations }) }
  return { ...tool, ...holding({ annotations, inputSchema: fits(agreed) ? agreed : forgottenSchema }) }
}

/** The hints that hold against those of now. */
function heldHints(tool: UpstreamTool, was: JsonObject): NonNullable<HeldFacts['annotations']> {
  const is = tool.annotations ?? {}
  return Object.fromEntries(
    Object.entries(looseningHints).flatMap(([hint, loose]) => {
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

/** What was agreed to; null: the tool is not listed; `MOVED`: the server says something else than the person has read. */
export type Agreement = { changes: string[] } | 'MOVED' | null

/**
 * Lets everything count that the server says of the tool with this name, when its hash is that of what the person has read,
 * in the caller's transaction. A refresh that is under way is done again. Idempotent: without held changes it writes nothing.
 */
export async function agreeToChange(
  tx: Database,
  id: string,
  name: string,
  hash: string,
): Promise<Agreement> {
  const [row] = await query<{ catalog: string | null }>(
    tx,
    sql`select catalog from upstreams where id = ${id} for update`,
  )
  if (!row?.catalog) return null
  const { hash: _hash, ...catalog } = readJson(row.catalog) as Catalog
  const tool = catalog.tools.find((one) => one.name === name)
  if (!tool) return null
  const changes = heldChanges(tool)
  if (changes.length === 0) return { changes }
  if (tool.hash !== hash) return 'MOVED'
  const tools = catalog.tools.map((one) => {
    if (one.name !== name) return one
    const { held: _held, ...now } = one
    return now
  })
  const content = { ...catalog, tools }
  const newHash = catalogHash(content)
  await query(
    tx,
    sql`update upstreams
      set catalog = ${writeJson({ hash: newHash, ...content })}, catalog_hash = ${newHash}, epoch = epoch + 1, wake_at = now()
      where id = ${id}`,
  )
  return { changes }
}
