/**
 * Segments: a run as protocols of requests and responses see it. A segment is what happens from one input to the next pause or
 * to the end. Its id and its numbers are derived from the log, so that segments need no table and every replay is the same.
 */

/** A segment: its run, and the number of the last event before it; 0 for the first segment. */
export interface RunSegment {
  generationId: string
  after: number
}

const shape = /^([a-z]{1,10})_([0-9a-z]{24})_(0|[1-9][0-9]{0,8})$/

/** The id of a segment, `<prefix>_<run>_<number>`. */
export function segmentId(prefix: string, { generationId, after }: RunSegment): string {
  return `${prefix}_${generationId.slice('gen_'.length)}_${after}`
}

/** The segment with this id; null for a text that is no id of a segment. */
export function segmentOf(prefix: string, id: string): RunSegment | null {
  const [, found, body, after] = shape.exec(id) ?? []
  return found === prefix ? { generationId: `gen_${body}`, after: Number(after) } : null
}

/** Numbers for what follows an event of the log before the next one. */
const perEvent = 10_000
/** The first of them that stand for characters of text on its way. */
const firstOfText = 1000
/** The most characters of one message that can be sent before it is committed. */
export const mostLiveText = perEvent - firstOfText - 1

/**
 * The number of the `k`-th message that an event causes: the same on every replay. Only an event that ends its segment causes so
 * many that they reach the numbers of text, which does not follow it there.
 */
export function numberOf(seq: number, k: number): number {
  return seq * perEvent + Math.min(k, perEvent - 1)
}

/** The number of text on its way after an event, when `end` characters of the message were sent. */
export function textNumber(seq: number, end: number): number {
  return seq * perEvent + firstOfText + end
}

/** What opens a message whose text is on its way: the two numbers before those of its characters. */
export function openingNumber(seq: number, k: 0 | 1): number {
  return seq * perEvent + firstOfText - 2 + k
}

/** What a client that got everything up to this number has of a message on its way after the event `seq`. */
export function textUpTo(number: number): { seq: number; isOpen: boolean; characters: number } {
  const rest = number % perEvent
  const characters = Math.max(0, rest - firstOfText)
  return { seq: Math.floor(number / perEvent), isOpen: rest >= firstOfText - 2, characters }
}
