/** Lists of OpenAI's Assistants API: their parameters, and pages of them. */
import { invalidAt } from '../../core/errors.ts'
import type { Page, PlaceInList } from '../../core/page.ts'

/** What a client asks of a list. */
export interface Listing {
  limit: number
  /** The ids behind which the page begins, and before which it ends. */
  after: string | null
  before: string | null
  order: 'asc' | 'desc'
}

/** INVALID, by its name, for a parameter that is not served. */
export function readListing(query: URLSearchParams): Listing {
  for (const name of query.keys())
    if (!['limit', 'order', 'after', 'before', 'include[]'].includes(name))
      throw invalidAt([name], 'is not served')
  const [limit, order] = [query.get('limit') ?? '20', query.get('order') ?? 'desc']
  if (!/^([1-9]\d?|100)$/.test(limit)) throw invalidAt(['limit'], 'must be 1 to 100')
  if (order !== 'asc' && order !== 'desc') throw invalidAt(['order'], 'must be asc or desc')
  return { limit: Number(limit), after: query.get('after'), before: query.get('before'), order }
}

/** The page of an operation that lists in the order `natural`, with one row more than the client wants. */
export async function pageOf(
  { limit, after, before, order }: Listing,
  natural: Listing['order'],
  find: (id: string) => Promise<{ id: string; createdAt: Date } | null>,
): Promise<Page> {
  const placeAt = async (name: string, id: string | null): Promise<PlaceInList | undefined> => {
    const found = id === null ? undefined : await find(id)
    if (found === null) throw invalidAt([name], 'is not an id of this list')
    return found && { at: found.createdAt.getTime(), id: found.id }
  }
  const [from, to] = [await placeAt('after', after), await placeAt('before', before)]
  const inverted = order !== natural
  return {
    limit: limit + 1,
    inverted,
    ...(inverted ? { after: to, before: from } : { after: from, before: to }),
  }
}

/** The body of a page, of rows in their order with one more than it has. */
export function listBody(rows: readonly { id: string }[], limit: number): object {
  const data = rows.slice(0, limit)
  const ends = { first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null }
  return { object: 'list', data, ...ends, has_more: rows.length > limit }
}
