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

/** Starts the heartbeat of a process. While it keeps no row it sends nothing. */
export function createHeartbeat({ db, leaseMs, onError }: HeartbeatOptions): Heartbeat {
  const entries = new Map<string, Entry>()
  const waiters = new Map<WorkTable, (() => void)[]>()
  let timer: NodeJS.Timeout | null = null
  let beating: Promise<boolean> | null = null
  let stopped = false

  const keyOf = ({ table, held }: Pick<Entry, 'table' | 'held'>) => `${table} ${held.id}`
  const entriesOf = (table: WorkTable) => [...entries.values()].filter((entry) => entry.table === table)
  const remove = (entry: Entry) => {
    if (entries.get(keyOf(entry)) === entry) entries.delete(keyOf(entry))
    if (entriesOf(entry.table).length > 0) return
    for (const resolve of waiters.get(entry.table) ?? []) resolve()
    waiters.delete(entry.table)
  }
  const isSure = (entry: Entry) =>
    elapsedSince(entry.since) < leaseMs * sureShare && !entry.lost.signal.aborted
  const lose = (entry: Entry) => {
    remove(entry)
    entry.lost.abort()
  }

  /** True when every row of the table was renewed or lost. */
  const renewTable = async (table: WorkTable): Promise<boolean> => {
    const asked = entriesOf(table).filter((entry) => entry.refencing === null)
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
      else if (!locked.has(id)) lose(entry)
    }
    return locked.size === 0
  }
  const renew = async (): Promise<boolean> => {
    const tables = [...new Set([...entries.values()].map((entry) => entry.table))]
    const done = await Promise.all(
      tables.map((table) =>
        renewTable(table).catch((error: unknown) => {
          onError(error)
          return false
        }),
      ),
    )
    return done.every(Boolean)
  }
  const beat = (): Promise<boolean> => (beating ??= renew().finally(() => (beating = null)))
  const schedule = (share: number) => {
    if (timer || stopped) return
    timer = setTimeout(() => {
      timer = null
      void beat().then((whole) => entries.size > 0 && schedule(whole ? beatShare : hurryShare))
    }, leaseMs * share)
  }

  const takeAnew = async (entry: Entry): Promise<void> => {
    const { table, held } = entry
    if (!isSure(entry)) throw new LeaseLostError(held.id)
    const since = momentNow()
    entry.lostResponses++
    const epoch = await refence(db, table, leaseMs, held, entry.lostResponses - 1)
    // A late response proves nothing: another worker may have raised the epoch meanwhile.
    if (epoch === null || elapsedSince(entry.since) >= leaseMs * sureShare) {
      lose(entry)
      throw new LeaseLostError(held.id)
    }
    held.epoch = epoch
    entry.since = since
    entry.lostResponses = 0
  }

  const keep = (table: WorkTable, held: Held, since: Moment): Lease => {
    const entry: Entry = {
      table,
      held,
      since,
      lost: new AbortController(),
      refencing: null,
      lostResponses: 0,
    }
    entries.set(keyOf(entry), entry)
    schedule(beatShare)
    return {
      held,
      signal: entry.lost.signal,
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
        entry.refencing = takeAnew(entry).finally(() => (entry.refencing = null))
        await entry.refencing
      },
      end: () => remove(entry),
    }
  }
  const unsure = (table: WorkTable) => entriesOf(table).filter((entry) => !isSure(entry))

  return {
    of: (table) => ({
      keep: (held, since) => keep(table, held, since),
      async beatIfUnsure() {
        if (unsure(table).length > 0) await beat()
      },
      unsure: () => unsure(table).map((entry) => entry.held.id),
      idle: () =>
        entriesOf(table).length === 0
          ? Promise.resolve()
          : new Promise((resolve) => waiters.set(table, [...(waiters.get(table) ?? []), resolve])),
      async giveUp() {
        const rest = entriesOf(table)
        for (const entry of rest) entries.delete(keyOf(entry))
        await release(
          db,
          table,
          rest.map((entry) => entry.held),
        )
      },
    }),
    stop() {
      stopped = true
      if (timer) clearTimeout(timer)
    },
  }
}
