/** One subscription that ends once: refused, complete or stopped. */
import { unpackValue } from '../../../src/core/exact-json.ts'
import { isBlocked, socket } from './socket.ts'
import { openStream } from './stream.ts'

/** How long after the end of a socket that graphql-ws gives up another one is opened, in milliseconds. */
const againMs = 1_000

interface Listener<Event> {
  hear(event: Event): void
  /** The server refuses to go on from the newest cursor. */
  refuse(message: string | null): void
  /** There are no further events. */
  complete(): void
}

/**
 * Hears the events of `field` behind `variables.after`, which becomes the cursor of each event: after a loss of the
 * connection the subscription goes on there. Nothing is called after an end, or after the returned function was called.
 */
export function follow<Event extends { cursor: string | null }>(
  query: string,
  field: string,
  variables: Record<string, unknown> & { after: string | null },
  { hear, refuse, complete }: Listener<Event>,
): () => void {
  let isOver = false
  let stop = () => {}
  const end = (tell: () => void) => {
    if (isOver) return
    isOver = true
    // A refusal that comes as a result leaves the subscription open.
    stop()
    tell()
  }
  const refused = (errors: readonly { message: string }[]) => end(() => refuse(errors[0]?.message ?? null))
  const sink = {
    next(result: object) {
      const { data, errors } = unpackValue(result) as {
        data?: Record<string, Event> | null
        errors?: readonly { message: string }[]
      }
      const event = data?.[field]
      if (errors) refused(errors)
      else if (event && !isOver) {
        variables.after = event.cursor || null
        hear(event)
      }
    },
    error(error: unknown) {
      if (Array.isArray(error)) return refused(error as { message: string }[])
      if (isOver) return
      // There are codes of a closed socket after which graphql-ws does not come back.
      const timer = setTimeout(begin, isBlocked() ? 0 : againMs)
      stop = () => clearTimeout(timer)
    },
    complete: () => end(complete),
  }
  // graphql-ws sends this object of variables again when it is back, with the newest cursor in it.
  const begin = () => {
    stop = isBlocked()
      ? openStream({ query, variables }, sink)
      : socket().subscribe({ query, variables }, sink)
  }
  begin()
  return () => end(() => {})
}
