/** The prompts and resources of an agent's upstreams that MCP clients may use. Prompts get our names, resources keep their URI. Pure. */
import { hashJson } from '../../core/json.ts'
import { isRelayed, isTemplateRelayed, runtimeName, type Tool } from '../tools/index.ts'
import type {
  Catalog,
  UpstreamPrompt,
  UpstreamResource,
  UpstreamResourceTemplate,
} from '../upstream/index.ts'

/** A prompt, resource or template with the mcp tool whose upstream serves it. */
export interface RelayedFeature<Definition> {
  toolId: string
  definition: Definition
}

export interface UpstreamFeatures {
  /** By the name that clients use, `{tool}_{prompt}`, as with tools. */
  prompts: ReadonlyMap<string, RelayedFeature<UpstreamPrompt>>
  /** By URI. When two upstreams have the same URI, the first tool's is used. */
  resources: ReadonlyMap<string, RelayedFeature<UpstreamResource>>
  templates: readonly RelayedFeature<UpstreamResourceTemplate>[]
  /** Whether an upstream completes arguments. */
  completions: boolean
  /** Ids of the tools whose upstream supports resource subscriptions. */
  subscribable: ReadonlySet<string>
  /** Whether the operator relays this URI of the tool's upstream. A template covers more URIs than the list shows. */
  isRelayed(toolId: string, uri: string): boolean
  /** Changes when the list of prompts changes. */
  promptsHash: string
  /** Changes when the list of resources or templates changes. */
  resourcesHash: string
}

/** The features of these tools' upstreams that the operator relays, in the order of the tools. */
export function featuresOf(tools: readonly Tool[], catalogs: ReadonlyMap<string, Catalog>): UpstreamFeatures {
  const prompts = new Map<string, RelayedFeature<UpstreamPrompt>>()
  const resources = new Map<string, RelayedFeature<UpstreamResource>>()
  const templates: RelayedFeature<UpstreamResourceTemplate>[] = []
  const subscribable = new Set<string>()
  let completions = false
  const byId = new Map(tools.map((tool) => [tool.id, tool]))
  for (const { id: toolId, name, mcp } of tools) {
    const catalog = catalogs.get(toolId)
    if (!catalog) continue
    const before = prompts.size + resources.size + templates.length
    for (const definition of catalog.prompts) {
      const promptName = runtimeName([name, definition.name])
      if (isRelayed(mcp, 'prompts', definition.name) && !prompts.has(promptName))
        prompts.set(promptName, { toolId, definition })
    }
    for (const definition of catalog.resources)
      if (isRelayed(mcp, 'resources', definition.uri) && !resources.has(definition.uri))
        resources.set(definition.uri, { toolId, definition })
    const known = new Set(templates.map((one) => one.definition.uriTemplate))
    for (const definition of catalog.resourceTemplates)
      if (isTemplateRelayed(mcp, definition.uriTemplate) && !known.has(definition.uriTemplate))
        templates.push({ toolId, definition })
    if (prompts.size + resources.size + templates.length === before) continue
    completions ||= 'completions' in catalog.capabilities
    const { resources: supports } = catalog.capabilities as { resources?: { subscribe?: boolean } }
    if (supports?.subscribe === true && mcp?.relay?.resources.length) subscribable.add(toolId)
  }
  return {
    prompts,
    resources,
    templates,
    completions,
    subscribable,
    isRelayed: (toolId, uri) => isRelayed(byId.get(toolId)?.mcp, 'resources', uri),
    promptsHash: hashJson([...prompts]),
    resourcesHash: hashJson([[...resources], templates]),
  }
}

/** The tool through which a resource is read: it lists the URI, or has a template that matches. Null when there is none. */
export function ownerOfResource(features: UpstreamFeatures, uri: string): string | null {
  const listed = features.resources.get(uri)
  if (listed) return listed.toolId
  const matching = features.templates.find(
    ({ toolId, definition }) =>
      matchesTemplate(definition.uriTemplate, uri) && features.isRelayed(toolId, uri),
  )
  return matching?.toolId ?? null
}

/** The tool whose upstream reports changes of a resource. Null when no upstream has it, or its upstream reports none. */
export function subscriptionOwner(features: UpstreamFeatures, uri: string): string | null {
  const toolId = ownerOfResource(features, uri)
  return toolId !== null && features.subscribable.has(toolId) ? toolId : null
}

/**
 * Whether the URI contains the template's fixed parts in order. This only selects the upstream to ask; the upstream
 * decides whether the resource exists.
 */
export function matchesTemplate(template: string, uri: string): boolean {
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
