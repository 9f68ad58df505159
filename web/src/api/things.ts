/** What objects are called, by their ids, and where the page shows them: for texts that name an object by its id. */
import { useEffect, useMemo, useRef, useState } from 'react'
import { ask, patiently } from './client.ts'
import { graphql, type ResultOf } from './document.ts'
import { useViewer } from './viewer.ts'

const thingsQuery = graphql(`
  query Things($ids: [ID!]!) {
    nodes(ids: $ids) {
      __typename
      id
      ... on Tool {
        name
      }
      ... on Agent {
        name
      }
      ... on ApiKey {
        name
      }
      ... on Generation {
        agent {
          name
        }
      }
      ... on Approval {
        toolName
        summary {
          parts {
            text
            isValue
          }
        }
      }
      ... on ToolCall {
        name
        summary {
          parts {
            text
            isValue
          }
        }
        generation {
          id
        }
        approval {
          id
          status
          summary {
            parts {
              text
              isValue
            }
          }
          decision {
            byName
            via
          }
        }
      }
    }
  }
`)

/** The most ids that the API takes at once. */
const mostIds = 100

interface Sentence {
  parts: readonly { text: string; isValue: boolean }[]
}

export interface Thing {
  name: string
  href: string | null
  /** Of a question or a call: what it does. */
  sentence: Sentence | null
  /** Of a call that a gate stopped. */
  approval: { id: string; status: string; decision: { byName: string; via: string | null } | null } | null
}

/** What is needed to read any object of a kind. Nothing else is asked for: a refusal would stand in the audit. */
const rights: Record<string, readonly string[]> = {
  tool: ['tools:Get'],
  agt: ['agents:Get'],
  key: ['keys:Get'],
  gen: ['generations:Get', 'generations:ReachOthers'],
  apr: ['approvals:Get', 'generations:ReachOthers'],
  call: ['toolCalls:Get', 'generations:ReachOthers'],
}

/** The things with these ids that this person may read, as far as they have been read. */
export function useThings(ids: readonly string[]): ReadonlyMap<string, Thing> {
  const viewer = useViewer()
  const [things, setThings] = useState<ReadonlyMap<string, Thing>>(new Map())
  const asked = useRef(new Set<string>())
  const left = useRef<AbortController>(null)
  useEffect(() => {
    const own = new AbortController()
    left.current = own
    const known = asked.current
    return () => {
      own.abort()
      known.clear()
    }
  }, [])
  const wanted = useMemo(() => {
    if (!viewer) return []
    const mayRead = (id: string) => {
      const needed = rights[id.split('_')[0]!]
      return needed !== undefined && needed.every((action) => viewer.mayEverywhere(action))
    }
    return [...new Set(ids)].filter(mayRead)
  }, [ids, viewer])
  useEffect(() => {
    const missing = wanted.filter((id) => !asked.current.has(id))
    const signal = left.current!.signal
    for (let at = 0; at < missing.length; at += mostIds) {
      const some = missing.slice(at, at + mostIds)
      for (const id of some) asked.current.add(id)
      patiently(() => ask(thingsQuery, { ids: some }, signal), signal).then(
        ({ nodes }) =>
          setThings((before) => {
            const found = nodes.flatMap((node) => (node ? [[node.id, thingOf(node)] as const] : []))
            return new Map([...before, ...found])
          }),
        // Without names the ids stand there.
        () => {},
      )
    }
  }, [wanted])
  return things
}

type Node = NonNullable<ResultOf<typeof thingsQuery>['nodes'][number]>

function thingOf(node: Node): Thing {
  const { id } = node
  const plain = (name: string, href: string | null): Thing => ({ name, href, sentence: null, approval: null })
  switch (node.__typename) {
    case 'Agent':
      return plain(node.name, `/agents/${id}`)
    case 'ApiKey':
      return plain(node.name, '/people')
    case 'Approval':
      return { ...plain(node.toolName, `/approvals/${id}`), sentence: node.summary }
    case 'Generation':
      return plain(node.agent?.name ?? id, `/runs/${id}`)
    case 'ToolCall': {
      const href = node.generation ? `/runs/${node.generation.id}?call=${id}` : null
      const { name, approval, summary } = node
      return { name, href, sentence: approval?.summary ?? summary, approval }
    }
    case 'HttpTool':
    case 'ClientTool':
    case 'McpTool':
    case 'PlatformTool':
      return plain(node.name, `/tools/${id}`)
    default:
      return plain(id, null)
  }
}
