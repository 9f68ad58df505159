/** What many requests of this process wait for: a hint tells of one of them, and one poll reads all. */
import type { Services } from '../../access/index.ts'

type WatchServices = Pick<Services, 'db' | 'pubsub'>

/** Calls `seen` with what is known of this id after each hint and poll. Returns the function that ends this. */
type Watch<State> = (id: string, seen: (state: State | null) => void) => () => void

export interface Watched<State> {
  /** The signal whose hints have such ids. */
  signal: string
  /** What a hint alone says; left out: it is read. */
  hinted?: State
  /** Time between polls without a hint, in milliseconds. */
  everyMs: number
  /** What is known of these ids; null when that could not be read: the next poll reads it again. */
  read(ids: string[]): Promise<Map<string, State> | null>
}

/** The watch of a process, made once from its services. */
export function watchOf<State>(
  make: (services: WatchServices) => Watched<State>,
): (services: WatchServices) => Watch<State> {
  const watches = new WeakMap<object, Watch<State>>()
  return (services) => {
    const known = watches.get(services.pubsub)
    if (known) return known
    const made = startWatch(services, make(services))
    watches.set(services.pubsub, made)
    return made
  }
}

function startWatch<State>({ pubsub }: WatchServices, watched: Watched<State>): Watch<State> {
  const waiters = new Map<string, Set<(state: State | null) => void>>()
  let end: (() => void) | null = null
  const tell = (id: string, state: State | null) => {
    for (const seen of waiters.get(id) ?? []) seen(state)
  }
  const read = async (ids: string[]) => {
    const found = await watched.read(ids)
    if (found) for (const id of ids) tell(id, found.get(id) ?? null)
  }
  let isPolling = false
  const poll = async () => {
    // One that takes long is waited for: what does not answer is not asked more and more.
    if (isPolling) return
    isPolling = true
    await read([...waiters.keys()])
    isPolling = false
  }
  const begin = () => {
    const stop = pubsub.subscribe((hint) => {
      if (hint.kind === 'reconnected') void poll()
      if (hint.kind !== 'signal' || hint.name !== watched.signal || !waiters.has(hint.id)) return
      if (watched.hinted === undefined) void read([hint.id])
      else tell(hint.id, watched.hinted)
    })
    const timer = setInterval(() => void poll(), watched.everyMs)
    timer.unref()
    return () => {
      stop()
      clearInterval(timer)
    }
  }
  return (id, seen) => {
    const beside = waiters.get(id) ?? new Set()
    waiters.set(id, beside.add(seen))
    end ??= begin()
    return () => {
      beside.delete(seen)
      if (beside.size === 0 && waiters.get(id) === beside) waiters.delete(id)
      if (waiters.size > 0) return
      end?.()
      end = null
    }
  }
}
