/** The clock of the server: countdowns and ages are reckoned from it, whatever this machine's clock shows. */
import { createStore, useStore } from './store.ts'

/** Milliseconds by which the server's clock is ahead of this one. */
let skewMs = 0

const second = createStore(Math.floor(Date.now() / 1000))

/** Takes the Date header of a response, whose whole seconds are late by half a second on average. */
export function learnServerTime(date: string | null): void {
  const at = date === null ? Number.NaN : Date.parse(date)
  if (Number.isNaN(at)) return
  const next = at + 500 - Date.now()
  // A header has whole seconds: only a difference that these cannot explain changes the clock.
  if (Math.abs(next - skewMs) > 1000) skewMs = next
}

/** The time on the server, in milliseconds. */
export const serverNow = (): number => Date.now() + skewMs

/** The time on the server, new each second; timers of a hidden page are late, so it is never counted up. */
export const useNow = (): number => useStore(second) * 1000

setInterval(() => second.set(Math.floor(serverNow() / 1000)), 1000)
