/** The schema builder: scalars, conventions and plugins, said once. */
import SchemaBuilder, { type EnumRef } from '@pothos/core'
import ComplexityPlugin from '@pothos/plugin-complexity'
import RelayPlugin from '@pothos/plugin-relay'
import type { Json, JsonObject } from '../../core/json.ts'
import type { GraphQLContext } from './context.ts'

/** Bounds on one operation. A field costs one, a list what it can hold at most: list-bounds.ts. */
export const operationLimits = { complexity: 150_000, depth: 15, breadth: 500 }

/** Lists have at most this many entries, and this many when nothing is said. */
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
  // The limits are kept by operationGuard, for subscriptions too.
  complexity: { defaultComplexity: 1, defaultListMultiplier: 100, disabled: true },
  relay: {
    // The connection itself counts its entries (listCost); its two lists must not count them again.
    nodesOnConnection: {
      complexity: { field: 0, multiplier: 1 },
      description: 'The entries without their cursors.',
    },
    edgesFieldOptions: {
      complexity: { field: 0, multiplier: 1 },
      description: 'The entries with their cursors.',
    },
    nodeFieldOptions: { description: 'The entry.' },
    cursorFieldOptions: { description: 'Its place; pass it as after or before.' },
    pageInfoFieldOptions: { description: 'Where the page begins and ends, and whether there is more.' },
    hasNextPageFieldOptions: { description: 'Whether there are entries after this page.' },
    hasPreviousPageFieldOptions: { description: 'Whether there are entries before this page.' },
    startCursorFieldOptions: { description: 'The place of the first entry.' },
    endCursorFieldOptions: { description: 'The place of the last entry.' },
    firstArgOptions: {
      description: `Entries from the front, 0 to ${pageSizes.maximum}; ${pageSizes.default} when neither first nor last is given.`,
    },
    lastArgOptions: {
      description: `Entries from the end, 0 to ${pageSizes.maximum}; not together with first.`,
    },
    afterArgOptions: { description: 'Only entries after this cursor.' },
    beforeArgOptions: { description: 'Only entries before this cursor.' },
    idFieldOptions: { description: 'The same string everywhere: here, in webhooks and in logs.' },
    // The prefixed id is the global id: the same string everywhere.
    encodeGlobalID: (_type, id) => String(id),
    decodeGlobalID: (id) => ({ typename: 'Node', id }),
    nodeQueryOptions: false,
    nodesQueryOptions: false,
    nodeTypeOptions: { description: 'Anything with an id. The prefix of the id tells the kind.' },
    pageInfoTypeOptions: {
      description: 'Where a page of a list begins and ends, and whether there is more.',
    },
  },
})

export type Builder = typeof builder

/** The builder's types with the defaults of Pothos, as its refs carry them. */
export type BuilderTypes = Builder extends PothosSchemaTypes.SchemaBuilder<infer T> ? T : never

/** An enum type whose values are these. */
export type EnumOf<Value> = EnumRef<BuilderTypes, Value>
