/**
 * The leases of this process: one heartbeat renews them, and they end here before another process can claim the row.
 * After an outage it reads what was written.
 */
import { elapsedSince, momentNow, type Moment } from '../../core/time.ts'
import type { Database } from '../db/database.ts'
import { heartbeat, LeaseLostError, refence, release, type HeldRow } from './work.ts'
import type { WorkTable } from '../db/tables/columns.ts'
import { setTimeout as pause } from 'node:timers/promises'
import { isOutage } from '../db/storage-error.ts'

/** The share of a lease in which the holder relies on it. The rest allows for slow statements and clock differences. */
const sureShare = 0.8
/** The interval of heartbeats as a share of a lease; shorter after one that failed or found a locked row. */
const beatShare = 1 / 3
const hurryShare = 1 / 15

/** A row that this process holds. */
export interface Lease {
  readonly held: HeldRow
  /** Aborts when another worker has the row. */
  readonly signal: AbortSignal
  /** Whether no other worker can have claimed the row. When false, the holder must send nothing. */
  isSure(): boolean
  /** Renews the lease when it is not sure. Throws LeaseLostError when another worker has the row. */
  confirm(): Promise<void>
  /**
   * Claims the row again under a higher epoch, so that no statement which this process sent before and whose response
   * was lost can still take effect. Does nothing when the epoch is higher than `epoch` already. Throws LeaseLostError
   * when another worker has, or may have, the row.
   */
  refence(epoch: number): Promise<void>
  /** Ends the lease in this process: it is not renewed any more. Idempotent. */
  end(): void
}

/** The leases of a process on the rows of one table. */
export interface Leases {
  /**
   * Renews the lease of a row from now on, claimed by a statement sent at `since`. A row that is kept gets the new
   * epoch.
   */
  keep(held: HeldRow, since: Moment): Lease
  /**
   * Renews the leases when one may have ended, because this process may have been suspended. Call it before a claim.
   */
  beatIfUnsure(): Promise<void>
  /** Rows in work whose lease may have ended: this process must not claim them again. */
  unsure(): string[]
  /** Resolves when no lease is left. */
  idle(): Promise<void>
  /** Releases all rows: the next worker that polls claims them. */
  releaseAll(): Promise<void>
}

/** All leases of a process. */
export interface Heartbeat {
  of(table: WorkTable): Leases
  /** This process finishes what it has begun, and begins nothing for its callers any more. */
  close(): void
  isClosed(): boolean
  /** Stops renewing leases. */
  stop(): void
}

export interface HeartbeatOptions {
  db: Database
  /** Milliseconds. */
  leaseMs: number
  onError(error: unknown): void
}

interface Entry {
  table: WorkTable
  held: HeldRow
  since: Moment
  lost: AbortController
  refencing: Promise<void> | null
  /** Refences whose response was lost since the epoch was known. */
  lostResponses: number
}

/** The leases of a process. */
function createEntries(leaseMs: number) {
  const entries = new Map<string, Entry>()
  const waiters = new Map<WorkTable, (() => void)[]>()
  const keyOf = ({ table, held }: Pick<Entry, 'table' | 'held'>) => `${table} ${held.id}`
  const of = (table: WorkTable) => [...entries.values()].filter((entry) => entry.table === table)
  const isSure = (entry: Entry) =>
    elapsedSince(entry.since) < leaseMs * sureShare && !entry.lost.signal.aborted
  const remove = (entry: Entry) => {
    if (entries.get(keyOf(entry)) === entry) entries.delete(keyOf(entry))
    if (of(entry.table).length > 0) return
    for (const resolve of waiters.get(entry.table) ?? []) resolve()
    waiters.delete(entry.table)
  }
  return {
    of,
    isSure,
    remove,
    unsure: (table: WorkTable) => of(table).filter((entry) => !isSure(entry)),
    add: (entry: Entry) => void entries.set(keyOf(entry), entry),
    lose(entry: Entry) {
      remove(entry)
      entry.lost.abort()
    },
    /** Removes all entries of a table without resolving `idle`. Returns their rows. */
    take(table: WorkTable): HeldRow[] {
      const rest = of(table)
      for (const entry of rest) entries.delete(keyOf(entry))
      return rest.map((entry) => entry.held)
    },
    idle: (table: WorkTable) =>
      of(table).length === 0
        ? Promise.resolve()
        : new Promise<void>((resolve) => waiters.set(table, [...(waiters.get(table) ?? []), resolve])),
  }
}

type Entries = ReturnType<typeof createEntries>

/**
 * Renews the leases on one table: at once with `beat`, and by a timer while there are any. A statement that hangs
 * delays the leases of no other table.
 */
function createBeats({ db, leaseMs, onError }: HeartbeatOptions, entries: Entries, table: WorkTable) {
  let timer: NodeJS.Timeout | null = null
  let beating: Promise<boolean> | null = null
  let stopped = false

  /** True when every row was renewed or lost. */
  const renew = async (): Promise<boolean> => {
    const asked = entries.of(table).filter((entry) => entry.refencing === null)
    if (asked.length === 0) return true
    const since = momentNow()
    const epochs = new Map(asked.map((entry) => [entry, entry.held.epoch]))
    const held = asked.map((entry) => entry.held)
    const { renewed, locked } = await heartbeat(db, table, leaseMs, held)
    for (const entry of asked) {
      const { id, epoch } = entry.held
      if (entry.refencing !== null || epochs.get(entry) !== epoch) continue
      if (renewed.has(id)) entry.since = since
      // A locked row still has the epoch of this process.
      else if (!locked.has(id)) entries.lose(entry)
    }
    return locked.size === 0
  }
  const beat = (): Promise<boolean> =>
    (beating ??= renew()
      .catch((error: unknown) => {
        onError(error)
        return false
      })
      .finally(() => (beating = null)))
  const schedule = (share = beatShare) => {
    if (timer || stopped) return
    timer = setTimeout(() => {
      timer = null
      void beat().then((whole) => entries.of(table).length > 0 && schedule(whole ? beatShare : hurryShare))
    }, leaseMs * share)
  }
  const stop = () => {
    stopped = true
    if (timer) clearTimeout(timer)
  }
  return { beat, schedule: () => schedule(), stop }
}

type Beats = ReturnType<typeof createBeats>

/** Claims the row again under a higher epoch. Throws LeaseLostError when another worker has, or may have, the row. */
async function reclaim({ db, leaseMs }: HeartbeatOptions, entries: Entries, entry: Entry): Promise<void> {
  const { table, held } = entry
  if (!entries.isSure(entry)) throw new LeaseLostError(held.id)
  const since = momentNow()
  entry.lostResponses++
  const epoch = await refence(db, table, leaseMs, held, entry.lostResponses - 1)
  // A late response proves nothing: another worker may have raised the epoch meanwhile.
  if (epoch === null || elapsedSince(entry.since) >= leaseMs * sureShare) {
    entries.lose(entry)
    throw new LeaseLostError(held.id)
  }
  held.epoch = epoch
  entry.since = since
  entry.lostResponses = 0
}

/** Starts the heartbeat of a process. Without leases it sends nothing. */
export function createHeartbeat(options: HeartbeatOptions): Heartbeat {
  const entries = createEntries(options.leaseMs)
  const { isSure } = entries
  const beatsOf = (table: WorkTable) => createBeats(options, entries, table)
  const beats: Record<WorkTable, Beats> = {
    generations: beatsOf('generations'),
    tool_calls: beatsOf('tool_calls'),
    upstreams: beatsOf('upstreams'),
    webhook_cursors: beatsOf('webhook_cursors'),
    slack_integrations: beatsOf('slack_integrations'),
    triggers: beatsOf('triggers'),
    retentions: beatsOf('retentions'),
  }
  const keep = (table: WorkTable, held: HeldRow, since: Moment): Lease => {
    const lost = new AbortController()
    const { beat, schedule } = beats[table]
    const entry: Entry = { table, held, since, lost, refencing: null, lostResponses: 0 }
    entries.add(entry)
    schedule()
    return {
      held,
      signal: lost.signal,
      isSure: () => isSure(entry),
      async confirm() {
        if (isSure(entry)) return
        await beat()
        if (!isSure(entry)) await beat()
        if (!isSure(entry)) throw new LeaseLostError(held.id)
      },
      async refence(epoch) {
        if (entry.refencing) await entry.refencing.catch(() => {})
        if (held.epoch > epoch) return
        entry.refencing = reclaim(options, entries, entry).finally(() => (entry.refencing = null))
        await entry.refencing
      },
      end: () => entries.remove(entry),
    }
  }
  let closed = false
  return {
    close: () => void (closed = true),
    isClosed: () => closed,
    of: (table) => ({
      keep: (held, since) => keep(table, held, since),
      async beatIfUnsure() {
        if (entries.unsure(table).length > 0) await beats[table].beat()
      },
      unsure: () => entries.unsure(table).map((entry) => entry.held.id),
      idle: () => entries.idle(table),
      releaseAll: async () => void (await release(options.db, table, entries.take(table))),
    }),
    stop: () => Object.values(beats).forEach((one) => one.stop()),
  }
}

/** The pause after so many failures while the database is unavailable, in milliseconds. */
const backoff = (failures: number) => Math.min(1000, 20 * 2 ** failures)

/**
 * Waits before work is repeated that an outage has stopped `failures` times in a row: a database without space answers, and a
 * loop without a pause would ask it, and whoever else takes part, without end.
 */
export async function afterOutage(failures: number, signal?: AbortSignal): Promise<void> {
  await pause(backoff(failures), undefined, { signal })
}

/**
 * Waits until the database responds, claims the row again, and reads: nothing that was sent under `epoch` can take
 * effect afterwards, so what is read is final. Throws LeaseLostError when another worker has, or may have, the row.
 */
export async function readBack<T>(lease: Lease, epoch: number, read: () => Promise<T>): Promise<T> {
  return whenAnswered(async () => {
    await lease.refence(epoch)
    return read()
  })
}

/**
 * Repeats work, which must be safe to repeat, until the database responds, for at most `maxMs`; then throws the last
 * error. Unless `atOnce`, waits 20 ms before the first try.
 */
export async function whenAnswered<T>(work: () => Promise<T>, maxMs = Infinity, atOnce = false): Promise<T> {
  const start = performance.now()
  for (let failures = 0; ; failures++) {
    if (failures > 0 || !atOnce) await pause(backoff(failures))
    try {
      return await work()
    } catch (error) {
      if (!isOutage(error) || performance.now() - start > maxMs) throw error
    }
  }
}
