/**
 * The rows that requests of this process wait for: one poll for all of them, at most every 25 ms. A hint about a
 * project polls its rows; without hints they are polled every second.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { jsonb, query } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import type { Services } from '../access/index.ts'

/** Minimum time between two polls, in milliseconds. */
const calmMs = 25
/** Time between polls without a hint, in milliseconds. */
const pollMs = 1000

/** A row of tool_calls or generations that a request waits for. */
export interface WatchedRow {
  id: string
  projectId: string
}

/**
 * Calls `seen` with each version that a poll finds, the first soon after the start. Returns the function that ends
 * the watch.
 */
type Watch = (row: WatchedRow, seen: (version: string) => void) => () => void

const watches = new WeakMap<object, Watch>()

/** The one watch of this process. */
export function rowWatch(services: Pick<Services, 'db' | 'pubsub'>): Watch {
  const known = watches.get(services.pubsub)
  if (known) return known
  const made = makeWatch(services)
  watches.set(services.pubsub, made)
  return made
}

interface Waiter extends WatchedRow {
  seen(version: string): void
}

function makeWatch({ db, pubsub }: Pick<Services, 'db' | 'pubsub'>): Watch {
  const waiters = new Set<Waiter>()
  /** Ids to read in the next poll. */
  const due = new Set<string>()
  let polling = false
  let end: (() => void) | null = null

  const mark = (which: (waiter: Waiter) => boolean) => {
    for (const waiter of waiters) if (which(waiter)) due.add(waiter.id)
    if (due.size > 0 && !polling) void poll()
  }
  const poll = async () => {
    polling = true
    while (due.size > 0 && waiters.size > 0) {
      const ids = [...due]
      due.clear()
      // A failed poll needs no retry: the next poll reads the rows again.
      const versions = await readVersions(db, ids).catch(() => new Map<string, string>())
      for (const waiter of waiters) {
        const version = versions.get(waiter.id)
        if (version !== undefined) waiter.seen(version)
      }
      await pause(calmMs)
    }
    due.clear()
    polling = false
  }
  const begin = () => {
    const stop = pubsub.subscribe((hint) => {
      if (hint.kind === 'reconnected') mark(() => true)
      else if (hint.kind === 'news') mark((waiter) => waiter.projectId === hint.projectId)
    })
    const timer = setInterval(() => mark(() => true), pollMs)
    timer.unref()
    return () => {
      stop()
      clearInterval(timer)
    }
  }
  return (row, seen) => {
    const waiter = { ...row, seen }
    waiters.add(waiter)
    end ??= begin()
    mark((one) => one === waiter)
    return () => {
      waiters.delete(waiter)
      if (waiters.size > 0) return
      end?.()
      end = null
    }
  }
}

/** A text for each row that changes whenever something changes that a request can wait for. */
async function readVersions(db: Services['db'], ids: readonly string[]): Promise<Map<string, string>> {
  const rows = await query<{ id: string; version: string }>(
    db,
    sql`with asked as (select jsonb_array_elements_text(${jsonb(ids)}) as id)
      select id, status || ' ' || attempt || ' ' || (settled_at is not null)::text || case
          when status = 'AWAITING_APPROVAL'
          then coalesce((select ' ' || expires_at from approvals where approvals.id = approval_id), '') else '' end
        as version from tool_calls where id in (select id from asked)
      union all select id, status || ' ' || last_seq from generations where id in (select id from asked)`,
  )
  return new Map(rows.map(({ id, version }) => [id, version]))
}
