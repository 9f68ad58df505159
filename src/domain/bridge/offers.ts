/** What the upstreams of an agent offer beside tools: prompts under names of ours, resources under their own. Pure. */
import { hashJson } from '../../core/json.ts'
import { isRelayed, isTemplateRelayed, runtimeName, type Tool } from '../tools/index.ts'
import type {
  Catalog,
  UpstreamPrompt,
  UpstreamResource,
  UpstreamResourceTemplate,
} from '../upstream/index.ts'

/** Something of an upstream, with the mcp tool that it comes through. */
export interface Offered<Thing> {
  toolId: string
  thing: Thing
}

export interface Offers {
  /** By the name under which clients ask for it: `{tool}_{prompt}`, as with tools. */
  prompts: ReadonlyMap<string, Offered<UpstreamPrompt>>
  /** By URI. Of two upstreams with one URI the first counts. */
  resources: ReadonlyMap<string, Offered<UpstreamResource>>
  templates: readonly Offered<UpstreamResourceTemplate>[]
  /** Whether some upstream completes arguments. */
  completes: boolean
  /** The tools whose upstream tells of changes of single resources. */
  watchable: ReadonlySet<string>
  /** Whether the operator lets a resource of that tool's upstream through: templates make more than are listed. */
  isOpen(toolId: string, uri: string): boolean
  /** Another list of prompts, or of resources and templates, has another hash. */
  promptsHash: string
  resourcesHash: string
}

/** What the upstreams of these tools offer and their operator lets through, in the order of the tools. */
export function offersOf(tools: readonly Tool[], catalogs: ReadonlyMap<string, Catalog>): Offers {
  const prompts = new Map<string, Offered<UpstreamPrompt>>()
  const resources = new Map<string, Offered<UpstreamResource>>()
  const templates: Offered<UpstreamResourceTemplate>[] = []
  const watchable = new Set<string>()
  let completes = false
  const byId = new Map(tools.map((tool) => [tool.id, tool]))
  for (const { id: toolId, name, mcp } of tools) {
    const catalog = catalogs.get(toolId)
    if (!catalog) continue
    const before = prompts.size + resources.size + templates.length
    for (const thing of catalog.prompts) {
      const shown = runtimeName([name, thing.name])
      if (isRelayed(mcp, 'prompts', thing.name) && !prompts.has(shown)) prompts.set(shown, { toolId, thing })
    }
    for (const thing of catalog.resources)
      if (isRelayed(mcp, 'resources', thing.uri) && !resources.has(thing.uri))
        resources.set(thing.uri, { toolId, thing })
    const known = new Set(templates.map((one) => one.thing.uriTemplate))
    for (const thing of catalog.resourceTemplates)
      if (isTemplateRelayed(mcp, thing.uriTemplate) && !known.has(thing.uriTemplate))
        templates.push({ toolId, thing })
    if (prompts.size + resources.size + templates.length === before) continue
    completes ||= 'completions' in catalog.capabilities
    const { resources: can } = catalog.capabilities as { resources?: { subscribe?: boolean } }
    if (can?.subscribe === true && mcp?.relay?.resources.length) watchable.add(toolId)
  }
  return {
    prompts,
    resources,
    templates,
    completes,
    watchable,
    isOpen: (toolId, uri) => isRelayed(byId.get(toolId)?.mcp, 'resources', uri),
    promptsHash: hashJson([...prompts]),
    resourcesHash: hashJson([[...resources], templates]),
  }
}

/** Through which tool a resource is read: one that is listed, or one that a template makes. Null when nobody has it. */
export function ownerOfResource({ resources, templates, isOpen }: Offers, uri: string): string | null {
  const listed = resources.get(uri)
  if (listed) return listed.toolId
  const fitting = templates.find(({ toolId, thing }) => fits(thing.uriTemplate, uri) && isOpen(toolId, uri))
  return fitting?.toolId ?? null
}

/** Through which tool a resource is watched. Null when nobody has it, or nobody tells of its changes. */
export function watcherOfResource(offers: Offers, uri: string): string | null {
  const toolId = ownerOfResource(offers, uri)
  return toolId !== null && offers.watchable.has(toolId) ? toolId : null
}

/**
 * Whether a URI can come from the template: its fixed parts stand in it in their order. The upstream decides about the
 * rest; here it only says whom to ask.
 */
export function fits(template: string, uri: string): boolean {
  const parts = template.split(/\{[^{}]*\}/)
  const [first, last] = [parts[0]!, parts.at(-1)!]
  if (parts.length === 1) return uri === template
  if (!uri.startsWith(first) || !uri.endsWith(last) || uri.length < first.length + last.length) return false
  const end = uri.length - last.length
  let at = first.length
  for (const part of parts.slice(1, -1)) {
    const found = uri.indexOf(part, at)
    if (found < 0 || found + part.length > end) return false
    at = found + part.length
  }
  return true
}
