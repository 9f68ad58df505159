/** Real servers on this machine in the place of the names under example.com that documents use. */
import { startLoopback } from '../support/loopback.ts'
import { openSlackServer } from '../support/slack-server.ts'
import { startModern } from '../support/upstream-servers.ts'

export interface ExampleHosts {
  /** The real address of each name that stands in an example. */
  names: Record<string, string>
  /** With which a server reaches them. */
  settings: Record<string, string>
  close(): Promise<void>
}

const text = (words: string) => ({ content: [{ type: 'text', text: words }] })

/**
 * `api.example.com` answers JSON, and 504 about charges; `mcp.example.com` is an MCP server for issues of a repository. Beside them is
 * Slack, with the workspace of the guide.
 */
export async function startExampleHosts(): Promise<ExampleHosts> {
  const api = await startLoopback((request, response) => {
    const gatewayTimeout = request.url.startsWith('/v1/charges')
    response
      .writeHead(gatewayTimeout ? 504 : 200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ method: request.method, path: request.url }))
  })
  const mcp = await startModern()
  const title = { type: 'object', properties: { title: { type: 'string' } }, required: ['title'] }
  for (const name of ['list_issues', 'create_issue', 'delete_repo'])
    mcp.tools.set(name, {
      tool: { name, description: 'A tool of the example.', inputSchema: title },
      run: (input) => text(`${name}: ${String(input['title'])}`),
    })
  const slack = await openSlackServer()
  const address = `127.0.0.1:${mcp.port}`
  return {
    names: {
      'https://api.example.com': api.url,
      'api.example.com': api.address,
      'https://mcp.example.com': `http://${address}`,
      'mcp.example.com': address,
    },
    settings: { GATEHOUSE_EGRESS_ALLOW_PRIVATE: 'true', GATEHOUSE_SLACK_API_URL: slack.url },
    close: async () => {
      await Promise.all([api.close(), mcp.kill(), slack.close()])
    },
  }
}
