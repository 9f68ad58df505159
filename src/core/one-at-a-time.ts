/**
 * Wraps work so that it never runs twice at the same time. Calls made while it runs cause one more run, however many
 * calls there were. The promise resolves when the last run has ended.
 */
export function oneAtATime(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null
  let again = false
  const run = async () => {
    try {
      do {
        again = false
        await work()
      } while (again)
    } finally {
      // At once when nobody has asked again: a call between the two would cause no run.
      running = null
    }
  }
  return () => {
    if (running) again = true
    return (running ??= run())
  }
}
