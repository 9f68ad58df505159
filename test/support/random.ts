/** The random schedules of a run. All begin from one seed, which the global setup prints and CHAOS_SEED repeats. */
import { inject } from 'vitest'
import { dose, seededRandom } from './dose.ts'

export const chaosSeed = inject('seed')

/** Numbers in [0, 1) for one schedule. */
export const randomSchedule = (): (() => number) => seededRandom(chaosSeed)

/** Of these databases the one that the seed of the run names; with `npm run chaos` each. */
export const drawn = <Kind>(kinds: readonly Kind[]): Kind[] =>
  kinds.filter((_kind, i) => dose(0, 1) === 1 || i === chaosSeed % kinds.length)
