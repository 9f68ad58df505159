/** Measures how long the event loop of this process stalls. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void

/** To collect takes longer than most requests: of what is measured in a row, the first clears up. */
const collectEveryMs = 2000
let collectedAt = -Infinity
function collectGarbage(): void {
  if (performance.now() - collectedAt < collectEveryMs) return
  gc()
  collectedAt = performance.now()
}

/** CPU time in milliseconds that work takes, without the time in which this process had no CPU. */
function timed(work: () => void): number {
  const before = { at: performance.now(), cpu: process.cpuUsage() }
  work()
  const used = process.cpuUsage(before.cpu)
  return Math.min(performance.now() - before.at, (used.user + used.system) / 1000)
}

const millions = 20
let unit = { ms: 1, at: -Infinity }
/** How long this process takes for a million steps of a loop that does next to nothing, as busy as the machine is now. */
function millionSteps(): number {
  if (performance.now() - unit.at < collectEveryMs) return unit.ms
  const measure = () =>
    timed(() => {
      let x = 1
      for (let i = 0; i < millions * 1_000_000; i++) x = (Math.imul(x, 1_664_525) + 1_013_904_223) | 0
      if (x === 0) throw new Error('The loop has another period.')
    })
  unit = { ms: Math.max(measure(), measure()) / millions, at: performance.now() }
  return unit.ms
}

/**
 * The longest time between two turns of the event loop while the work ran, in the time that this process takes for a million
 * steps of a loop, about a millisecond: a slower or busier machine fails no test. The time in which it had no CPU does not count.
 * What the test left behind before is collected first.
 */
export async function longestStall(work: () => Promise<unknown>): Promise<number> {
  collectGarbage()
  let longest = 0
  let before = { at: performance.now(), cpu: process.cpuUsage() }
  const look = () => {
    const used = process.cpuUsage(before.cpu)
    const now = performance.now()
    longest = Math.max(longest, Math.min(now - before.at, (used.user + used.system) / 1000))
    before = { at: now, cpu: process.cpuUsage() }
  }
  const timer = setInterval(look, 2)
  try {
    await work()
    look()
  } finally {
    clearInterval(timer)
  }
  return longest / millionSteps()
}

/**
 * The least of up to three stalls: what stalls once and not again is the engine that compiles or collects, not the request.
 * Ends at the first stall that is allowed.
 */
export async function leastStall(measure: () => Promise<number>): Promise<number> {
  let least = Infinity
  for (let tries = 0; tries < 3 && least >= allowedStall; tries++) least = Math.min(least, await measure())
  return least
}

/** `leastStall` of work that can be repeated. */
export const repeatedStall = (work: () => Promise<unknown>): Promise<number> =>
  leastStall(() => longestStall(work))

/** The longest stall that a single request may cause, in millions of steps. */
export const allowedStall = 250
