/** A subscriber's side of the hub: a bounded ring. Memory is bounded whatever the subscriber does. */
import type { Delta } from './pubsub.ts'
import type { Position } from './position.ts'
import type { EventRow } from './read.ts'

/** What lands in a ring: an event with the place before it (a gap shows), or an ephemeral delta. */
export type LiveItem = { event: EventRow; at: Position; previous: number } | { delta: Delta }

/** Items that wait for one subscriber. When full, all are dropped and the subscriber goes back to the table. */
const ringSize = 256

export class Subscriber {
  private ring: LiveItem[] = []
  private waiter: (() => void) | null = null
  /** Items were dropped, or a hint came that only the table can answer. */
  behind = false

  push(item: LiveItem): void {
    if (this.ring.length >= ringSize) {
      this.ring = []
      this.behind = true
    } else this.ring.push(item)
    this.wake()
  }

  fallBehind(): void {
    this.behind = true
    this.wake()
  }

  shift(): LiveItem | undefined {
    return this.ring.shift()
  }

  /** Resolves at the next push, look or wake; at once when something is there. */
  wait(): Promise<void> {
    if (this.ring.length > 0 || this.behind) return Promise.resolve()
    return new Promise((resolve) => (this.waiter = resolve))
  }

  wake(): void {
    const waiter = this.waiter
    this.waiter = null
    waiter?.()
  }
}
