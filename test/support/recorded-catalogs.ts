/** What MCP servers of npm answered to tools/list: see tools/record-catalogs.mjs. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { respond, type Scripted } from './scripted-mcp.ts'

const folder = join(import.meta.dirname, 'catalogs')

export interface RecordedTool {
  name: string
  inputSchema: object
  outputSchema?: object
}

export interface RecordedCatalog {
  /** The package and its version, as `name@1.2.3`. */
  name: string
  tools: RecordedTool[]
  /** Answers tools/list with what the server sent, byte for byte but for the id of the request. */
  list: Scripted
}

export const recordedCatalogs: RecordedCatalog[] = readdirSync(folder)
  .toSorted()
  .map((file) => {
    const text = readFileSync(join(folder, file), 'utf8')
    const { package: name, version, pages } = JSON.parse(text)
    const lines = text
      .split('\n')
      .slice(1, -2)
      .map((line) => line.replace(/,$/, ''))
    return {
      name: `${name}@${version}`,
      tools: pages.flatMap((page: { result: { tools: RecordedTool[] } }) => page.result.tools),
      list: (response, id) => {
        // No server pages its list so far; one that does says so here.
        if (lines.length !== 1) return respond(response, 500, { message: `${file} has several pages` })
        const [line] = lines as [string]
        const answer = line.replace(/("id":)\d+(?=\}$)/, `$1${JSON.stringify(id)}`)
        return response.writeHead(200, { 'content-type': 'application/json' }).end(answer)
      },
    }
  })
