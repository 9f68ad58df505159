/** `gatehouse tools|agents|runs|webhooks`: lists them, or shows one. */
import { GatehouseError } from '../client/index.ts'
import { withImport } from './import-server.ts'
import { json, out, outJson, table } from './screen.ts'
import { clientOf, commonHelp, UsageError, type Command } from './usage.ts'

interface Noun {
  /** What it is called in the API: the field of one, and of all. */
  one: string
  all: string
  /** The fields of a line. */
  columns: readonly string[]
  /** More of one. */
  more: string
}

type Row = Record<string, unknown> & { id: string }
interface Page {
  page: { nodes: Row[]; pageInfo: { hasNextPage: boolean; endCursor: string | null } }
}

/** Makes the command of a noun. Text of others is shown with its control characters escaped. */
function nounCommand(name: string, summary: string, { one, all, columns, more }: Noun): Command {
  const fields = columns.join(' ')
  return {
    summary,
    help: `gatehouse ${name} list
gatehouse ${name} get ID

${commonHelp}`,
    options: {},
    async run(given, signal) {
      const [what, id, ...rest] = given.words
      const isList = what === 'list' && id === undefined
      if (!isList && (what !== 'get' || id === undefined || rest.length > 0))
        throw new UsageError('Say list or get ID.')
      const client = clientOf(given)
      const isJson = given.options['json'] === true
      try {
        if (!isList) {
          const text = `query One($id: ID!) { found: ${one}(id: $id) { ${fields} ${more} } }`
          const { found } = await client.query<{ found: Row | null }>(text, { id }, { signal })
          if (!found) throw new GatehouseError('NOT_FOUND', `There is no such ${one} for this key: ${id}`)
          if (isJson) outJson(found)
          else out(`${json(found)}\n`)
          return 0
        }
        const text = `query All($after: String) { page: ${all}(first: 100, after: $after) {
          nodes { ${fields} } pageInfo { hasNextPage endCursor } } }`
        for (let after: string | null = null; ;) {
          const { page }: Page = await client.query<Page>(text, { after }, { signal })
          if (isJson) page.nodes.forEach(outJson)
          else out(table(page.nodes.map((row) => columns.map((column) => String(row[column] ?? '')))))
          if (!page.pageInfo.hasNextPage) return 0
          after = page.pageInfo.endCursor
        }
      } finally {
        client.close()
      }
    },
  }
}

export const nouns: Record<string, Command> = {
  tools: withImport(
    nounCommand('tools', 'list tools, show one, or import an MCP server', {
      one: 'tool',
      all: 'tools',
      columns: ['id', 'name', '__typename', 'version', 'createdAt'],
      more: 'title description inputSchema outputSchema updatedAt',
    }),
  ),
  agents: nounCommand('agents', 'list agents, or show one', {
    one: 'agent',
    all: 'agents',
    columns: ['id', 'name', 'version', 'createdAt'],
    more: 'model instructions toolIds agentIds updatedAt',
  }),
  runs: nounCommand('runs', 'list runs, or show one', {
    one: 'generation',
    all: 'generations',
    columns: ['id', 'status', 'createdAt', 'finishedAt'],
    more: 'inputLine outputLine error { code message } agent { id name } toolCalls { id name status arguments }',
  }),
  webhooks: nounCommand('webhooks', 'list webhooks, or show one', {
    one: 'webhook',
    all: 'webhooks',
    columns: ['id', 'url', 'status', 'createdAt'],
    more: 'description types deliveredCount',
  }),
}
