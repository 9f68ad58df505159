/** Text deltas for subscribers: collected for a moment, published as hints, never stored. */
import type { PubSub, Delta } from '../../../store/pubsub/pubsub.ts'

/** A delta is published at this age or length, whichever is reached first. */
const maxAgeMs = 50
const maxBytes = 1000

export interface DeltaSender {
  add(text: string): void
  /** Publishes what is collected. Call it before the commit that stores the text. */
  flush(): void
}

/** Collects the text of one attempt. `place`: the attempt, and the newest event when it began. */
export function sendDeltas(pubsub: PubSub, place: Omit<Delta, 'kind' | 'offset' | 'text'>): DeltaSender {
  let waiting = ''
  let offset = 0
  let timer: NodeJS.Timeout | null = null
  const flush = () => {
    if (timer) clearTimeout(timer)
    timer = null
    // Counts and cuts UTF-16 code units, and never cuts inside a surrogate pair.
    for (const piece of pieces(waiting)) {
      pubsub.publish([{ kind: 'delta', ...place, offset, text: piece }])
      offset += piece.length
    }
    waiting = ''
  }
  return {
    add(text) {
      waiting += text
      if (Buffer.byteLength(waiting) >= maxBytes) flush()
      else timer ??= setTimeout(flush, maxAgeMs)
    },
    flush,
  }
}

function* pieces(text: string): Generator<string> {
  let piece = ''
  let bytes = 0
  for (const character of text) {
    const size = Buffer.byteLength(character)
    if (bytes + size > maxBytes) {
      yield piece
      piece = ''
      bytes = 0
    }
    piece += character
    bytes += size
  }
  if (piece !== '') yield piece
}
