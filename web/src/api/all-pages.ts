/** A list as a whole, read page by page. */
import { ask, RequestError, type CallerVariables } from './client.ts'
import type { TadaDocumentNode } from './document.ts'
import { onlyOf, type NodeOf } from './pages.ts'

/** The most rows of a list that are read for a file. */
export const mostRows = 10_000

interface Reading<Node> {
  signal: AbortSignal
  /** Called after each page, with what has been read so far. */
  onRead(count: number, nodes: readonly Node[]): void
  pageSize?: number
  /** The most nodes that are read. */
  most?: number
}

/**
 * All nodes of a connection, at most `most`; `isCut` says that there are more. The document takes `$first` and `$after`.
 * Waits where the server limits requests, and asks for less where a page is too large. Throws RequestError, and an AbortError
 * when it is cancelled.
 */
export async function readAll<
  Result,
  Variables extends { first?: number; after?: string | null },
  Node = NodeOf<Result>,
>(
  document: TadaDocumentNode<Result, Variables>,
  variables: Omit<CallerVariables<Variables>, 'first' | 'after'>,
  { signal, onRead, pageSize = 50, most = mostRows }: Reading<Node>,
): Promise<{ nodes: Node[]; isCut: boolean }> {
  const nodes: Node[] = []
  let after: string | null = null
  let first = pageSize
  for (;;) {
    const given = () => ({ ...variables, first, after }) as unknown as CallerVariables<Variables>
    const read = () =>
      ask(document, given(), signal).catch((error: unknown) => {
        if (!(error instanceof RequestError) || error.code !== 'RESPONSE_TOO_LARGE' || first === 1)
          throw error
        first = Math.ceil(first / 4)
        return null
      })
    const data = await patiently(read, signal)
    if (data === null) continue
    const { nodes: more, pageInfo } = onlyOf<Result, Node>(data)
    nodes.push(...more)
    onRead(nodes.length, nodes)
    after = pageInfo.endCursor
    if (!pageInfo.hasNextPage || nodes.length >= most) return { nodes, isCut: pageInfo.hasNextPage }
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
