/** A list as a whole, read page by page, for files. */
import { ask, RequestError, type CallerVariables } from './client.ts'
import type { TadaDocumentNode } from './document.ts'
import type { Connection } from './pages.ts'

/** Rows of one request. */
const pageSize = 50

/** The most rows of a list that are read for a file. */
export const mostRows = 10_000

interface Reading {
  signal: AbortSignal
  /** Called after each page. */
  onRead(count: number): void
}

/**
 * All nodes of a connection, at most `mostRows`; `isCut` says that there are more. The document takes `$first` and
 * `$after`. Waits where the server limits requests. Throws RequestError, and an AbortError when it is cancelled.
 */
export async function readAll<Result, Variables extends { first: number; after?: string | null }, Node>(
  document: TadaDocumentNode<Result, Variables>,
  variables: Omit<CallerVariables<Variables>, 'first' | 'after'>,
  of: (data: Result) => Connection<Node>,
  { signal, onRead }: Reading,
): Promise<{ nodes: Node[]; isCut: boolean }> {
  const nodes: Node[] = []
  let after: string | null = null
  for (;;) {
    const given = { ...variables, first: pageSize, after } as unknown as CallerVariables<Variables>
    const { nodes: more, pageInfo } = of(await patiently(() => ask(document, given, signal), signal))
    nodes.push(...more)
    onRead(nodes.length)
    after = pageInfo.endCursor
    if (!pageInfo.hasNextPage || nodes.length >= mostRows) return { nodes, isCut: pageInfo.hasNextPage }
  }
}

async function patiently<T>(read: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (;;) {
    try {
      return await read()
    } catch (error) {
      if (!(error instanceof RequestError) || error.retryAfterMs === null) throw error
      await pause(error.retryAfterMs, signal)
    }
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason as Error)
    })
  })
}
