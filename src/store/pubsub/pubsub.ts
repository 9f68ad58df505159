/**
 * Publish and subscribe between processes: hints that something happened. A lost hint costs time and never
 * correctness.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { readJson, writeJson } from '../../core/json.ts'

/** `news`: the log of a generation or project has grown. */
export interface News {
  kind: 'news'
  projectId: string
  generationId: string | null
  /** The newest number in the generation's log. */
  seq: number | null
}

/** A piece of text on its way, not yet committed. `after` is the newest seq of the log when it was sent. */
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

/** Events of a project have their positions in its feed, up to this one. */
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
   * `cancel`: a generation or call was asked to stop. `recheck`: the worker of a generation shall read its row again.
   * `revoked`: a key was revoked. `surface`: tools or agents of the project were changed. `closed`: a conversation
   * was closed. `called-off`: an MCP client cancelled a request. `answered`: an MCP client answered an elicitation;
   * the id is its name, a space and the answer. `subscribed`: a conversation watches other resources than before.
   * `limits`: the rate limits of a project were changed. `log-level`: an MCP session set its level of logs.
   * `connector`: a message for a connector, named by project and name. `connector-answered`: it was answered.
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
        | 'log-level'
        | 'connector'
        | 'connector-answered'
      id: string
    }
  /** Hints may have been lost: poll everything. */
  | { kind: 'reconnected' }

export interface PubSub {
  /** Never waits and never throws. Subscribers of this process get the hints before it returns. */
  publish(hints: Hint[]): void
  /** Returns the function that unsubscribes. A listener must not throw. */
  subscribe(listener: (hint: Hint) => void): () => void
  /** Whether Redis carries the hints now; absent where there is none. */
  isRedisUp?(): boolean
  close(): Promise<void>
}

/** The pub/sub of a single process, and the local half of the others. */
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

/** How a pub/sub reaches other processes: it sends texts, and calls back with what others sent. */
export interface Wire {
  /** The largest text it carries, in bytes. */
  maxBytes: number
  send(text: string): Promise<unknown>
  /** False when certainly no other process receives what is sent; nothing is sent then. Absent: it is not known. */
  isHeard?(): boolean
  /** Whether Redis carries it now; absent for another wire. */
  isRedisUp?(): boolean
  close(): Promise<void>
}

/** Hints are collected for so long, in milliseconds: a notification for each commit would cost a lock each. */
const batchMs = 3
/**
 * At most so many hints wait while the wire is down; then the oldest are dropped, because the backstop finds their
 * news.
 */
const maxWaiting = 10_000
/** How long close waits until the last hints are sent, in milliseconds. */
const closeMs = 500

/**
 * A pub/sub of all processes on the wire. `connectWire` gets the callback for what arrives, which returns whether another
 * process sent it, and one for "reconnected".
 * Subscribers of this process are called directly; the echo of our own hints is dropped.
 */
export async function wiredPubSub(
  origin: string,
  connectWire: (onText: (text: string) => boolean, onReconnect: () => void) => Promise<Wire>,
): Promise<PubSub> {
  const local = localPubSub()
  let waiting: Hint[] = []
  let timer: NodeJS.Timeout | null = null
  let sending: Promise<void> | null = null
  let closed = false
  const wire = await connectWire(
    (text) => {
      const message = parse(text)
      if (!message || message.origin === origin) return false
      local.publish(message.hints)
      return true
    },
    () => local.publish([{ kind: 'reconnected' }]),
  )
  // One after the other: later hints must not overtake those that are still being sent.
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
    // Asked now, and not when they were published: who has begun to listen before that is known by now.
    if (wire.isHeard?.() === false) waiting = []
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
    ...(wire.isRedisUp ? { isRedisUp: wire.isRedisUp } : {}),
    async close() {
      if (timer) clearTimeout(timer)
      // A wire that is down never finishes.
      await Promise.race([flush(), pause(closeMs, undefined, { ref: false })])
      closed = true
      await local.close()
      await wire.close()
    },
  }
}

/** Texts no larger than `maxBytes`, each hint once. */
function* pack(origin: string, hints: Hint[], maxBytes: number): Generator<string> {
  const available = maxBytes - origin.length - 32
  let parts: string[] = []
  let size = 0
  for (const hint of newest(hints)) {
    const part = writeJson(hint)
    const bytes = Buffer.byteLength(part) + 1
    if (bytes > available) continue
    if (size + bytes > available && parts.length > 0) {
      yield `{"origin":${writeJson(origin)},"hints":[${parts.join(',')}]}`
      parts = []
      size = 0
    }
    parts.push(part)
    size += bytes
  }
  if (parts.length > 0) yield `{"origin":${writeJson(origin)},"hints":[${parts.join(',')}]}`
}

/** Keeps the last of the same news, which keeps its order with deltas. */
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

/** A message without hints: its sender exists. */
export function greeting(origin: string): string {
  return writeJson({ origin, hints: [] })
}

function parse(text: string): { origin: string; hints: Hint[] } | null {
  try {
    return readJson(text) as { origin: string; hints: Hint[] }
  } catch {
    return null
  }
}
