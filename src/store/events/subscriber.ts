/** A subscriber's side of the broadcaster: a bounded buffer. Memory is bounded whatever the subscriber does. */
import type { Delta } from '../pubsub/pubsub.ts'
import type { Position } from './position.ts'
import type { EventRow } from './read.ts'

/** An event with the place before it, which shows a gap, or an ephemeral delta. */
export type LiveItem = { event: EventRow; at: Position; previous: number } | { delta: Delta }

/** Items that wait for one subscriber. When full, all are dropped and the subscriber goes back to the table. */
const bufferSize = 256

export class Subscriber {
  private buffer: LiveItem[] = []
  private waiter: (() => void) | null = null
  /** Items were dropped, or something happened that only the table shows: read it. */
  behind = false

  push(item: LiveItem): void {
    if (this.buffer.length >= bufferSize) {
      this.buffer = []
      this.behind = true
    } else this.buffer.push(item)
    this.wake()
  }

  fallBehind(): void {
    this.behind = true
    this.wake()
  }

  shift(): LiveItem | undefined {
    return this.buffer.shift()
  }

  /** Resolves at the next push, fallBehind or wake; at once when something is there. */
  wait(): Promise<void> {
    if (this.buffer.length > 0 || this.behind) return Promise.resolve()
    return new Promise((resolve) => (this.waiter = resolve))
  }

  wake(): void {
    const waiter = this.waiter
    this.waiter = null
    waiter?.()
  }
}
