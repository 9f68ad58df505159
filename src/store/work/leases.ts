/** The leases that this process holds: renewed by one heartbeat, and known to be over before another process can claim the row. */
import { elapsedSince, momentNow, type Moment } from '../../core/stopwatch.ts'
import type { Database } from '../db/database.ts'
import { heartbeat, LeaseLostError, refence, release, type Held, type WorkTable } from './work.ts'

/** The part of a lease in which its holder acts on it; the rest is for statements and clocks that differ. */
const sureShare = 0.8
/** Beats come three times in a lease, and sooner after one that failed or met a locked row. */
const beatShare = 1 / 3
const hurryShare = 1 / 15

/** A row that this process holds. */
export interface Lease {
  readonly held: Held
  /** Fires when another worker has the row. */
  readonly signal: AbortSignal
  /** Whether surely nobody else can have taken the row: nothing is sent when not. */
  isSure(): boolean
  /** Renews the lease when it is not sure. LeaseLostError when another worker has the row. */
  confirm(): Promise<void>
  /**
   * Claims the row again under a higher epoch, so that no statement which this process sent before and whose response was
   * lost can still take effect. Does nothing when that has happened since `epoch`. LeaseLostError when the row is, or
   * may be, another worker's.
   */
  refence(epoch: number): Promise<void>
  /** The row is not kept any more. Idempotent. */
  end(): void
}

/** The leases of a process on the rows of one table. */
export interface Leases {
  /** Keeps a row that was taken by a statement sent at `since`. A row that is kept already is kept under the new epoch. */
  keep(held: Held, since: Moment): Lease
  /** Renews before anything is claimed, when some lease may be over: this process may have been suspended. */
  beatIfUnsure(): Promise<void>
  /** Rows that are kept although their lease may be over: they must not be claimed by their own holder. */
  unsure(): string[]
  /** Resolves when nothing is kept any more. */
  idle(): Promise<void>
  /** Gives everything back that is still kept: the next worker that polls continues it. */
  giveUp(): Promise<void>
}

/** All leases of a process. */
export interface Heartbeat {
  of(table: WorkTable): Leases
  /** Renews nothing any more. */
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
  held: Held
  since: Moment
  lost: AbortController
  refencing: Promise<void> | null
  /** Refences whose response was lost since the epoch was known. */
  lostResponses: number
}

/** The rows that a process keeps. */
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
    tables: () => [...new Set([...entries.values()].map((entry) => entry.table))],
    add: (entry: Entry) => void entries.set(keyOf(entry), entry),
    lose(entry: Entry) {
      remove(entry)
      entry.lost.abort()
    },
    /** Removes all of a table without a word to those who wait for its end. */
    take(table: WorkTable): Held[] {
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

/** Renews the rows that are kept: at once when asked, and else by a timer while there are any. */
function createBeats({ db, leaseMs, onError }: HeartbeatOptions, entries: Entries) {
  let timer: NodeJS.Timeout | null = null
  let beating: Promise<boolean> | null = null
  let stopped = false

  /** True when every row of the table was renewed or lost. */
  const renewTable = async (table: WorkTable): Promise<boolean> => {
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
      // Somebody has locked the row; its epoch is still ours.
      else if (!locked.has(id)) entries.lose(entry)
    }
    return locked.size === 0
  }
  const renew = async (): Promise<boolean> => {
    const quietly = (table: WorkTable) =>
      renewTable(table).catch((error: unknown) => {
        onError(error)
        return false
      })
    const done = await Promise.all(entries.tables().map(quietly))
    return done.every(Boolean)
  }
  const beat = (): Promise<boolean> => (beating ??= renew().finally(() => (beating = null)))
  const schedule = (share = beatShare) => {
    if (timer || stopped) return
    timer = setTimeout(() => {
      timer = null
      void beat().then((whole) => entries.tables().length > 0 && schedule(whole ? beatShare : hurryShare))
    }, leaseMs * share)
  }
  const stop = () => {
    stopped = true
    if (timer) clearTimeout(timer)
  }
  return { beat, schedule: () => schedule(), stop }
}

/** Takes the row under a higher epoch. LeaseLostError when it is, or may be, another worker's. */
async function takeAnew({ db, leaseMs }: HeartbeatOptions, entries: Entries, entry: Entry): Promise<void> {
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

/** Starts the heartbeat of a process. While it keeps no row it sends nothing. */
export function createHeartbeat(options: HeartbeatOptions): Heartbeat {
  const entries = createEntries(options.leaseMs)
  const { isSure } = entries
  const { beat, schedule, stop } = createBeats(options, entries)
  const keep = (table: WorkTable, held: Held, since: Moment): Lease => {
    const lost = new AbortController()
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
        entry.refencing = takeAnew(options, entries, entry).finally(() => (entry.refencing = null))
        await entry.refencing
      },
      end: () => entries.remove(entry),
    }
  }
  return {
    of: (table) => ({
      keep: (held, since) => keep(table, held, since),
      async beatIfUnsure() {
        if (entries.unsure(table).length > 0) await beat()
      },
      unsure: () => entries.unsure(table).map((entry) => entry.held.id),
      idle: () => entries.idle(table),
      giveUp: async () => void (await release(options.db, table, entries.take(table))),
    }),
    stop,
  }
}
