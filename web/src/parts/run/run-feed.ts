/** One run as it is now: read once, and after each of its events what is new or was open. */
import { againMsOf, ask } from '../../api/client.ts'
import { whenFollowing } from '../../api/feed.ts'
import { followRun, type RunEvent } from '../../api/follow-run.ts'
import { gatherReads } from '../../api/gather.ts'
import { createStore, type Store } from '../../api/store.ts'
import { runQuery, type CallRow, type RunFacts, type StepRow } from './run-documents.ts'
import { isEnded, mayChange } from './status.ts'
import { withPiece, withReset, type Writing } from './writing.ts'

/** A run with everything that its screen draws. */
export interface Run extends RunFacts {
  steps: readonly StepRow[]
  toolCalls: readonly CallRow[]
}

export interface RunRead {
  /** Undefined before the first read, null when there is no such run for this person. */
  run: Run | null | undefined
  /** Why the newest read failed; null when it did not. */
  error: unknown
}

export interface RunFeed {
  read: Store<RunRead>
  /** The text on its way; null when none is. */
  writing: Store<Writing | null>
  /** How many events were heard: whoever shows them reads on when it grows. */
  heard: Store<number>
  /** Follows the run until the returned function is called. */
  start(): () => void
  reload(): void
}

/** How often a run is read that this person may not follow, in milliseconds. */
const pollMs = 5_000
/** The most ids that one query takes, and the most calls that one page has. */
const mostIds = 100
const callPage = 200

/** A feed of a run that has not been started. */
export function makeRunFeed(id: string): RunFeed {
  const read = createStore<RunRead>({ run: undefined, error: null })
  const writing = createStore<Writing | null>(null)
  const heard = createStore(0)
  let current: Reader | null = null
  const hear = (event: RunEvent) => {
    if (event.__typename === 'TextDeltaEvent') return writing.set(withPiece(writing.get(), event))
    if (event.__typename === 'StepResetEvent') writing.set(withReset(writing.get(), event))
    heard.set(heard.get() + 1)
    current?.reload()
  }
  return {
    read,
    writing,
    heard,
    reload: () => current?.reload(),
    start() {
      const reader = makeReader(id, read)
      current = reader
      let poll: number | undefined
      const end = (refusal: string | null) => {
        reader.reload()
        const { run } = read.get()
        if (refusal !== null && !(run && isEnded(run.status)))
          poll = window.setInterval(reader.reload, pollMs)
      }
      const stopFollowing = followRun(id, { hear, end })
      return () => {
        reader.stop()
        stopFollowing()
        clearInterval(poll)
        if (current === reader) current = null
      }
    },
  }
}

interface Reader {
  reload(): void
  stop(): void
}

/** Reads the run into the store, at once and whenever it is asked to. */
function makeReader(id: string, read: Store<RunRead>): Reader {
  const stopped = new AbortController()
  const take = async () => {
    try {
      await whenFollowing()
      const run = await readOn(id, read.get().run ?? null, stopped.signal)
      if (!stopped.signal.aborted) read.set({ run, error: null })
      return null
    } catch (error) {
      if (!stopped.signal.aborted) read.set({ ...read.get(), error })
      return againMsOf(error)
    }
  }
  const reads = gatherReads(take)
  reads.now()
  return {
    reload: reads.ask,
    stop() {
      stopped.abort()
      reads.stop()
    },
  }
}

/** Reads what may have changed since `before`; everything when that is null. */
async function readOn(id: string, before: Run | null, signal: AbortSignal): Promise<Run | null> {
  const open = (before?.toolCalls ?? []).filter(({ status }) => mayChange(status)).map((call) => call.id)
  // So many open calls are read as pages, from the beginning.
  let known = open.length > mostIds ? null : before
  let asked = known ? open : []
  for (;;) {
    const variables = {
      id,
      afterStep: known?.steps.at(-1)?.index ?? null,
      afterCall: known?.toolCalls.at(-1)?.id ?? null,
      open: asked,
    }
    const { generation, nodes } = await ask(runQuery, variables, signal)
    if (!generation) return null
    const renewed = new Map(
      nodes.flatMap((node) => (node?.__typename === 'ToolCall' ? [[node.id, node] as const] : [])),
    )
    const toolCalls = [
      ...(known?.toolCalls ?? []).map((call) => renewed.get(call.id) ?? call),
      ...generation.toolCalls,
    ]
    const run: Run = { ...generation, steps: [...(known?.steps ?? []), ...generation.steps], toolCalls }
    if (generation.toolCalls.length < callPage) return run
    known = run
    asked = []
  }
}
