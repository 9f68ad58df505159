/**
 * Records what MCP servers of npm answer to tools/list, for test/journeys/mcp/foreign-catalogs.test.ts:
 * `node tools/record-catalogs.mjs` records all, `node tools/record-catalogs.mjs tavily-mcp` those that are named.
 *
 * Each package is installed in a folder of its own, at its latest version and without install scripts, and is started with a key
 * that opens nothing: it is only asked what it offers. test/support/catalogs has its answers as they came, one file a package.
 * Some packages want Node 22 or newer. Exits with the number of packages that could not be recorded.
 */
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const root = process.cwd()
const target = join(root, 'test/support/catalogs')
const key = 'none'

/** By package: its arguments, and the environment without which it does not start. */
const servers = {
  '@antv/mcp-server-chart': {},
  '@brave/brave-search-mcp-server': { env: { BRAVE_API_KEY: key } },
  '@circleci/mcp-server-circleci': { env: { CIRCLECI_TOKEN: key } },
  '@hubspot/mcp-server': { env: { PRIVATE_APP_ACCESS_TOKEN: key } },
  '@mapbox/mcp-server': { env: { MAPBOX_ACCESS_TOKEN: 'pk.eyJ1Ijoibm9uZSJ9.none' } },
  '@modelcontextprotocol/server-everything': {},
  '@modelcontextprotocol/server-filesystem': { args: [root] },
  '@modelcontextprotocol/server-memory': {},
  '@modelcontextprotocol/server-sequential-thinking': {},
  '@notionhq/notion-mcp-server': { env: { NOTION_TOKEN: key } },
  '@playwright/mcp': {},
  '@sentry/mcp-server': { args: ['--access-token', key] },
  '@upstash/context7-mcp': {},
  '@wonderwhy-er/desktop-commander': {},
  'airtable-mcp-server': { env: { AIRTABLE_API_KEY: key } },
  'chrome-devtools-mcp': {},
  'exa-mcp-server': { env: { EXA_API_KEY: key } },
  'figma-developer-mcp': { args: ['--stdio', '--image-dir', '/images'], env: { FIGMA_API_KEY: key } },
  'firecrawl-mcp': { env: { FIRECRAWL_API_KEY: key } },
  'mcp-server-kubernetes': {},
  'mongodb-mcp-server': {},
  'tavily-mcp': { env: { TAVILY_API_KEY: key } },
}

const named = process.argv.slice(2)
let failed = 0
for (const name of named.length > 0 ? named : Object.keys(servers))
  await record(name, servers[name] ?? {}).then(
    (told) => process.stdout.write(`${told}\n`),
    (error) => {
      failed += 1
      process.stderr.write(`${name}: ${error.message}\n`)
    },
  )
process.exit(failed)

async function record(name, { args = [], env = {} }) {
  const folder = mkdtempSync(join(tmpdir(), 'catalog-'))
  try {
    const options = ['install', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund']
    execFileSync('npm', [...options, name], { stdio: 'ignore' })
    const packed = join(folder, 'node_modules', name)
    const { version, bin } = JSON.parse(readFileSync(join(packed, 'package.json'), 'utf8'))
    const program = join(packed, typeof bin === 'string' ? bin : Object.values(bin)[0])
    const pages = await listed([program, ...args], { PATH: process.env.PATH, HOME: folder, ...env }, folder)
    const file = join(target, `${name.replace('@', '').replace('/', '__')}.json`)
    // The answers are not parsed and written again: numbers and escapes stay as they came.
    writeFileSync(file, `{"package":"${name}","version":"${version}","pages":[\n${pages.join(',\n')}\n]}\n`)
    const count = pages.reduce((sum, page) => sum + JSON.parse(page).result.tools.length, 0)
    return `${name}@${version}: ${count} tools`
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The answers of a server on standard input and output to tools/list, page by page. */
async function listed(command, env, cwd) {
  const child = spawn(process.execPath, command, { env, cwd, stdio: ['pipe', 'pipe', 'pipe'] })
  let said = ''
  child.stderr.on('data', (text) => (said = `${said}${text}`.slice(-500)))
  const ended = new Promise((_resolve, reject) => {
    child.on('exit', (code) => reject(new Error(`ended with ${code}: ${said}`)))
    setTimeout(() => reject(new Error(`does not answer: ${said}`)), 60_000).unref()
  })
  // Nobody may wait for it when the server ends after its last answer.
  ended.catch(() => {})
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const answerTo = async (id) => {
    for (;;) {
      const { value: line, done } = await Promise.race([lines.next(), ended])
      if (done) await ended
      if (!line.startsWith('{')) continue
      const message = JSON.parse(line)
      if (message.method && message.id !== undefined) send({ id: message.id, result: { roots: [] } })
      if (message.id !== id || message.method) continue
      if (message.error) throw new Error(message.error.message)
      return { line, result: message.result }
    }
  }
  try {
    const clientInfo = { name: 'recorder', version: '1' }
    send({
      id: 0,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo },
    })
    await answerTo(0)
    send({ method: 'notifications/initialized' })
    const pages = []
    for (let cursor; ;) {
      send({ id: pages.length + 1, method: 'tools/list', params: cursor ? { cursor } : {} })
      const { line, result } = await answerTo(pages.length + 1)
      pages.push(line)
      cursor = result.nextCursor
      if (!cursor) return pages
    }
  } finally {
    child.kill('SIGKILL')
  }
}
