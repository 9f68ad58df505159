/** Reads for components: what a screen shows, read again when the feed says that it may have changed. */
import { useCallback, useEffect, useRef, useState } from 'react'
import { readForeignJson, writeJson } from '../../../src/core/exact-json.ts'
import { againMsOf, ask, type CallerVariables } from './client.ts'
import type { TadaDocumentNode } from './document.ts'
import { useFeed, whenFollowing, type EventType } from './feed.ts'
import { gatherReads, type GatheredReads } from './gather.ts'
import { readErrorTexts } from './error-text.ts'
import { refusalOf, type MutationRefusal } from './outcome.ts'
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
  eventTypes?: readonly EventType[]
  /** Reads nothing while true. */
  skip?: boolean
}

/** Runs a query now, when its variables change, and after the events of its types. Late results are dropped. */
export function useQuery<Result, Variables>(
  document: TadaDocumentNode<Result, Variables>,
  variables: CallerVariables<Variables>,
  { eventTypes = [], skip = false }: Options = {},
): Query<Result> {
  const project = useProject()
  const given = writeJson(variables)
  // Another project is another result.
  const key = `${project} ${given}`
  const [state, setState] = useState<{ key: string; data?: Result; error: unknown }>({ key, error: null })
  const events = useRef<GatheredReads | null>(null)

  const read = useCallback(
    async (signal: AbortSignal) => {
      try {
        await whenFollowing()
        const data = await ask(document, readForeignJson(given) as CallerVariables<Variables>, signal)
        if (!signal.aborted) setState({ key, data, error: null })
        return null
      } catch (error) {
        if (signal.aborted) return null
        setState((before) =>
          before.key === key && before.data !== undefined
            ? { key, data: before.data, error }
            : { key, error },
        )
        return againMsOf(error)
      }
    },
    [document, key, given],
  )

  useEffect(() => {
    const left = new AbortController()
    const own = gatherReads(() => read(left.signal))
    events.current = own
    if (!skip) own.now()
    return () => {
      left.abort()
      own.stop()
    }
  }, [read, skip])
  // One that is under way goes on, and another follows: who asks every second would never see an answer that takes two.
  const reload = useCallback(() => events.current?.now(), [])

  useFeed(eventTypes, () => {
    if (!skip) events.current?.ask()
  })

  const isOwn = state.key === key
  return {
    data: isOwn ? state.data : undefined,
    error: isOwn ? state.error : null,
    isLoading: !skip && (!isOwn || (state.data === undefined && state.error === null)),
    reload,
  }
}

/** What a mutation answers with when it is not refused. */
export type Payload<Result> = Extract<Result[keyof Result], { __typename: `${string}Payload` }>

/**
 * Runs a mutation from an event handler, and says whether one is under way and why the last one was refused or failed.
 * `mostMs`: how long its answer may take, in milliseconds, where that is longer than usual.
 */
export function useMutation<Result extends object, Variables>(
  document: TadaDocumentNode<Result, Variables>,
  mostMs?: number,
) {
  const [isRunning, setRunning] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const [refused, setRefused] = useState<MutationRefusal | null>(null)
  const busy = useRef(false)
  const clear = useCallback(() => {
    setError(null)
    setRefused(null)
  }, [])
  /** Resolves with null when the mutation failed or another one is under way. */
  const mutate = useCallback(
    async (variables: CallerVariables<Variables>): Promise<Result | null> => {
      // A second press before the first has been answered is the same press.
      if (busy.current) return null
      busy.current = true
      setRunning(true)
      clear()
      try {
        const result = await ask(document, variables, undefined, mostMs)
        if (refusalOf(answerOf(result))) await readErrorTexts()
        setRefused(refusalOf(answerOf(result)))
        return result
      } catch (failure) {
        setError(failure)
        setRefused(refusalOf(null, failure))
        return null
      } finally {
        busy.current = false
        setRunning(false)
      }
    },
    [document, mostMs, clear],
  )
  /** Resolves with null also when the mutation was refused. */
  const send = async (variables: CallerVariables<Variables>) => {
    const result = await mutate(variables)
    const answer = result && answerOf(result)
    return refusalOf(answer) ? null : (answer as Payload<Result> | null)
  }
  return { mutate, send, isRunning, error, refused, clear }
}

/** The answer of the one field of a mutation. */
export const answerOf = (result: object) => Object.values(result)[0] as object
