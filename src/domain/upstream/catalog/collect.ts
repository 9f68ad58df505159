/** Reads everything that an upstream offers, page by page, within fixed limits. */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { asText, isJsonObject, type JsonObject, writeJson } from '../../../core/json.ts'
import { catalogHash, type Catalog } from './catalog.ts'
import { cleanLine, cleanText } from './clean.ts'
import { faultOf, mayHaveLostSession } from '../fault.ts'
import { holdKnown } from './held.ts'
import { readPrompt, readResource, readTemplate, readTool, type Read } from './entries.ts'

/** Requests one page of a list and returns the result unchecked. */
export type AskPage = (method: string, cursor: string | undefined) => Promise<JsonObject>

/** What the server declared when the connection was opened. */
export interface ServerFacts {
  server: { name: string; version: string } | null
  instructions: string | null
  capabilities: JsonObject
}

/** The largest catalog that is stored, in bytes of JSON. */
export const maxCatalogBytes = 4 * 1024 * 1024
const maxPages = 64
const maxNotes = 50
const maxInstructions = 16_000
/** Compiling schemas yields to the event loop every `turnMs`; the list is cut after `maxReadingMs` in total. */
const turnMs = 10
const maxReadingMs = 5000

const most = { tools: 1000, prompts: 500, resources: 2000, resourceTemplates: 500 }

interface Reading {
  ask: AskPage
  capabilities: JsonObject
  known: Catalog
  notes: string[]
  /** Bytes of JSON that are still allowed. */
  bytesLeft: number
  /** Milliseconds that compiling and checking entries may still take. */
  msLeft: number
  /** The shortest `ttlMs` of all lists, in milliseconds. */
  ttlMs: number | null
}

/**
 * Returns the catalog and how long it is valid by the upstream's `ttlMs`. Invalid entries are left out with a note;
 * lists that are too long are cut with a note. Throws what `ask` throws.
 */
export async function collectCatalog(
  ask: AskPage,
  facts: ServerFacts,
  known: Catalog,
  projectId: string,
): Promise<{ catalog: Catalog; ttlMs: number | null }> {
  const { capabilities } = facts
  const limits = { bytesLeft: maxCatalogBytes, msLeft: maxReadingMs }
  const reading: Reading = { ask, capabilities, known, notes: [], ...limits, ttlMs: null }
  const old = new Map(known.tools.map((tool) => [tool.name, tool]))
  const readOne = (raw: unknown) => readTool(raw, old.get(nameOf(raw)), projectId)
  const tools = await readDeclared(reading, 'tools', 'tools/list', readOne, byName)
  const prompts = await readDeclared(reading, 'prompts', 'prompts/list', readPrompt, byName)
  const resources = await readDeclared(reading, 'resources', 'resources/list', readResource, byUri)
  const method = 'resources/templates/list'
  const resourceTemplates = await readDeclared(reading, 'resourceTemplates', method, readTemplate, byTemplate)
  const lists = { ...holdKnown(known, tools), prompts, resources, resourceTemplates }
  const content = { ...lists, server: serverOf(facts), capabilities, notes: reading.notes.slice(0, maxNotes) }
  return { catalog: { hash: catalogHash(content), ...content }, ttlMs: reading.ttlMs }
}

function serverOf({ server, instructions }: ServerFacts): Catalog['server'] {
  if (!server) return null
  return {
    name: cleanLine(server.name, 200),
    version: cleanLine(server.version, 100),
    instructions: instructions === null ? null : cleanText(instructions, maxInstructions),
  }
}

const byName = (one: { name: string }) => one.name
const byUri = (one: { uri: string }) => one.uri
const byTemplate = (one: { uriTemplate: string }) => one.uriTemplate
const nameOf = (raw: unknown) => (isJsonObject(raw) ? asText(raw['name']) : '')

const methodNotFound = -32601

/**
 * A list that the server declares, or may have because it declares none at all. One that it refuses hides no other: what was known
 * of it stays, with a note.
 */
async function readDeclared<Name extends keyof typeof most>(
  reading: Reading,
  name: Name,
  method: string,
  read: (raw: unknown) => Read<Catalog[Name][number]>,
  keyOf: (entry: Catalog[Name][number]) => string,
): Promise<Catalog[Name][number][]> {
  const { capabilities, known, notes } = reading
  const isSilent = !['tools', 'prompts', 'resources'].some((one) => capabilities[one] !== undefined)
  const capability = name === 'resourceTemplates' ? 'resources' : name
  if (!isSilent && capabilities[capability] === undefined) return []
  try {
    return await readList<Catalog[Name][number]>(reading, name, method, read, keyOf)
  } catch (error) {
    const fault = faultOf(error)
    // Some servers declare lists that they do not implement.
    if (fault.facts.rpcCode === methodNotFound) return []
    const isRefused = isSilent && fault.facts.status !== undefined
    const isFailure = fault.code !== 'upstream_error' || (mayHaveLostSession(fault) && !isRefused)
    if (isFailure || (name === 'tools' && !isSilent)) throw error
    if (!isSilent) notes.push(`${name}: the upstream refused this list (${cleanLine(fault.message, 200)})`)
    return known[name]
  }
}

async function readList<Entry>(
  reading: Reading,
  list: keyof typeof most,
  method: string,
  read: (raw: unknown) => Read<Entry>,
  keyOf: (entry: Entry) => string,
): Promise<Entry[]> {
  const entries = new Map<string, Entry>()
  let cursor: string | undefined
  for (let page = 0; page < maxPages; page++) {
    const result = await reading.ask(method, cursor)
    noteTtl(reading, result['ttlMs'])
    const raw = Array.isArray(result[list]) ? result[list] : []
    let turn = performance.now()
    for (const one of raw) {
      const size = writeJson(one).length
      if (entries.size >= most[list] || size > reading.bytesLeft || reading.msLeft < 0) {
        reading.notes.push(`${list}: cut after ${entries.size}; the upstream offers more than is stored`)
        return sorted(entries)
      }
      reading.bytesLeft -= size
      const startedAt = performance.now()
      keep(reading, list, entries, read(one), keyOf, nameOf(one))
      reading.msLeft -= performance.now() - startedAt
      if (performance.now() - turn < turnMs) continue
      await yieldToEventLoop()
      turn = performance.now()
    }
    const next = result['nextCursor']
    // Many servers end a list with an empty cursor, and refuse it.
    if (typeof next !== 'string' || next === '' || next === cursor) return sorted(entries)
    cursor = next
  }
  reading.notes.push(`${list}: cut after ${maxPages} pages`)
  return sorted(entries)
}

function keep<Entry>(
  reading: Reading,
  list: string,
  entries: Map<string, Entry>,
  made: Read<Entry>,
  keyOf: (entry: Entry) => string,
  name: string,
): void {
  const note = (what: string) => reading.notes.push(`${list} ${writeJson(cleanLine(name, 80))} ${what}`)
  if ('fault' in made) return void note(`${made.fault}; it is left out`)
  const key = keyOf(made.entry)
  if (entries.has(key)) return void note('is listed twice; the first one counts')
  if (made.note) note(made.note)
  entries.set(key, made.entry)
}

function noteTtl(reading: Reading, ttlMs: unknown): void {
  if (typeof ttlMs !== 'number' || !(ttlMs > 0)) return
  reading.ttlMs = reading.ttlMs === null ? ttlMs : Math.min(reading.ttlMs, ttlMs)
}

/** By UTF-16 code units, so that the order is the same on every machine. */
function sorted<Entry>(entries: Map<string, Entry>): Entry[] {
  return [...entries].toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)).map(([, entry]) => entry)
}
