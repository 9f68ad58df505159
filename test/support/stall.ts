/** How long the event loop of this process stood still. */

/**
 * The longest time in milliseconds between two turns of the loop while the work ran, not counting time in which this
 * process had no processor: others' load fails no test.
 */
export async function longestStall(work: () => Promise<unknown>): Promise<number> {
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

/** What DESIGN allows to any single request, in milliseconds. */
export const allowedStallMs = 250
