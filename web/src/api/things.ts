/** What objects are called, by their ids, and where the page shows them: for texts that name an object by its id. */
import { useEffect, useMemo, useState } from 'react'
import { againMsOf, ask } from './client.ts'
import { graphql, type ResultOf } from './document.ts'
import { gathered } from './gather.ts'
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

/** The things with these ids that this person may read, as far as they have been read; other `ids` are read anew. */
export function useThings(ids: readonly string[]): ReadonlyMap<string, Thing> {
  const viewer = useViewer()
  const [things, setThings] = useState<ReadonlyMap<string, Thing>>(new Map())
  const wanted = useMemo(() => {
    if (!viewer) return []
    const mayRead = (id: string) => {
      const needed = rights[id.split('_')[0]!]
      return needed !== undefined && needed.every((action) => viewer.mayEverywhere(action))
    }
    return [...new Set(ids)].filter(mayRead)
  }, [ids, viewer])
  useEffect(() => {
    const left = new AbortController()
    const read = async () => {
      try {
        for (let at = 0; at < wanted.length; at += mostIds) {
          const { nodes } = await ask(thingsQuery, { ids: wanted.slice(at, at + mostIds) }, left.signal)
          const found = nodes.flatMap((node) => (node ? [[node.id, thingOf(node)] as const] : []))
          setThings((before) => new Map([...before, ...found]))
        }
        return null
      } catch (error) {
        // Until then the ids stand there.
        return againMsOf(error)
      }
    }
    const reads = gathered(read)
    reads.now()
    return () => {
      left.abort()
      reads.stop()
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
      return plain(node.name, '/operations/keys')
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
