/** The doorbell: hints that something happened. A lost hint costs time, never truth. */
import { setTimeout as pause } from 'node:timers/promises'

/** `news`: the log of a generation or project has grown. */
export interface News {
  kind: 'news'
  projectId: string
  generationId: string | null
  /** The newest number in the generation's log. */
  seq: number | null
}

/** A piece of text on its way, not yet a fact. `after` is the newest number in the log when it was sent. */
export interface Delta {
  kind: 'delta'
  generationId: string
  projectId: string
  after: number
  stepIndex: number
  attempt: number
  /** Characters of this attempt before the piece. */
  offset: number
  text: string
}

/** Events of a project have got their places in its feed, up to this one. */
export interface NumberedHint {
  kind: 'numbered'
  projectId: string
  position: number
}

export type Hint =
  | News
  | NumberedHint
  | Delta
  /** Rows of that table want a worker. */
  | { kind: 'work'; table: string }
  /**
   * A generation or call was asked to stop, a generation to look at its row again, or a key was revoked. `surface`: tools
   * or agents of the project were changed. `closed`: a conversation was closed. `called-off`: an MCP client takes a
   * request back. `answered`: it answers a question; the id is the question's name, a space and the answer.
   * `subscribed`: a conversation watches other resources than before. `limits`: the rate limits of a project were changed.
   */
  | {
      kind: 'signal'
      name:
        | 'cancel'
        | 'recheck'
        | 'revoked'
        | 'surface'
        | 'closed'
        | 'called-off'
        | 'answered'
        | 'subscribed'
        | 'limits'
      id: string
    }
  /** Hints may have been lost: look at everything that matters to you. */
  | { kind: 'reconnected' }

export interface PubSub {
  /** Never waits and never throws. Own listeners hear it at once. */
  publish(hints: Hint[]): void
  /** The answer ends the listening. A listener must not throw. */
  subscribe(listener: (hint: Hint) => void): () => void
  close(): Promise<void>
}

/** The bell of a single process, and the local half of the others. */
export function localPubSub(): PubSub {
  const listeners = new Set<(hint: Hint) => void>()
  return {
    publish(hints) {
      for (const hint of hints) for (const listener of listeners) listener(hint)
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async close() {
      listeners.clear()
    },
  }
}

/** How a bell reaches other processes: sends texts, and calls back with what others sent. */
export interface Wire {
  /** The largest text it carries, in bytes. */
  maxBytes: number
  send(text: string): Promise<unknown>
  close(): Promise<void>
}

/** Hints wait this long for company: a notification for each commit would cost a lock each. */
const batchMs = 3
/** More hints than this wait while the wire is down; then the oldest go, since the backstop finds their news. */
const maxWaiting = 10_000
/** How long a bell that is closed waits for its last hints to leave. */
const lastWordsMs = 500

/**
 * A bell heard by every process on the wire. `connectWire` gets the callback for what arrives and one for
 * "reconnected". Own listeners are served directly; the echo of our own hints is dropped.
 */
export async function wiredPubSub(
  origin: string,
  connectWire: (onText: (text: string) => void, onReconnect: () => void) => Promise<Wire>,
): Promise<PubSub> {
  const local = localPubSub()
  let waiting: Hint[] = []
  let timer: NodeJS.Timeout | null = null
  let sending: Promise<void> | null = null
  let closed = false
  const wire = await connectWire(
    (text) => {
      const message = parse(text)
      if (message && message.origin !== origin) local.publish(message.hints)
    },
    () => local.publish([{ kind: 'reconnected' }]),
  )
  // One after the other: what was rung later must not overtake what is still being sent.
  const sendAll = async () => {
    while (waiting.length > 0 && !closed) {
      const batch = waiting
      waiting = []
      for (const text of pack(origin, batch, wire.maxBytes))
        if (!closed) await wire.send(text).catch(() => {})
    }
  }
  const flush = async () => {
    timer = null
    await (sending ??= sendAll().finally(() => (sending = null)))
  }
  return {
    publish(hints) {
      local.publish(hints)
      if (closed) return
      waiting.push(...hints)
      if (waiting.length > maxWaiting) waiting = waiting.slice(-maxWaiting)
      timer ??= setTimeout(() => void flush(), batchMs)
    },
    subscribe: local.subscribe,
    async close() {
      if (timer) clearTimeout(timer)
      // A wire that is down would never be done.
      await Promise.race([flush(), pause(lastWordsMs, undefined, { ref: false })])
      closed = true
      await local.close()
      await wire.close()
    },
  }
}

/** Texts no larger than `maxBytes`, saying each thing once. */
function* pack(origin: string, hints: Hint[], maxBytes: number): Generator<string> {
  const room = maxBytes - origin.length - 32
  let parts: string[] = []
  let size = 0
  for (const hint of newest(hints)) {
    const part = JSON.stringify(hint)
    const bytes = Buffer.byteLength(part) + 1
    if (bytes > room) continue
    if (size + bytes > room && parts.length > 0) {
      yield `{"origin":${JSON.stringify(origin)},"hints":[${parts.join(',')}]}`
      parts = []
      size = 0
    }
    parts.push(part)
    size += bytes
  }
  if (parts.length > 0) yield `{"origin":${JSON.stringify(origin)},"hints":[${parts.join(',')}]}`
}

/** Several pieces of news of one generation are one: the last place they came in keeps their order with deltas. */
function newest(hints: Hint[]): Hint[] {
  const seen = new Set<string>()
  const out: Hint[] = []
  for (const hint of hints.toReversed()) {
    const key =
      hint.kind === 'news'
        ? `n:${hint.generationId ?? hint.projectId}`
        : hint.kind === 'numbered'
          ? `p:${hint.projectId}`
          : hint.kind === 'work'
            ? `w:${hint.table}`
            : null
    if (key !== null && seen.has(key)) continue
    if (key !== null) seen.add(key)
    out.push(hint)
  }
  return out.toReversed()
}

function parse(text: string): { origin: string; hints: Hint[] } | null {
  try {
    return JSON.parse(text) as { origin: string; hints: Hint[] }
  } catch {
    return null
  }
}
