/** What retention removes, by kind. */
export const removedKinds = [
  'runs',
  'calls',
  'threads',
  'events',
  'files',
  'deliveries',
  'auditEntries',
] as const

/** Counts by kind: runs with their descendants, calls outside runs, threads without runs, events that belong to no run. Absent: none. */
export type Removed = Partial<Record<(typeof removedKinds)[number], number>>

export function sumOf(...all: readonly Removed[]): Removed {
  const sum: Removed = {}
  for (const one of all)
    for (const kind of removedKinds) if (one[kind]) sum[kind] = (sum[kind] ?? 0) + one[kind]
  return sum
}

export const dayMs = 24 * 60 * 60 * 1000

/** So many days before a time in milliseconds since 1970; null: never. */
export function daysBefore(now: number, days: number | null): Date | null {
  return days === null ? null : new Date(now - days * dayMs)
}

/**
 * Nothing goes before this age, in milliseconds: idempotency keys and daily budgets count so long, and a session of MCP
 * lasts so long.
 */
export const youngestMs = 1 * dayMs
