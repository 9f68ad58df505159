/**
 * Waiting for a call or generation that another process may run: hints make it fast, one poll of the rows for all who
 * wait makes it certain.
 */
import { batchStatements } from '../../store/db/fast-statements.ts'
import { type Services, unauthenticatedError, type Ctx } from '../access/index.ts'
import { loadCalls, type ToolCall, isOpen } from '../tool-calls/index.ts'
import { setTimeout as pause } from 'node:timers/promises'
import { jsonb, query } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import { onAbort } from '../../core/time.ts'
import { AppError } from '../../core/errors.ts'

/** A call that is known to exist; rejects when it does not. Checks no permission. */
export const batchLoadCall = batchStatements(
  async ({ db }: Pick<Services, 'db'>, ids: readonly string[]): Promise<ToolCall[]> => {
    const calls = new Map((await loadCalls(db, [...new Set(ids)])).map((call) => [call.id, call]))
    return ids.map((id) => {
      const call = calls.get(id)
      if (!call) throw new Error(`The call ${id} does not exist.`)
      return call
    })
  },
)

/** Minimum time between two polls, in milliseconds. */
const calmMs = 25
/** Time between polls without a hint, in milliseconds. */
const pollMs = 1000

/** A row of tool_calls or generations that a request waits for. */
interface WatchedRow {
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
function rowWatch(services: Pick<Services, 'db' | 'pubsub'>): Watch {
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

export interface Patience<T> {
  maxMs: number
  signal?: AbortSignal | null | undefined
  /** The request also follows a stream, which counts already. */
  counted?: boolean
  /** Whether the state is the one waited for. */
  enough(seen: T): boolean
}

type Waiting = Pick<Ctx, 'db' | 'pubsub' | 'revocations' | 'principal'>

/** Whether the call is settled, or waits for an approval, for its caller or for the end of a pause. */
export function isAnswered(call: ToolCall): boolean {
  return !isOpen(call) || call.status.startsWith('AWAITING') || call.notBefore !== null
}

/** Reads the call until `enough` is true, the time is over or the signal fires. Returns the call as last read. */
export function waitForCall(ctx: Waiting, call: ToolCall, patience: Patience<ToolCall>): Promise<ToolCall> {
  return waitFor(ctx, call, () => batchLoadCall(ctx, call.id), patience)
}

/**
 * The same for anything that changes with a row of tool_calls or generations. Reads at the beginning, when the row
 * has changed, and at the end; all waiting requests of this process share the polls of their rows. A request that waits
 * counts as a stream of its key and ends with it: UNAUTHENTICATED. What it waits for has begun, so beyond the limit of
 * streams it is no error: it gets the state at once.
 */
export async function waitFor<T>(
  ctx: Waiting,
  row: WatchedRow,
  read: () => Promise<T>,
  patience: Patience<T>,
): Promise<T> {
  const until = performance.now() + patience.maxMs
  const isOver = () => performance.now() >= until || patience.signal?.aborted === true
  let seen = await read()
  if (patience.enough(seen) || isOver()) return seen
  const revoked = new AbortController()
  const leave = patience.counted ? () => {} : placeOf(ctx, () => revoked.abort())
  if (!leave) return seen
  const changes = changesOf(ctx, row, [patience.signal ?? null, revoked.signal])
  try {
    for (;;) {
      await changes.next(until)
      if (revoked.signal.aborted) throw unauthenticatedError()
      seen = await read()
      if (patience.enough(seen) || isOver()) return seen
    }
  } finally {
    changes.end()
    leave()
  }
}

/** Takes a place among the streams of the caller's key until the returned function is called; null when it has none left. */
function placeOf({ revocations, principal }: Waiting, end: () => void): (() => void) | null {
  try {
    return revocations.onRevoked(principal, end)
  } catch (error) {
    if (error instanceof AppError && error.code === 'LIMITED') return null
    throw error
  }
}

/**
 * `next` resolves when the row's version differs from the last one, when a signal fires, or at the given time of
 * `performance.now()`, which nobody sets.
 */
function changesOf(
  services: Pick<Ctx, 'db' | 'pubsub'>,
  row: WatchedRow,
  signals: readonly (AbortSignal | null)[],
) {
  let version: string | null = null
  let changed = false
  let wake = () => {}
  const stop = rowWatch(services)({ id: row.id, projectId: row.projectId }, (now) => {
    // The first version may be newer than the state that was read before it.
    if (now === version) return
    version = now
    changed = true
    wake()
  })
  const ended = () => signals.some((signal) => signal?.aborted)
  const listeners = signals.map((signal) => onAbort(signal, () => wake()))
  return {
    async next(until: number): Promise<void> {
      if (!changed && !ended()) {
        let timer: NodeJS.Timeout | undefined
        await new Promise<void>((resolve) => {
          wake = resolve
          timer = setTimeout(resolve, Math.min(Math.max(0, until - performance.now()), 2 ** 31 - 1))
        })
        clearTimeout(timer)
      }
      changed = false
    },
    end() {
      stop()
      for (const forget of listeners) forget()
    },
  }
}
