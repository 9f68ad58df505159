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

/**
 * The longest time in milliseconds between two turns of the event loop while the work ran, without the time in which
 * this process had no CPU: load of other processes fails no test. What the test left behind before is collected first.
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
  return longest
}

/**
 * The least of up to three stalls, in milliseconds: what stalls once and not again is the engine that compiles or collects, not
 * the request. Ends at the first stall that is allowed.
 */
export async function leastStall(measure: () => Promise<number>): Promise<number> {
  let least = Infinity
  for (let tries = 0; tries < 3 && least >= allowedStallMs; tries++) least = Math.min(least, await measure())
  return least
}

/** `leastStall` of work that can be repeated. */
export const repeatedStall = (work: () => Promise<unknown>): Promise<number> =>
  leastStall(() => longestStall(work))

/** The longest stall that a single request may cause, in milliseconds. */
export const allowedStallMs = 250
