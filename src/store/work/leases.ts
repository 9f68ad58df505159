/** The leases that this process holds on the rows of one table: renewed together, and known to be over before others act. */
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
  stop(): void
}

export interface LeasesOptions {
  db: Database
  table: WorkTable
  /** Milliseconds. */
  leaseMs: number
  onError(error: unknown): void
}

interface Entry {
  held: Held
  since: Moment
  lost: AbortController
  refencing: Promise<void> | null
  /** Refences whose response was lost since the epoch was known. */
  lostResponses: number
}

export function createLeases({ db, table, leaseMs, onError }: LeasesOptions): Leases {
  const entries = new Map<string, Entry>()
  let timer: NodeJS.Timeout | null = null
  let beating: Promise<boolean> | null = null
  let stopped = false

  let waiters: (() => void)[] = []

  const remove = (entry: Entry) => {
    if (entries.get(entry.held.id) === entry) entries.delete(entry.held.id)
    if (entries.size > 0) return
    for (const resolve of waiters) resolve()
    waiters = []
  }
  const isSure = (entry: Entry) =>
    elapsedSince(entry.since) < leaseMs * sureShare && !entry.lost.signal.aborted
  const lose = (entry: Entry) => {
    remove(entry)
    entry.lost.abort()
  }

  /** True when every row was renewed or lost. */
  const renew = async (): Promise<boolean> => {
    const asked = [...entries.values()].filter((entry) => entry.refencing === null)
    if (asked.length === 0) return true
    const since = momentNow()
    const epochs = new Map(asked.map((entry) => [entry, entry.held.epoch]))
    const { renewed, locked } = await heartbeat(
      db,
      table,
      leaseMs,
      asked.map((entry) => entry.held),
    )
    for (const entry of asked) {
      const { id, epoch } = entry.held
      if (entry.refencing !== null || epochs.get(entry) !== epoch) continue
      if (renewed.has(id)) entry.since = since
      // Somebody has locked the row; its epoch is still ours.
      else if (!locked.has(id)) lose(entry)
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
  const schedule = (share: number) => {
    if (timer || stopped) return
    timer = setTimeout(() => {
      timer = null
      void beat().then((whole) => entries.size > 0 && schedule(whole ? beatShare : hurryShare))
    }, leaseMs * share)
  }

  const takeAnew = async (entry: Entry): Promise<void> => {
    const { held } = entry
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

  return {
    keep(held, since) {
      const entry: Entry = { held, since, lost: new AbortController(), refencing: null, lostResponses: 0 }
      entries.set(held.id, entry)
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
    },
    async beatIfUnsure() {
      if ([...entries.values()].some((entry) => !isSure(entry))) await beat()
    },
    unsure: () => [...entries.values()].filter((entry) => !isSure(entry)).map((entry) => entry.held.id),
    idle: () =>
      entries.size === 0 ? Promise.resolve() : new Promise<void>((resolve) => waiters.push(resolve)),
    async giveUp() {
      const rest = [...entries.values()].map((entry) => entry.held)
      entries.clear()
      await release(db, table, rest)
    },
    stop() {
      stopped = true
      if (timer) clearTimeout(timer)
    },
  }
}
