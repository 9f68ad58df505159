/** tools/list: the entries of a surface as MCP tools. Pure. */
import type { Tool } from '@modelcontextprotocol/server'
import type { JsonObject } from '../../../core/json.ts'
import type { BridgeEntry } from '../../../domain/bridge/index.ts'
import { localRefs, movedSchema } from '../../../core/schema-refs.ts'
import type { AgentRequest } from '../http/agent-request.ts'

/** The structured content of a result that awaits approval. */
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

/** The entries in their order, each as a client of this era can read it. */
export function listTools({ surface, era }: Pick<AgentRequest, 'surface' | 'era'>): Tool[] {
  return surface.entries.map((entry) => {
    const outputSchema = outputSchemaOf(entry, era)
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

/** The `_meta` of an upstream's tool, and `gatehouse/gate` when a call may need approval. */
function metaOf({ shown, gate }: BridgeEntry): { _meta?: JsonObject } {
  const ours: JsonObject = gate === 'NEVER' ? {} : { 'gatehouse/gate': gate.toLowerCase() }
  const meta = { ...shown?.meta, ...ours }
  return Object.keys(meta).length > 0 ? { _meta: meta } : {}
}

/**
 * Legacy clients accept only schemas of type object. A gated tool's result may also be a pending one: then the tool's own
 * schema is moved, with its definitions, and its references point to the new place. Without `$id`, by which clients confuse
 * schemas, and without references that only some validators follow.
 */
function outputSchemaOf({ outputSchema, gate }: BridgeEntry, era: AgentRequest['era']): JsonObject | null {
  if (!outputSchema) return null
  if (era === 'legacy' && outputSchema['type'] !== 'object') return null
  const { $schema, $id: _id, ...rest } = localRefs(outputSchema)
  const draft = $schema ? { $schema } : {}
  if (gate === 'NEVER') return { ...draft, ...rest }
  return {
    ...draft,
    ...(outputSchema['type'] === 'object' ? { type: 'object' } : {}),
    anyOf: [movedSchema(rest, '#/anyOf/0'), pendingSchema],
  }
}
