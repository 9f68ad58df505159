/** Everything that waits, as light rows: read page by page once, then kept up to date by the events of each request. */
import { useEffect, useRef, useState } from 'react'
import { readAll } from '../../api/all-pages.ts'
import { againMsOf, ask } from '../../api/client.ts'
import { graphql, type FragmentOf } from '../../api/document.ts'
import { list } from '../../api/reads.ts'
import { useFeed, whenFollowing } from '../../api/feed.ts'
import { gatherReads, type GatheredReads } from '../../api/gather.ts'
import { principal } from '../../api/principal.ts'
import { useProject } from '../../api/session.ts'
import { questionTypes } from '../../parts/question/documents.ts'

const pendingRow = graphql(
  `
    fragment PendingRow on Approval {
      id
      status
      toolName
      summary {
        parts {
          text
          isValue
        }
      }
      arguments(brief: true)
      digest
      createdAt
      expiresAt
      claim {
        byName
      }
      requester {
        ...PrincipalParts
      }
      agent {
        id
        name
      }
      tool {
        id
        annotations {
          destructiveHint
        }
      }
    }
  `,
  [principal],
)
export type PendingRow = FragmentOf<typeof pendingRow>

const waiting = '$filter:ApprovalFilter $orderBy:ApprovalOrder'
const pendingQuery = list('approvals', pendingRow, waiting)

const rowsQuery = graphql(
  `
    query PendingRows($ids: [ID!]!) {
      nodes(ids: $ids) {
        __typename
        ... on Approval {
          ...PendingRow
        }
      }
    }
  `,
  [pendingRow],
)

const foundRow = graphql(`
  fragment FoundRow on Approval {
    id
  }
`)
const foundQuery = list('approvals', foundRow, waiting)

const orderBy = 'EXPIRES_AT'

/** The most entries of a page, and of a read by ids. */
const pageSize = 100
/** The most rows that are read: half of what the server lets one person ask in a minute. */
const most = 5_000

/** Events after which a request does not wait any more. */
const finalTypes: ReadonlySet<string> = new Set(['APPROVAL_DECIDED', 'APPROVAL_EXPIRED', 'APPROVAL_VOIDED'])

interface Standing<Value> {
  /** What it is about: a project, or a search in one. */
  key: string
  value: Value
  error: unknown
}

/** What is read again and again while `key` stands, as far as it has been read; null before the first answer. */
function useReads<Value>(
  key: string,
  read: (signal: AbortSignal, show: (value: Value) => void) => Promise<void>,
) {
  const [standing, setStanding] = useState<Standing<Value | null>>({ key, value: null, error: null })
  const latest = useRef(read)
  const reads = useRef<GatheredReads | null>(null)
  useEffect(() => {
    latest.current = read
  })
  useEffect(() => {
    const left = new AbortController()
    const show = (value: Value) => {
      if (!left.signal.aborted) setStanding({ key, value, error: null })
    }
    const own = gatherReads(async () => {
      try {
        await whenFollowing()
        await latest.current(left.signal, show)
        return null
      } catch (error) {
        if (left.signal.aborted) return null
        setStanding((before) => ({ key, value: before.key === key ? before.value : null, error }))
        return againMsOf(error)
      }
    })
    reads.current = own
    own.now()
    return () => {
      left.abort()
      own.stop()
    }
  }, [key])
  const own = standing.key === key ? standing : { value: null, error: null }
  return { ...own, reads, isLoading: own.value === null && own.error === null }
}

interface Whole {
  rows: ReadonlyMap<string, PendingRow>
  /** Whether all of them have been read. */
  isWhole: boolean
  /** Whether there are more than are read at most. */
  isCut: boolean
}

const none: Whole = { rows: new Map(), isWhole: false, isCut: false }

/** The requests that wait. `reload` reads those with these ids again, or all. */
export function usePending() {
  const project = useProject() ?? ''
  const known = useRef({ project, whole: none })
  /** What has changed since the last read: ids, and whether each waits no more; null: anything. */
  const changed = useRef<Map<string, boolean> | null>(null)
  const { value, error, isLoading, reads } = useReads<Whole>(project, async (signal, show) => {
    const isOther = known.current.project !== project
    const due = isOther ? null : changed.current
    const before = isOther ? none : known.current.whole
    changed.current = new Map()
    const keep = (whole: Whole) => {
      known.current = { project, whole }
      show(whole)
    }
    try {
      // What is beyond the end of the list moves up when half of it has been decided.
      const isSpent = before.isCut && before.rows.size < most / 2
      if (due !== null && before.isWhole && !isSpent)
        return keep({ ...before, rows: await withChanges(before.rows, due, signal) })
      const byId = (nodes: readonly PendingRow[]) => new Map(nodes.map((node) => [node.id, node]))
      const { nodes, isCut } = await readAll(
        pendingQuery,
        { filter: { statuses: ['PENDING'] }, orderBy },
        {
          signal,
          pageSize,
          most,
          onRead: (_count, read) => {
            if (!before.isWhole) show({ rows: byId(read), isWhole: false, isCut: false })
          },
        },
      )
      keep({ rows: byId(nodes), isWhole: true, isCut })
    } catch (failure) {
      // What was due is due again.
      changed.current = due && changed.current && new Map([...due, ...changed.current])
      throw failure
    }
  })
  const note = (id: string | null, isFinal: boolean) => {
    if (id === null) changed.current = null
    else changed.current?.set(id, isFinal)
  }
  useFeed(questionTypes, (event) => {
    const id = event && 'approval' in event ? (event.approval?.id ?? null) : null
    note(id, event !== null && finalTypes.has(event.type))
    reads.current?.ask()
  })
  return {
    ...(value ?? none),
    error,
    isLoading,
    reload(ids?: readonly string[]) {
      for (const id of ids ?? [null]) note(id, false)
      reads.current?.now()
    },
  }
}

/** The rows with those that have changed as they are now; what waits no more is left out. */
async function withChanges(
  rows: ReadonlyMap<string, PendingRow>,
  changed: ReadonlyMap<string, boolean>,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, PendingRow>> {
  const ids = [...changed].flatMap(([id, isFinal]) => (isFinal ? [] : id))
  const next = new Map(rows)
  for (const id of changed.keys()) next.delete(id)
  for (let at = 0; at < ids.length; at += pageSize) {
    const { nodes } = await ask(rowsQuery, { ids: ids.slice(at, at + pageSize) }, signal)
    for (const node of nodes)
      if (node?.__typename === 'Approval' && node.status === 'PENDING') next.set(node.id, node)
  }
  return next
}

const nothing: ReadonlySet<string> = new Set()

/** The ids of what a search finds among the requests that wait; null without a search. */
export function useFound(search: string) {
  const project = useProject() ?? ''
  const words = search.trim()
  const { value, error, isLoading, reads } = useReads<ReadonlySet<string> | null>(
    `${project} ${words}`,
    async (signal, show) => {
      if (words === '') return
      const reading = { signal, pageSize, onRead: () => {} }
      const { nodes } = await readAll(
        foundQuery,
        { filter: { statuses: ['PENDING'], search: words }, orderBy },
        reading,
      )
      show(new Set(nodes.map(({ id }) => id)))
    },
  )
  useFeed(questionTypes, () => reads.current?.ask())
  // A search that failed finds nothing: what it would have left out must not be there to decide about.
  return { found: words === '' ? null : (value ?? nothing), error, isLoading: words !== '' && isLoading }
}
