/**
 * Wraps work so that it never runs twice at the same time. Calls made while it runs cause one more run, however many
 * calls there were. The promise resolves when the last run has ended.
 */
export function oneAtATime(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null
  let again = false
  const run = async () => {
    do {
      again = false
      await work()
    } while (again)
  }
  return () => {
    if (running) again = true
    return (running ??= run().finally(() => (running = null)))
  }
}
