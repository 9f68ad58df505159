/** Questions to whoever sits at the terminal, and scripts that answer them. */
import { createInterface, type Interface } from 'node:readline'

export class Lines {
  readonly #input: Interface
  readonly #queue: string[] = []
  #waiting: ((line: string | null) => void) | null = null
  #isClosed = false
  /** Whether a question was withdrawn while somebody may have been typing its answer. */
  #isHalf = false
  #end: () => void = () => {}
  /** Resolves when no further line comes. */
  readonly ended = new Promise<void>((resolve) => (this.#end = resolve))

  constructor(signal: AbortSignal) {
    this.#input = createInterface({ input: process.stdin, terminal: false })
    this.#input.on('line', (line) => {
      if (this.#waiting) return this.#settle(line)
      this.#isHalf = false
      this.#queue.push(line)
    })
    this.#input.on('close', () => {
      this.#isClosed = true
      this.#settle(null)
      if (this.#queue.length === 0) this.#end()
    })
    signal.addEventListener('abort', () => this.close(), { once: true })
  }

  /** The next line; null at the end of the input, and when the signal aborts. */
  async ask(question: string, signal?: AbortSignal): Promise<string | null> {
    // What is being typed at a terminal was meant for the question before, and would be an answer to this one.
    if (
      this.#isHalf &&
      (await this.#line('The request before is settled. Enter leads to this one. ', signal)) === null
    )
      return null
    this.#isHalf = false
    return this.#line(question, signal)
  }

  #line(question: string, signal?: AbortSignal): Promise<string | null> {
    // What was typed before a question was shown is no answer to it. A script writes all its answers at once.
    if (process.stdin.isTTY) this.#queue.length = 0
    process.stderr.write(question)
    const line = this.#queue.shift()
    if (this.#isClosed && this.#queue.length === 0) this.#end()
    if (line !== undefined) return Promise.resolve(line.trim())
    if (this.#isClosed || signal?.aborted) return Promise.resolve(null)
    return new Promise((resolve) => {
      const stop = () => {
        this.#isHalf = process.stdin.isTTY === true
        this.#settle(null)
      }
      signal?.addEventListener('abort', stop, { once: true })
      this.#waiting = (found) => {
        signal?.removeEventListener('abort', stop)
        resolve(found === null ? null : found.trim())
      }
    })
  }

  close(): void {
    this.#input.close()
    process.stdin.unref?.()
  }

  #settle(line: string | null): void {
    const waiting = this.#waiting
    this.#waiting = null
    waiting?.(line)
  }
}

/** Whether questions are asked: at a terminal, or where the option says so. */
export const asksHere = (isAsked: unknown): boolean => isAsked === true || process.stdin.isTTY === true
