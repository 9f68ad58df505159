/**
 * The physical limit of this machine at this moment: a bare loop of the statements that a unit cannot do without, on the
 * same database, with nothing around them. Every other figure is a ratio to it, taken in the same run.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { createDatabase } from './database.ts'
import { report } from './report.ts'
import { kinds, type Kind } from './server.ts'

/** Statements, each with its commit, of one unit: one start and four changes. */
export const commitsOfUnit = 5

export interface Limit {
  /** Units a second, 32 at once. */
  unitsPerSecond: number
  /** CPU milliseconds of the Node process for one unit, 32 at once. On PGlite the database is in that process. */
  cpuMs: number
  /** Milliseconds of one unit when there is only one at a time. */
  unitMs: number
}

/** Runs the loop in a process of its own, for about two seconds. */
export async function limitOf(kind: Kind): Promise<Limit> {
  const database = kind === 'postgres' ? await createDatabase() : null
  const child = fork(fileURLToPath(new URL('limit-loop.ts', import.meta.url)), [database?.url ?? ''])
  const [limit] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => Promise.reject(new Error('The limit could not be measured.'))),
  ])) as [Limit]
  if (child.exitCode === null) await once(child, 'exit')
  await database?.drop()
  return limit
}

/** Measures between two runs of the limit, and gives it their mean: a machine that became slower is seen by both. */
export async function betweenLimits<T>(
  kind: Kind,
  measure: () => Promise<T>,
): Promise<{ limit: Limit; result: T }> {
  const before = await limitOf(kind)
  const result = await measure()
  const after = await limitOf(kind)
  const mean = (name: keyof Limit) => (before[name] + after[name]) / 2
  return {
    limit: { unitsPerSecond: mean('unitsPerSecond'), cpuMs: mean('cpuMs'), unitMs: mean('unitMs') },
    result,
  }
}

export async function measureLimit(): Promise<void> {
  const rows = []
  for (const kind of kinds) {
    const limit = await limitOf(kind)
    rows.push({
      case: kind,
      figures: {
        'units/s': limit.unitsPerSecond,
        'commits/s': limit.unitsPerSecond * commitsOfUnit,
        'Node CPU ms a unit': limit.cpuMs,
        'one by one ms': limit.unitMs,
      },
    })
  }
  report(
    'limit',
    'The limit: bare statements of a unit (1 start, 4 changes), 32 at once and one by one',
    rows,
  )
}
