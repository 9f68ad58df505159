/** The requests of a key that are held: those that have joined or begun a run or call, and wait for it. */
import type { Harness } from './harness.ts'

export interface Places {
  /** Resolves when so many requests of the key have a place among the streams. */
  until(count: number): Promise<void>
  count(): number
  stop(): void
}

/** Counts the places that requests of the key take from now on, over these servers. */
export function watchPlaces(servers: Harness[], keyId: string): Places {
  let count = 0
  let changed = () => {}
  const add = (more: number) => {
    count += more
    changed()
  }
  const undo = [...new Set(servers)].map(({ app: { services } }) => {
    const { revocations } = services
    const { onRevoked } = revocations
    revocations.onRevoked = (principal, end) => {
      if (principal.id !== keyId) return onRevoked(principal, end)
      const ended = { once: () => (add(-1), (ended.once = () => {})) }
      const forget = onRevoked(principal, () => {
        ended.once()
        end()
      })
      add(1)
      return () => {
        ended.once()
        forget()
      }
    }
    return () => void (revocations.onRevoked = onRevoked)
  })
  return {
    count: () => count,
    stop: () => undo.forEach((restore) => restore()),
    async until(wanted) {
      while (count !== wanted) await new Promise<void>((resolve) => (changed = resolve))
    },
  }
}
