/** tools/list: the surface in the words of MCP. */
import type { Tool } from '@modelcontextprotocol/server'
import type { JsonObject } from '../../core/json.ts'
import type { BridgeEntry } from '../../domain/bridge/index.ts'
import type { Visit } from './visit.ts'

/** What stands in place of the result while a person has not decided. */
export const pendingSchema: JsonObject = {
  type: 'object',
  properties: {
    status: { const: 'pending_approval' },
    call_id: { type: 'string' },
    approval_id: { type: 'string' },
    expires_at: { type: 'string', format: 'date-time' },
    retry_after_ms: { type: 'integer' },
  },
  required: ['status', 'call_id'],
}

/** The entries in their order, each as this client may read it. */
export function listTools({ surface, era }: Pick<Visit, 'surface' | 'era'>): Tool[] {
  return surface.entries.map((entry) => {
    const outputSchema = shownOutput(entry, era)
    return {
      name: entry.name,
      ...(entry.title ? { title: entry.title } : {}),
      description: entry.description ?? entry.title ?? entry.name,
      inputSchema: entry.inputSchema,
      ...(outputSchema ? { outputSchema } : {}),
      ...(Object.keys(entry.annotations).length > 0 ? { annotations: entry.annotations } : {}),
      ...(entry.shown?.icons ? { icons: entry.shown.icons } : {}),
      ...metaOf(entry),
    } as Tool
  })
}

/** What the upstream says beside its tool, and that a person may have to agree. */
function metaOf({ shown, gate }: BridgeEntry): { _meta?: JsonObject } {
  const ours: JsonObject = gate === 'NEVER' ? {} : { 'gatehouse/gate': gate.toLowerCase() }
  const meta = { ...shown?.meta, ...ours }
  return Object.keys(meta).length > 0 ? { _meta: meta } : {}
}

/** Older clients know only schemas of objects. Where the gate may answer first, its answer is promised, too. */
function shownOutput({ outputSchema, gate }: BridgeEntry, era: Visit['era']): JsonObject | null {
  if (!outputSchema) return null
  if (era === 'legacy' && outputSchema['type'] !== 'object') return null
  if (gate === 'NEVER') return outputSchema
  const { $schema, $defs, definitions, ...rest } = outputSchema
  return {
    ...($schema ? { $schema } : {}),
    ...($defs ? { $defs } : {}),
    ...(definitions ? { definitions } : {}),
    ...(outputSchema['type'] === 'object' ? { type: 'object' } : {}),
    anyOf: [rest, pendingSchema],
  }
}
