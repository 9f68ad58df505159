/** Lists as Relay connections with keyset cursors: one set of types for each node, one way to page. */
import { resolveCursorConnection } from '@pothos/plugin-relay'
import type { ObjectRef, InterfaceRef } from '@pothos/core'
import { badCursor, decodePlace, encodePlace, type Page, type PlaceInList } from '../../core/page.ts'
import { invalidAt } from '../../core/errors.ts'
import { builder, pageSizes, type BuilderTypes } from './builder.ts'

type NodeRef<Node> = ObjectRef<BuilderTypes, Node> | InterfaceRef<BuilderTypes, Node>

/** The connection and edge types of a node, made once for each. */
export function connectionOf<Node>(node: NodeRef<Node>, name: string) {
  const edge = builder.edgeObject({
    type: node,
    name: `${name}Edge`,
    description: `A ${name} in a list, with its cursor.`,
    nodeNullable: false,
  })
  const options = {
    type: node,
    name: `${name}Connection`,
    description: `A page of a list of type ${name}.`,
  }
  return builder.connectionObject({ ...options, edgesNullable: { list: false, items: false } }, edge)
}

interface ConnectionArgs {
  first?: number | null | undefined
  last?: number | null | undefined
  after?: string | null | undefined
  before?: string | null | undefined
}

/** One page by keyset: `load` gets limits and places, its rows are ordered newest first (or inverted for `last`). */
export function page<Row extends { id: string; createdAt: Date }>(
  args: ConnectionArgs,
  load: (page: Page) => Promise<Row[]>,
) {
  if (isGiven(args.first) && isGiven(args.last)) throw invalidAt(['last'], 'give first or last, not both')
  for (const name of ['first', 'last'] as const) {
    const size = args[name]
    if (isGiven(size) && (size < 0 || size > pageSizes.maximum))
      throw invalidAt([name], `must be from 0 to ${pageSizes.maximum}`)
  }
  return resolveCursorConnection<Promise<Row[]>>(
    {
      args,
      defaultSize: pageSizes.default,
      maxSize: pageSizes.maximum,
      toCursor: (row) => encodePlace({ at: row.createdAt.getTime(), id: row.id }),
    },
    ({ before, after, limit, inverted }) =>
      load({
        limit,
        inverted,
        after: after ? placeOf(after) : undefined,
        before: before ? placeOf(before) : undefined,
      }),
  )
}

/** The last moment that every database can hold and JavaScript writes with four digits of a year. */
const lastMoment = Date.parse('9999-12-31T23:59:59.999Z')

/** Nobody was given a cursor beyond these years; the database would stumble over it. */
function placeOf(cursor: string): PlaceInList {
  const place = decodePlace(cursor)
  if (place.at < 0 || place.at > lastMoment) throw badCursor()
  return place
}

export function isGiven<T>(value: T | null | undefined): value is T {
  return value !== null && value !== undefined
}

/** What a list costs: its entries times their fields. */
export function listCost(args: ConnectionArgs) {
  const size = args.first ?? args.last ?? pageSizes.default
  return { field: 1, multiplier: Math.max(1, Math.min(size, pageSizes.maximum)) }
}

/** Whether a value of a union or interface carries an id of that kind. */
export function hasPrefix(value: unknown, prefix: string): boolean {
  return typeof value === 'object' && value !== null && 'id' in value && String(value.id).startsWith(prefix)
}
