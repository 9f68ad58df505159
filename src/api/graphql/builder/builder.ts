/** The schema builder: its scalar types, plugins and conventions. */
import SchemaBuilder, { type EnumRef } from '@pothos/core'
import ComplexityPlugin from '@pothos/plugin-complexity'
import RelayPlugin from '@pothos/plugin-relay'
import type { Json, JsonObject } from '../../../core/json.ts'
import type { GraphQLContext } from './context.ts'

/**
 * Limits of one operation. A field costs 1, a list its maximum number of entries times their fields (list-bounds.ts).
 */
export const operationLimits = { complexity: 150_000, depth: 15, breadth: 600 }

/** Entries of one page of a connection: the maximum, and the default when neither first nor last is given. */
export const pageSizes = { maximum: 100, default: 20 }

export interface SchemaTypes {
  Context: GraphQLContext
  DefaultFieldNullability: false
  Scalars: {
    ID: { Input: string; Output: string }
    DateTime: { Input: Date; Output: Date }
    JSON: { Input: Json; Output: unknown }
    JSONObject: { Input: JsonObject; Output: object }
    JSONSchema: { Input: JsonObject; Output: JsonObject }
  }
}

export const builder = new SchemaBuilder<SchemaTypes>({
  plugins: [ComplexityPlugin, RelayPlugin],
  defaultFieldNullability: false,
  // operationGuard enforces the limits, for subscriptions too.
  complexity: { defaultComplexity: 1, defaultListMultiplier: 100, disabled: true },
  relay: {
    // The field that returns the connection counts its entries (listCost); nodes and edges must not count them again.
    nodesOnConnection: {
      complexity: { field: 0, multiplier: 1 },
      description: 'The entries of the page, without cursors.',
    },
    edgesFieldOptions: {
      complexity: { field: 0, multiplier: 1 },
      description: 'The entries of the page, each with its cursor.',
    },
    nodeFieldOptions: { description: 'The entry at this cursor.' },
    cursorFieldOptions: {
      description: 'The cursor of the entry, an opaque text; pass it as after or before.',
    },
    pageInfoFieldOptions: { description: 'The cursors of the page, and whether the list goes on.' },
    hasNextPageFieldOptions: { description: 'Whether the list has entries after this page.' },
    hasPreviousPageFieldOptions: { description: 'Whether the list has entries before this page.' },
    startCursorFieldOptions: { description: 'The cursor of the first entry; null when the page is empty.' },
    endCursorFieldOptions: { description: 'The cursor of the last entry; null when the page is empty.' },
    firstArgOptions: {
      description:
        `Number of entries from the front of the list, 0 to ${pageSizes.maximum}. Default: ` +
        `${pageSizes.default}, unless last is given.`,
    },
    lastArgOptions: {
      description: `Number of entries from the end of the list, 0 to ${pageSizes.maximum}; not together with first.`,
    },
    afterArgOptions: { description: 'Only entries after this cursor.' },
    beforeArgOptions: { description: 'Only entries before this cursor.' },
    idFieldOptions: { description: 'The id, the same text in GraphQL, MCP and logs.' },
    // The prefixed id is the global id.
    encodeGlobalID: (_type, id) => String(id),
    decodeGlobalID: (id) => ({ typename: 'Node', id }),
    nodeQueryOptions: false,
    nodesQueryOptions: false,
    nodeTypeOptions: { description: 'An object with an id. The prefix of the id names its type.' },
    pageInfoTypeOptions: {
      description: 'The cursors of the first and last entry of a page, and whether the list goes on.',
    },
  },
})

export type Builder = typeof builder

/** The builder's types with the defaults of Pothos, as its refs carry them. */
export type BuilderTypes = Builder extends PothosSchemaTypes.SchemaBuilder<infer T> ? T : never

/** An enum type whose values are these. */
export type EnumOf<Value> = EnumRef<BuilderTypes, Value>
