/**
 * What many requests of this process wait for, answers of connectors and messages for them: a hint tells of one, and
 * one poll reads all.
 */
import type { Services } from '../../access/index.ts'
import { elapsedSince, momentNow, type Moment } from '../../../core/time.ts'
import { goneMs, readStates, type MessageState, connectorKey, takenByMs } from './messages.ts'
import { nowPlus, query } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'

type WatchServices = Pick<Services, 'db' | 'pubsub'>

/** Calls `seen` with what is known of this id after each hint and poll. Returns the function that ends this. */
type Watch<State> = (id: string, seen: (state: State | null) => void) => () => void

export interface WatchSource<State> {
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
function watchOf<State>(
  make: (services: WatchServices) => WatchSource<State>,
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

function startWatch<State>({ pubsub }: WatchServices, watched: WatchSource<State>): Watch<State> {
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

/** Time between polls without a hint, in milliseconds. */
const answerPollMs = 1000

/** What is known of messages by their ids; null: there is no such message any more. */
export const answerWatch = watchOf<MessageState>((services) => {
  let failed: Moment | null = null
  return {
    signal: 'connector-answered',
    everyMs: answerPollMs,
    async read(ids) {
      const asked = momentNow()
      const states = await readStates(services, ids).catch(() => null)
      // A database that does not answer does not hear from connectors either: for a while none of them is gone.
      if (!states || elapsedSince(asked) > answerPollMs) failed = momentNow()
      const isBack = failed === null || elapsedSince(failed) > goneMs
      return states && new Map(states.map((state) => [state.id, { ...state, lost: state.lost && isBack }]))
    },
  }
})

/** Time between polls without a hint, in milliseconds: less than a message may wait. */
const arrivalPollMs = 500

/** True for a connector, named by `connectorKey`, that has messages to take. */
export const arrivalWatch = watchOf<true>((services) => ({
  signal: 'connector',
  hinted: true,
  everyMs: arrivalPollMs,
  async read() {
    const found = await query<{ projectId: string; name: string }>(
      services.db,
      sql`
        select distinct project_id as "projectId", connector as name
        from connector_messages
        where created_at > ${nowPlus(-takenByMs)}
          and taken_at is null
          and take_by > now()`,
    ).catch(() => null)
    return found && new Map(found.map((place) => [connectorKey(place), true]))
  },
}))
