/** What an upstream offers, as it is stored: cleaned, bounded, hashed. Pure. */
import type { z } from 'zod'
import { part } from '../../../core/shapes.ts'
import * as view from '../../../core/view.ts'
import { hashJson, type JsonObject } from '../../../core/json.ts'

export const upstreamTool = part(
  'UpstreamTool',
  'A tool as its upstream server describes it, without invisible characters.',
  {
    name: view.text('The name of the tool at the server.'),
    title: view.text('The display name of the tool; null when the server gives none.').nullable(),
    description: view.text('The description that the server gives.'),
    hash: view.text('A hash of name, description, schemas and annotations; a new hash means a changed tool.'),
  },
)
export interface UpstreamTool extends z.output<typeof upstreamTool> {
  inputSchema: JsonObject
  outputSchema: JsonObject | null
  /** Hints as the upstream declares them; not verified. */
  annotations: JsonObject | null
  icons?: JsonObject[]
  meta?: JsonObject
  /** What holds of what the server said before; see held.ts. Absent: nothing else than it says now. */
  held?: HeldFacts
}

/** The hints that decide whether a call is asked about or may be repeated, each with the value that loosens a tool. */
export const looseningHints = { destructiveHint: false, readOnlyHint: true, idempotentHint: true } as const

/** What a server said of a tool before, and nobody has agreed to drop. */
export interface HeldFacts {
  /** Hints that are stricter than those of now. */
  annotations?: Partial<Record<keyof typeof looseningHints, boolean>>
  /** The arguments that people agreed to, when those of now differ in what is judged. */
  inputSchema?: JsonObject
}

/** A prompt as in MCP, with its texts cleaned. */
export interface UpstreamPrompt {
  name: string
  title: string | null
  description: string
  arguments: { name: string; description?: string; required?: boolean }[]
  icons?: JsonObject[]
  meta?: JsonObject
}

export interface UpstreamResource {
  uri: string
  name: string
  title: string | null
  description: string
  mimeType: string | null
  size?: number
  annotations: JsonObject | null
  icons?: JsonObject[]
  meta?: JsonObject
}

export type UpstreamResourceTemplate = Omit<UpstreamResource, 'uri' | 'size'> & { uriTemplate: string }

/** Everything that an upstream offers. The lists are sorted by name or URI. */
export interface Catalog {
  /** Equal for equal content; empty before the first discovery. */
  hash: string
  tools: UpstreamTool[]
  /** What is remembered of tools that the server does not list any more, by name; absent: nothing. */
  gone?: UpstreamTool[]
  /** More were gone than are remembered: a tool that is new may be one of them. Absent: false. */
  forgot?: boolean
  prompts: UpstreamPrompt[]
  resources: UpstreamResource[]
  resourceTemplates: UpstreamResourceTemplate[]
  server: { name: string; version: string; instructions: string | null } | null
  capabilities: JsonObject
  /** What was left out of the lists and why, in English. */
  notes: string[]
}

/** The catalog before the first discovery. */
export const emptyCatalog: Catalog = {
  hash: '',
  tools: [],
  prompts: [],
  resources: [],
  resourceTemplates: [],
  server: null,
  capabilities: {},
  notes: [],
}

/** The hash of a tool. */
export function toolHash(tool: Omit<UpstreamTool, 'hash'>): string {
  const { name, description, inputSchema, outputSchema, annotations } = tool
  return hashJson({ name, description, inputSchema, outputSchema, annotations })
}

/** The hash of the whole catalog, with icons and meta, since they are relayed too. */
export function catalogHash(catalog: Omit<Catalog, 'hash'>): string {
  return hashJson(catalog)
}

/** Names of tools that were added, removed or changed, each list cut to `most`; `total` counts all of them. */
export interface CatalogChange {
  added: string[]
  removed: string[]
  changed: string[]
  total: number
}

const most = 50

export function compareCatalogs(before: Catalog, after: Catalog): CatalogChange {
  const old = new Map(before.tools.map((tool) => [tool.name, tool.hash]))
  const now = new Map(after.tools.map((tool) => [tool.name, tool.hash]))
  const added = [...now.keys()].filter((name) => !old.has(name))
  const removed = [...old.keys()].filter((name) => !now.has(name))
  const changed = [...now].filter(([name, hash]) => old.has(name) && old.get(name) !== hash)
  return {
    added: added.slice(0, most),
    removed: removed.slice(0, most),
    changed: changed.map(([name]) => name).slice(0, most),
    total: added.length + removed.length + changed.length,
  }
}
