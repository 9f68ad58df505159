/** Text on its way to subscribers: gathered for a moment, sent as hints, never stored. */
import type { PubSub, Delta } from '../../../store/events/pubsub.ts'

/** A piece is sent when it is this old or this long, whichever comes first. */
const maxAgeMs = 50
const maxBytes = 1000

export interface DeltaSender {
  add(text: string): void
  /** Sends what waits. Call it before the commit that makes the text a fact. */
  flush(): void
}

/** Gathers the text of one attempt. `place` says which attempt, and the newest event when it began. */
export function sendDeltas(pubsub: PubSub, place: Omit<Delta, 'kind' | 'offset' | 'text'>): DeltaSender {
  let waiting = ''
  let offset = 0
  let timer: NodeJS.Timeout | null = null
  const flush = () => {
    if (timer) clearTimeout(timer)
    timer = null
    // Characters, not bytes, are counted and cut, and no cut falls inside a surrogate pair.
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
