/** Turns one entry of an upstream's list into the stored form: checked, cleaned, bounded. Pure. */
import { isJsonObject, type Json, jsonTooBig, type JsonObject } from '../../../core/json.ts'
import { compileSchema } from '../../../core/json-schema.ts'
import {
  toolHash,
  type UpstreamPrompt,
  type UpstreamResource,
  type UpstreamResourceTemplate,
  type UpstreamTool,
} from './catalog.ts'
import { cleanLine, cleanSchema, cleanText } from './clean.ts'
import { repairSchema, type RepairedSchema } from './repair.ts'

const mark = 'x-mcp-header'
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const primitive = new Set(['string', 'integer', 'boolean'])

/**
 * Returns why a tool must be left out, or null. A mark is allowed only on properties that are reached through
 * `properties` alone, on strings, integers and booleans, with a valid header name that no other property has.
 */
function paramHeaderFault(inputSchema: Json): string | null {
  const seen = new Set<string>()
  const stack: { node: Json; reachable: boolean; root: boolean }[] = [
    { node: inputSchema, reachable: true, root: true },
  ]
  while (stack.length > 0) {
    const { node, reachable, root } = stack.pop()!
    if (Array.isArray(node))
      for (const item of node) stack.push({ node: item, reachable: false, root: false })
    if (!isJsonObject(node)) continue
    // A property may have the mark's own name: then its value is a schema.
    if (mark in node && !isJsonObject(node[mark])) {
      const fault =
        reachable && !root ? markFault(node[mark]!, node['type'], seen) : 'is not allowed in this place'
      if (fault) return `${mark} ${fault}`
    }
    for (const [key, value] of Object.entries(node)) {
      if (key === 'properties' && isJsonObject(value))
        for (const child of Object.values(value)) stack.push({ node: child, reachable, root: false })
      else if (key !== mark) stack.push({ node: value, reachable: false, root: false })
    }
  }
  return null
}

function markFault(value: Json, type: Json | undefined, seen: Set<string>): string | null {
  if (typeof value !== 'string' || !token.test(value)) return 'is not the name of a header'
  if (typeof type !== 'string' || !primitive.has(type)) return 'marks a value that no header can hold'
  const name = value.toLowerCase()
  if (seen.has(name)) return 'names one header twice'
  seen.add(name)
  return null
}

/** An entry to store, with a note when a part of it was dropped; or the reason why it is left out. */
export type Read<Entry> = { entry: Entry; note?: string } | { fault: string }

const entryLimits = { maxBytes: 320 * 1024, maxDepth: 48 }
const maxTitle = 200
const maxDescription = 8000
const maxUri = 2048
/** In characters, of any script: models and clients get a legal name in its place. */
const maxName = 128

/** `known` is the stored tool of the same name: an unchanged tool is not compiled again. */
export function readTool(
  raw: unknown,
  known: UpstreamTool | undefined,
  projectId: string,
): Read<UpstreamTool> {
  const checked = checkEntry(raw)
  if ('fault' in checked) return checked
  const { entry, name } = checked
  const input = inputSchemaOf(entry['inputSchema'] ?? null)
  const output = isJsonObject(entry['outputSchema']) ? repairSchema(entry['outputSchema']) : null
  const fault = paramHeaderFault(input.schema)
  if (fault) return { fault }
  const tool: Omit<UpstreamTool, 'hash'> = {
    name,
    title: titleOf(entry),
    description: textOf(entry['description'], maxDescription),
    inputSchema: cleanSchema(input.schema),
    outputSchema: output && cleanSchema(output.schema),
    annotations: cleanedObject(entry['annotations']),
    ...extras(entry),
  }
  const hash = toolHash(tool)
  const notes = [repairNote('inputSchema', input.changed), repairNote('outputSchema', output?.changed ?? [])]
  const read = (made: UpstreamTool, more: string[] = []): Read<UpstreamTool> => {
    const note = [...notes.filter((one) => one !== ''), ...more].join('; ')
    return { entry: made, ...(note ? { note } : {}) }
  }
  if (known?.hash === hash) return read({ ...tool, hash })
  const compiled = compileSchema(tool.inputSchema, projectId)
  if (!compiled.ok) return { fault: `has an inputSchema that ${compiled.issue.message}` }
  const result = tool.outputSchema ? compileSchema(tool.outputSchema, projectId) : { ok: true as const }
  if (result.ok) return read({ ...tool, hash })
  const bare = { ...tool, outputSchema: null }
  const leftOut = `has an outputSchema that ${result.issue.message}; it is left out`
  return read({ ...bare, hash: toolHash(bare) }, [leftOut])
}

/** Arguments are an object, whatever the schema says. A tool without a schema takes every object. */
function inputSchemaOf(given: Json): RepairedSchema {
  if (!isJsonObject(given)) return { schema: { type: 'object' }, changed: ['type'] }
  const { schema, changed } = repairSchema(given)
  if (schema['type'] === 'object') return { schema, changed }
  const isSaid = schema['type'] !== undefined
  return {
    schema: { ...schema, type: 'object' },
    changed: isSaid ? [...new Set([...changed, 'type'])] : changed,
  }
}

function repairNote(what: string, changed: string[]): string {
  return changed.length > 0 ? `has an ${what} that was repaired (${changed.slice(0, 10).join(', ')})` : ''
}

export function readPrompt(raw: unknown): Read<UpstreamPrompt> {
  const checked = checkEntry(raw)
  if ('fault' in checked) return checked
  const { entry, name } = checked
  const given = Array.isArray(entry['arguments']) ? entry['arguments'].filter(isJsonObject) : []
  const args = given
    .filter((one) => typeof one['name'] === 'string' && one['name'] !== '')
    .slice(0, 100)
    .map((one) => ({
      name: cleanLine(one['name'] as string, maxTitle),
      ...(one['description'] ? { description: textOf(one['description'], maxDescription) } : {}),
      ...(typeof one['required'] === 'boolean' ? { required: one['required'] } : {}),
    }))
  const description = textOf(entry['description'], maxDescription)
  return { entry: { name, title: titleOf(entry), description, arguments: args, ...extras(entry) } }
}

export function readResource(raw: unknown): Read<UpstreamResource> {
  const checked = checkAddress(raw, 'uri')
  if ('fault' in checked) return checked
  const { entry, address } = checked
  const size = entry['size']
  return {
    entry: { uri: address, ...resourceOf(entry), ...(typeof size === 'number' ? { size } : {}) },
  }
}

export function readTemplate(raw: unknown): Read<UpstreamResourceTemplate> {
  const checked = checkAddress(raw, 'uriTemplate')
  if ('fault' in checked) return checked
  return { entry: { uriTemplate: checked.address, ...resourceOf(checked.entry) } }
}

function resourceOf(entry: JsonObject): Omit<UpstreamResource, 'uri' | 'size'> {
  const mimeType = entry['mimeType']
  return {
    name: textOf(entry['name'], maxTitle),
    title: titleOf(entry),
    description: textOf(entry['description'], maxDescription),
    mimeType: typeof mimeType === 'string' ? cleanLine(mimeType, maxTitle) : null,
    annotations: cleanedObject(entry['annotations']),
    ...extras(entry),
  }
}

function checkEntry(raw: unknown): { entry: JsonObject; name: string } | { fault: string } {
  const entry = asEntry(raw)
  if ('fault' in entry) return entry
  const name = entry.entry['name']
  if (typeof name !== 'string' || name.trim() === '' || name.length > maxName)
    return { fault: `has no name of at most ${maxName} characters` }
  if (cleanLine(name, maxName) !== name.trim()) return { fault: 'has a name with hidden characters' }
  return { ...entry, name }
}

function checkAddress(
  raw: unknown,
  key: 'uri' | 'uriTemplate',
): { entry: JsonObject; address: string } | { fault: string } {
  const entry = asEntry(raw)
  if ('fault' in entry) return entry
  const address = entry.entry[key]
  if (typeof address !== 'string' || address === '' || address.length > maxUri)
    return { fault: `has no ${key} of at most ${maxUri} characters` }
  if (cleanLine(address, maxUri) !== address) return { fault: `has a ${key} with hidden characters` }
  return { ...entry, address }
}

function asEntry(raw: unknown): { entry: JsonObject } | { fault: string } {
  if (!isJsonObject(raw)) return { fault: 'is not an object' }
  const tooBig = jsonTooBig(raw, entryLimits)
  return tooBig ? { fault: tooBig } : { entry: raw }
}

function titleOf(entry: JsonObject): string | null {
  const title = entry['title']
  return typeof title === 'string' && title !== '' ? cleanLine(title, maxTitle) : null
}

function textOf(value: Json | undefined, max: number): string {
  return typeof value === 'string' ? cleanText(value, max) : ''
}

function cleanedObject(value: Json | undefined): JsonObject | null {
  return isJsonObject(value) ? cleanSchema(value) : null
}

function extras(entry: JsonObject): { icons?: JsonObject[]; meta?: JsonObject } {
  const { icons, _meta: meta } = entry
  return {
    ...(Array.isArray(icons) && icons.length > 0 ? { icons: icons.filter(isJsonObject).slice(0, 10) } : {}),
    ...(isJsonObject(meta) ? { meta } : {}),
  }
}
