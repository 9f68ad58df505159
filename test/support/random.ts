/** The random schedules of a run. All begin from one seed, which the global setup prints and CHAOS_SEED repeats. */
import { inject } from 'vitest'
import { seededRandom } from './dose.ts'

export const chaosSeed = inject('seed')

/** Numbers in [0, 1) for one schedule. */
export const randomSchedule = (): (() => number) => seededRandom(chaosSeed)
