/** Reads for components: what a screen shows, read again when the feed says that it may have changed. */
import { useCallback, useEffect, useRef, useState } from 'react'
import { ask, type Given } from './client.ts'
import type { TadaDocumentNode } from './document.ts'
import { useFeed, whenFollowing, type EventType } from './feed.ts'
import { gathered, type Gathered } from './gather.ts'
import { useProject } from './session.ts'

export interface Query<Result> {
  /** The newest result; undefined before the first one. It stays while the next is read. */
  data: Result | undefined
  /** Why the newest read failed; null when it did not. */
  error: unknown
  /** Whether nothing has been read yet. */
  isLoading: boolean
  reload(): void
}

interface Options {
  /** Types of events after which the result may be another. */
  hears?: readonly EventType[]
  /** Reads nothing while true. */
  skip?: boolean
}

/** Runs a query now, when its variables change, and after the events that it hears. Late results are dropped. */
export function useQuery<Result, Variables>(
  document: TadaDocumentNode<Result, Variables>,
  variables: Given<Variables>,
  { hears = [], skip = false }: Options = {},
): Query<Result> {
  const project = useProject()
  const given = JSON.stringify(variables)
  // Another project is another result.
  const key = `${project} ${given}`
  const [state, setState] = useState<{ key: string; data?: Result; error: unknown }>({ key, error: null })
  const run = useRef<AbortController | null>(null)
  const events = useRef<Gathered | null>(null)

  const read = useCallback(() => {
    run.current?.abort()
    const own = new AbortController()
    run.current = own
    return (async () => {
      try {
        await whenFollowing()
        const data = await ask(document, JSON.parse(given) as Given<Variables>, own.signal)
        if (!own.signal.aborted) setState({ key, data, error: null })
      } catch (error) {
        if (own.signal.aborted) return
        setState((before) =>
          before.key === key && before.data !== undefined
            ? { key, data: before.data, error }
            : { key, error },
        )
      }
    })()
  }, [document, key, given])

  useEffect(() => {
    if (!skip) void read()
    const own = gathered(read)
    events.current = own
    return () => {
      run.current?.abort()
      own.stop()
    }
  }, [read, skip])

  useFeed(hears, () => {
    if (!skip) events.current?.ask()
  })

  const isOwn = state.key === key
  return {
    data: isOwn ? state.data : undefined,
    error: isOwn ? state.error : null,
    isLoading: !skip && (!isOwn || (state.data === undefined && state.error === null)),
    reload: () => void read(),
  }
}

/** Runs a mutation from an event handler, and says whether one is under way and how the last one failed. */
export function useMutation<Result, Variables>(document: TadaDocumentNode<Result, Variables>) {
  const [isRunning, setRunning] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const busy = useRef(false)
  /** Resolves with null when the mutation failed or another one is under way. */
  const mutate = useCallback(
    async (variables: Given<Variables>): Promise<Result | null> => {
      // A second press before the first has been answered is the same press.
      if (busy.current) return null
      busy.current = true
      setRunning(true)
      setError(null)
      try {
        return await ask(document, variables)
      } catch (failure) {
        setError(failure)
        return null
      } finally {
        busy.current = false
        setRunning(false)
      }
    },
    [document],
  )
  return { mutate, isRunning, error, clear: () => setError(null) }
}
