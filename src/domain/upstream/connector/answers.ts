/** The answers of connectors that requests of this process wait for: a hint reads one, and one poll a second all of them. */
import type { Services } from '../../access/index.ts'
import { readStates, type MessageState } from './messages.ts'

/** Time between polls without a hint, in milliseconds. */
const pollMs = 1000

type Waiter = (state: MessageState | null) => void

/** Calls `seen` with what is known of the message after each hint and poll. Returns the function that ends this. */
type Watch = (id: string, seen: Waiter) => () => void

const watches = new WeakMap<object, Watch>()

/** The one watch of this process. */
export function answerWatch(services: Pick<Services, 'db' | 'pubsub'>): Watch {
  const known = watches.get(services.pubsub)
  if (known) return known
  const made = makeWatch(services)
  watches.set(services.pubsub, made)
  return made
}

function makeWatch(services: Pick<Services, 'db' | 'pubsub'>): Watch {
  const waiters = new Map<string, Waiter>()
  let end: (() => void) | null = null
  const read = async (ids: string[]) => {
    // A failed read needs no retry: the next poll reads the rows again.
    const states = await readStates(services, ids).catch(() => null)
    if (!states) return
    const found = new Map(states.map((state) => [state.id, state]))
    for (const id of ids) waiters.get(id)?.(found.get(id) ?? null)
  }
  const begin = () => {
    const stop = services.pubsub.subscribe((hint) => {
      if (hint.kind === 'reconnected') void read([...waiters.keys()])
      else if (hint.kind === 'signal' && hint.name === 'connector-answered' && waiters.has(hint.id))
        void read([hint.id])
    })
    const timer = setInterval(() => void read([...waiters.keys()]), pollMs)
    timer.unref()
    return () => {
      stop()
      clearInterval(timer)
    }
  }
  return (id, seen) => {
    waiters.set(id, seen)
    end ??= begin()
    void read([id])
    return () => {
      waiters.delete(id)
      if (waiters.size > 0) return
      end?.()
      end = null
    }
  }
}
