/** An MCP server with as many real tools as a large catalog has: those of recorded servers of npm together, each with its prefix. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { respond, startScriptedMcp, type ScriptedMcp } from './scripted-mcp.ts'

export interface RecordedTool {
  name: string
  description?: string
  inputSchema: Record<string, any>
}

const folder = join(import.meta.dirname, 'catalogs')

/** So many tools, those of the largest catalogs first. One server of npm has 197. */
export function largeCatalog(count = 197): RecordedTool[] {
  const texts = readdirSync(folder).map((file) => ({ file, text: readFileSync(join(folder, file), 'utf8') }))
  const largest = texts.toSorted((a, b) => b.text.length - a.text.length || a.file.localeCompare(b.file))
  const tools = largest.flatMap(({ file, text }) => {
    const prefix = file.replace(/(?:__|-mcp|\.json).*$/, '')
    const pages = JSON.parse(text).pages as { result: { tools: RecordedTool[] } }[]
    return pages.flatMap(({ result }) =>
      result.tools.map(({ name, description, inputSchema }) => ({
        name: `${prefix}-${name}`,
        ...(description ? { description } : {}),
        inputSchema,
      })),
    )
  })
  return tools.slice(0, count)
}

/** A server that offers these tools and answers every call with `done`. */
export function serveCatalog(tools: readonly RecordedTool[]): Promise<ScriptedMcp> {
  return startScriptedMcp(
    (response, id) =>
      respond(response, 200, { jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'done' }] } }),
    { 'tools/list': (response, id) => respond(response, 200, { jsonrpc: '2.0', id, result: { tools } }) },
  )
}
