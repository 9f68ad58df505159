/** Statements that write several calls of the same moment, one group of calls for each statement. See decision 30. */
import { gather } from '../../core/gather.ts'
import { isUnavailable } from '../../store/db/storage-error.ts'
import type { Services } from '../access/index.ts'

/** A call is never delayed for longer than this for the sake of others, in milliseconds. */
const waitMs = 1
const maxCalls = 64
/** The most characters of JSON in one statement. A larger call has a statement of its own. */
const maxCharacters = 1_000_000

/** The call needs a statement of its own. */
export const alone = Symbol('alone')

/** What is written of one call, as JSON. */
interface Part {
  text: string
}

/**
 * Returns a function that writes its part by a statement which `write` makes of all parts of the same moment, for each
 * database of its own. It returns `alone`, and has written nothing, when no other part was asked for in that moment, or when
 * the database refuses the statement: what is wrong with one call concerns no other. Throws what the statement threw; a
 * statement without a response may have been executed.
 */
export function together<Uses extends Pick<Services, 'db'>, One extends Part, Result>(
  write: (services: Uses, parts: readonly One[]) => Promise<readonly Result[]>,
): (services: Uses, part: One) => Promise<Result | typeof alone> {
  const all = new WeakMap<Uses['db'], (part: One) => Promise<Result | typeof alone>>()
  const limits = {
    maxItems: maxCalls,
    maxBytes: maxCharacters,
    bytesOf: ({ text }: Part) => text.length,
    waitMs,
  }
  const make = (services: Uses) =>
    gather(async (parts: readonly One[]): Promise<readonly (Result | typeof alone)[]> => {
      if (parts.length === 1) return [alone]
      try {
        return await write(services, parts)
      } catch (error) {
        if (isUnavailable(error)) throw error
        return parts.map(() => alone)
      }
    }, limits)
  return (services, part) => {
    const known = all.get(services.db) ?? make(services)
    all.set(services.db, known)
    return known(part)
  }
}
