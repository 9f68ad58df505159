/** Lists that are read page by page, and again as far as they were read after the events that they hear. */
import { useCallback, useEffect, useRef, useState } from 'react'
import { ask, type CallerVariables } from './client.ts'
import type { TadaDocumentNode } from './document.ts'
import { useFeed, whenFollowing, type EventType } from './feed.ts'
import { gathered, type Gathered } from './gather.ts'
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

/** Reads a connection whose document takes `$after`. `of` finds the connection in the data. */
export function usePages<Result, Variables extends { after?: string | null }, Node>(
  document: TadaDocumentNode<Result, Variables>,
  variables: Omit<CallerVariables<Variables>, 'after'>,
  of: (data: Result) => Connection<Node>,
  { eventTypes = [] }: { eventTypes?: readonly EventType[] } = {},
): Pages<Node> {
  const project = useProject()
  const key = `${project} ${JSON.stringify(variables)}`
  const [wanted, setWanted] = useState({ key, pages: 1 })
  const pages = wanted.key === key ? wanted.pages : 1
  const [read, setRead] = useState<{
    key: string
    nodes: readonly Node[]
    hasMore: boolean
    error: unknown
  } | null>(null)
  const run = useRef<AbortController | null>(null)
  const events = useRef<Gathered | null>(null)
  const latest = useRef({ variables, of })
  useEffect(() => {
    latest.current = { variables, of }
  })
  const reload = useCallback(() => {
    run.current?.abort()
    const own = new AbortController()
    run.current = own
    const one = async (after: string | null) => {
      const given = { ...latest.current.variables, after } as unknown as CallerVariables<Variables>
      return latest.current.of(await ask(document, given, own.signal))
    }
    return readPages(pages, one).then(
      (result) => {
        if (!own.signal.aborted) setRead({ key, ...result, error: null })
      },
      (error: unknown) => {
        if (own.signal.aborted) return
        setRead((before) =>
          before?.key === key ? { ...before, error } : { key, nodes: [], hasMore: false, error },
        )
      },
    )
  }, [document, key, pages])
  useEffect(() => {
    void reload()
    const own = gathered(reload)
    events.current = own
    return () => {
      run.current?.abort()
      own.stop()
    }
  }, [reload])
  useFeed(eventTypes, () => events.current?.ask())
  const own = read?.key === key ? read : null
  return {
    nodes: own?.nodes ?? [],
    hasMore: own?.hasMore ?? false,
    error: own?.error ?? null,
    isLoading: own === null,
    showMore: () => setWanted({ key, pages: pages + 1 }),
    reload: () => void reload(),
  }
}

async function readPages<Node>(pages: number, one: (after: string | null) => Promise<Connection<Node>>) {
  await whenFollowing()
  const nodes: Node[] = []
  let after: string | null = null
  let hasMore = true
  for (let page = 0; page < pages && hasMore; page++) {
    const { nodes: more, pageInfo } = await one(after)
    nodes.push(...more)
    after = pageInfo.endCursor
    hasMore = pageInfo.hasNextPage
  }
  return { nodes, hasMore }
}
