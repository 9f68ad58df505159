/** The lines of a stream. One that is too long is not kept. */

/** In bytes. What the server accepts as an answer is smaller. */
const longestLine = 4 * 1024 * 1024
/** Of a line that is too long, so much of its beginning and of its end is passed on: the id of a message is there. */
const keptBytes = 500

export class Lines {
  readonly #onLine: (line: string) => void
  readonly #onTooLong: (ends: string) => void
  #chunks: Buffer[] = []
  #size = 0
  /** The beginning and the end so far of a line that is too long. */
  #tooLong: { head: Buffer; tail: Buffer } | null = null

  /** `onTooLong` gets the beginning and the end of a line that is too long. */
  constructor(onLine: (line: string) => void, onTooLong: (ends: string) => void) {
    this.#onLine = onLine
    this.#onTooLong = onTooLong
  }

  push(chunk: Buffer): void {
    let rest = chunk
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      this.#add(rest.subarray(0, end))
      this.#finish()
      rest = rest.subarray(end + 1)
    }
    this.#add(rest)
  }

  #add(part: Buffer): void {
    this.#size += part.length
    if (this.#tooLong) {
      const tail = Buffer.concat([this.#tooLong.tail, part.subarray(-keptBytes)])
      this.#tooLong.tail = tail.subarray(-keptBytes)
      return
    }
    this.#chunks.push(part)
    if (this.#size <= longestLine) return
    const line = Buffer.concat(this.#chunks)
    this.#chunks = []
    this.#tooLong = {
      head: Buffer.from(line.subarray(0, keptBytes)),
      tail: Buffer.from(line.subarray(-keptBytes)),
    }
  }

  #finish(): void {
    if (this.#tooLong) this.#onTooLong(`${this.#tooLong.head.toString()} ${this.#tooLong.tail.toString()}`)
    else this.#onLine(Buffer.concat(this.#chunks).toString())
    this.#chunks = []
    this.#size = 0
    this.#tooLong = null
  }
}
