/** Turns one entry of an upstream's list into the stored form: checked, cleaned, bounded. Pure. */
import { compileSchema } from '../../../core/json-schema.ts'
import { isJsonObject, jsonTooBig, type Json, type JsonObject } from '../../../core/json.ts'
import {
  toolHash,
  type UpstreamPrompt,
  type UpstreamResource,
  type UpstreamResourceTemplate,
  type UpstreamTool,
} from './catalog.ts'
import { cleanLine, cleanSchema, cleanText } from './clean.ts'
import { paramHeaderFault } from './param-headers.ts'

/** An entry to store, with a note when a part of it was dropped; or the reason why it is left out. */
export type Read<Entry> = { entry: Entry; note?: string } | { fault: string }

const entryLimits = { maxBytes: 320 * 1024, maxDepth: 48 }
const maxTitle = 200
const maxDescription = 8000
const maxUri = 2048
/** The specification allows 128 characters; some servers use a slash or a dot. */
const legalName = /^[A-Za-z0-9_./-]{1,128}$/

/** `known` is the stored tool of the same name: an unchanged tool is not compiled again. */
export function readTool(
  raw: unknown,
  known: UpstreamTool | undefined,
  projectId: string,
): Read<UpstreamTool> {
  const checked = checkEntry(raw)
  if ('fault' in checked) return checked
  const { entry, name } = checked
  const { inputSchema, outputSchema } = entry
  if (!isJsonObject(inputSchema)) return { fault: 'has no inputSchema' }
  const fault = paramHeaderFault(inputSchema)
  if (fault) return { fault }
  const tool: Omit<UpstreamTool, 'hash'> = {
    name,
    title: titleOf(entry),
    description: textOf(entry['description'], maxDescription),
    inputSchema: cleanSchema(inputSchema),
    outputSchema: isJsonObject(outputSchema) ? cleanSchema(outputSchema) : null,
    annotations: cleanedObject(entry['annotations']),
    ...extras(entry),
  }
  const hash = toolHash(tool)
  if (known?.hash === hash) return { entry: { ...tool, hash } }
  const input = compileSchema(tool.inputSchema, projectId)
  if (!input.ok) return { fault: `has an inputSchema that ${input.issue.message}` }
  const output = tool.outputSchema ? compileSchema(tool.outputSchema, projectId) : { ok: true as const }
  if (output.ok) return { entry: { ...tool, hash } }
  const bare = { ...tool, outputSchema: null }
  return {
    entry: { ...bare, hash: toolHash(bare) },
    note: `has an outputSchema that ${output.issue.message}; it is left out`,
  }
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
  if (typeof name !== 'string' || !legalName.test(name))
    return { fault: 'has a name that is not 1 to 128 of A-Z a-z 0-9 _ . / -' }
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
