/** Lists that are read page by page, and again as far as they were read after the events that they hear. */
import { useCallback, useEffect, useRef, useState } from 'react'
import { writeJson } from '../../../src/core/exact-json.ts'
import { againMsOf, ask, type CallerVariables } from './client.ts'
import type { TadaDocumentNode } from './document.ts'
import { useFeed, whenFollowing, type EventType } from './feed.ts'
import { gatherReads, type GatheredReads } from './gather.ts'
import { useProject } from './session.ts'

export interface Connection<Node> {
  nodes: readonly Node[]
  pageInfo: { endCursor: string | null; hasNextPage: boolean }
}

export interface Pages<Node> {
  nodes: readonly Node[]
  hasMore: boolean
  error: unknown
  isLoading: boolean
  showMore(): void
  reload(): void
}

interface Reading<Result, Node> {
  /** Reads nothing: whoever looks may not read it. */
  skip?: boolean
  /** Where the connection is, in a document that is not of a list alone. */
  of?(data: Result): Connection<Node>
}

/** What the list has that a document reads. */
export type NodeOf<Result> = Result[keyof Result] extends Connection<infer Node> ? Node : never

/** The connection of a document of a list alone. */
export const onlyOf = <Result, Node>(data: Result): Connection<Node> =>
  Object.values(data as object)[0] as Connection<Node>

/** All nodes of a connection, page after page; those that are read so far, while more are. */
export function useWhole<Result, Variables extends { after?: string | null }, Node = NodeOf<Result>>(
  ...list: Parameters<typeof usePages<Result, Variables, Node>>
): readonly Node[] {
  const { nodes, hasMore, error, showMore } = usePages(...list)
  const { length } = nodes
  useEffect(() => {
    if (hasMore && error === null) showMore()
    // Once for each page that has arrived.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [length, hasMore, error])
  return nodes
}

/** Reads a connection whose document takes `$after`; the rows are read again after events of these types. */
export function usePages<Result, Variables extends { after?: string | null }, Node = NodeOf<Result>>(
  document: TadaDocumentNode<Result, Variables>,
  variables: Omit<CallerVariables<Variables>, 'after'>,
  eventTypes: readonly EventType[] = [],
  { skip = false, of = onlyOf }: Reading<Result, Node> = {},
): Pages<Node> {
  const project = useProject()
  const key = `${project} ${writeJson(variables)}`
  const [wanted, setWanted] = useState({ key, pages: 1 })
  const pages = wanted.key === key ? wanted.pages : 1
  const [read, setRead] = useState<(Part<Node> & { key: string; heard: number; error: unknown }) | null>(null)
  // Counts what makes the rows old: an event, or a change that one made oneself.
  const heard = useRef(0)
  const events = useRef<GatheredReads | null>(null)
  const latest = useRef({ variables, of, read })
  useEffect(() => {
    latest.current = { variables, of, read }
  })
  // Without the part that is known, the whole list is read again.
  const load = useCallback(
    async (known: Part<Node>, signal: AbortSignal) => {
      const since = heard.current
      const one = async (after: string | null) => {
        const given = { ...latest.current.variables, after } as unknown as CallerVariables<Variables>
        return latest.current.of(await ask(document, given, signal))
      }
      try {
        const part = await readPages(pages, known, one)
        if (!signal.aborted) setRead({ key, ...part, heard: since, error: null })
        return null
      } catch (error) {
        if (signal.aborted) return null
        setRead((before) =>
          before?.key === key ? { ...before, error } : { key, ...nothing, heard: since, error },
        )
        return againMsOf(error)
      }
    },
    [document, key, pages],
  )
  useEffect(() => {
    if (skip) return
    const { read: before } = latest.current
    const isMore = before?.key === key && before.error === null && before.pages < pages
    let known: Part<Node> = isMore && before.heard === heard.current ? before : nothing
    const left = new AbortController()
    const own = gatherReads(() => {
      const first = known
      known = nothing
      return load(first, left.signal)
    })
    events.current = own
    own.now()
    return () => {
      left.abort()
      own.stop()
    }
  }, [load, key, pages, skip])
  useFeed(eventTypes, () => {
    heard.current++
    events.current?.ask()
  })
  const own = read?.key === key ? read : null
  return {
    nodes: own?.nodes ?? [],
    hasMore: own !== null && own.after !== null,
    error: own?.error ?? null,
    isLoading: own === null,
    showMore: () => setWanted({ key, pages: pages + 1 }),
    reload() {
      heard.current++
      events.current?.now()
    },
  }
}

/** The first pages of a list; `after` is the cursor of the next one, null at its end. */
interface Part<Node> {
  nodes: readonly Node[]
  pages: number
  after: string | null
}

const nothing: Part<never> = { nodes: [], pages: 0, after: null }

async function readPages<Node>(
  pages: number,
  known: Part<Node>,
  one: (after: string | null) => Promise<Connection<Node>>,
): Promise<Part<Node>> {
  await whenFollowing()
  const nodes = [...known.nodes]
  let { pages: read, after } = known
  while (read < pages && (read === 0 || after !== null)) {
    const { nodes: more, pageInfo } = await one(after)
    nodes.push(...more)
    read++
    after = pageInfo.hasNextPage ? pageInfo.endCursor : null
  }
  return { nodes, pages: read, after }
}
