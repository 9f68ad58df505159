/** How long something kept the event loop, as far as this process itself is to blame. */

/**
 * Does the work and answers the longest time for which nothing else could run, in milliseconds. A gap counts only as far
 * as this process used the processor in it: what a busy machine takes away is nobody's fault.
 */
export async function longestStall(work: () => Promise<unknown>): Promise<number> {
  let longest = 0
  let [wall, used] = [performance.now(), process.cpuUsage()]
  const look = () => {
    const { user, system } = process.cpuUsage(used)
    longest = Math.max(longest, Math.min(performance.now() - wall, (user + system) / 1000))
    ;[wall, used] = [performance.now(), process.cpuUsage()]
  }
  let going = true
  const looking = (async () => {
    while (going) {
      await new Promise((resolve) => setTimeout(resolve, 1))
      look()
    }
  })()
  try {
    await work()
  } finally {
    going = false
    await looking
  }
  return longest
}
