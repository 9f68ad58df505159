/** Work that looks at something: asked for while it runs, it runs once more, however often it was asked for. */
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
