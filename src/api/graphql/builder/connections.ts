/** Relay connections with keyset cursors: the types of a list, and how its pages are loaded. */
import { resolveCursorConnection } from '@pothos/plugin-relay'
import type { ObjectRef, InterfaceRef } from '@pothos/core'
import { badCursor, decodePlace, encodePlace, type Page, type PlaceInList } from '../../../core/page.ts'
import { invalidAt } from '../../../core/errors.ts'
import { builder, pageSizes, type BuilderTypes } from './builder.ts'

type NodeRef<Node> = ObjectRef<BuilderTypes, Node> | InterfaceRef<BuilderTypes, Node>

/** Creates the connection and edge types of a node type. Call it once for each. */
export function connectionOf<Node>(node: NodeRef<Node>, name: string) {
  const edge = builder.edgeObject({
    type: node,
    name: `${name}Edge`,
    description: `An entry of a list of ${name} objects, with its cursor.`,
    nodeNullable: false,
  })
  const options = {
    type: node,
    name: `${name}Connection`,
    description: `A page of a list of ${name} objects.`,
  }
  return builder.connectionObject({ ...options, edgesNullable: { list: false, items: false } }, edge)
}

interface ConnectionArgs {
  first?: number | null | undefined
  last?: number | null | undefined
  after?: string | null | undefined
  before?: string | null | undefined
}

/**
 * Loads one page by keyset. `load` returns rows in the order of the list, newest first unless `momentOf` says by which
 * time they are ordered, and in the opposite order when its `inverted` is true (for `last`).
 */
export function page<Row extends { id: string; createdAt: Date }>(
  args: ConnectionArgs,
  load: (page: Page) => Promise<Row[]>,
  momentOf: (row: Row) => Date = (row) => row.createdAt,
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
      toCursor: (row) => encodePlace({ at: momentOf(row).getTime(), id: row.id }),
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

/** The last time that JavaScript writes with a four-digit year, as both databases need it. */
const lastMoment = Date.parse('9999-12-31T23:59:59.999Z')

/** The position of a cursor. A forged time outside these years would be an error of the database: it is BAD_CURSOR. */
function placeOf(cursor: string): PlaceInList {
  const place = decodePlace(cursor)
  if (place.at < 0 || place.at > lastMoment) throw badCursor()
  return place
}

export function isGiven<T>(value: T | null | undefined): value is T {
  return value !== null && value !== undefined
}

/** The cost of a connection: its page size times the cost of an entry. */
export function listCost(args: ConnectionArgs) {
  const size = args.first ?? args.last ?? pageSizes.default
  return { field: 1, multiplier: Math.max(1, Math.min(size, pageSizes.maximum)) }
}

/** Whether the id of a value of a union or interface has this prefix. */
export function hasPrefix(value: unknown, prefix: string): boolean {
  return typeof value === 'object' && value !== null && 'id' in value && String(value.id).startsWith(prefix)
}

/** The description of the argument of lists that are searched by name. */
export const nameDescription = (entries: string) =>
  `Only ${entries} whose name contains this text, upper and lower case alike, 1 to 100 characters.`
