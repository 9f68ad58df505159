/** What streams of JSON carry, packed for parsers of packages that know doubles only. */
import { packText } from './json.ts'

/**
 * A body of JSON, or of server-sent events whose data is JSON, with its numbers packed: `unpacked` makes the values of what a
 * parser reads from it. What is complete passes at once: JSON has no end of a line inside a number or a string. With
 * `keepsText` texts stay as they are, for events that carry pieces of them. `change` is called with each line of data.
 */
export function packingStream({
  isEvents,
  keepsText = false,
  change = (line) => line,
}: {
  isEvents: boolean
  keepsText?: boolean
  change?: (line: string) => string
}): TransformStream<Uint8Array, Uint8Array> {
  const pack = (bytes: Buffer): Buffer => {
    const text = bytes.toString()
    const written = isEvents ? packEvents(text, keepsText, change) : packText(text, keepsText)
    return written === text ? bytes : Buffer.from(written)
  }
  let rest: Buffer[] = []
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
      const end = Math.max(bytes.lastIndexOf(newline), bytes.lastIndexOf(carriageReturn)) + 1
      if (end === 0) return void rest.push(bytes)
      controller.enqueue(pack(Buffer.concat([...rest, bytes.subarray(0, end)])))
      rest = end < bytes.length ? [bytes.subarray(end)] : []
    },
    flush(controller) {
      if (rest.length > 0) controller.enqueue(pack(Buffer.concat(rest)))
    },
  })
}

const newline = 10
const carriageReturn = 13

function packEvents(text: string, keepsText: boolean, change: (line: string) => string): string {
  // An id may be a number that is not JSON.
  return text
    .split(/(?<=[\n\r])/)
    .map((line) => (line.startsWith('data:') ? change(packText(line, keepsText)) : line))
    .join('')
}
