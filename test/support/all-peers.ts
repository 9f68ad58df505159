/** Every client of the matrix: those from npm, and the Inspector where the Node version that it needs is installed. */
import { folder, isInstalled, newerNode } from '../conformance/suite.ts'
import { type McpResult, type OpenPeer, peers } from './mcp-clients.ts'
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startProxy } from '../conformance/proxy.ts'

/** The Inspector's command line as a client: one process for each request, in any era. It needs a newer Node. */
const program = join(folder, '@modelcontextprotocol/inspector/clients/launcher/build/index.js')

/** A client of that era. It stores what it learns, so it gets a home directory of its own. */
function inspector(era: 'legacy' | 'modern' | 'auto'): OpenPeer {
  return async (url, key, seen = () => {}) => {
    const home = await mkdtemp(join(tmpdir(), 'gatehouse-inspector-'))
    const proxy = await startProxy(new URL(url), key, seen)
    const base = ['--cli', '--server-url', `http://127.0.0.1:${proxy.port}`, '--transport', 'http']
    const run = (args: string[]) =>
      ask([...base, '--protocol-era', era, '--format', 'json', '--quiet', ...args], home)
    return {
      list: async () => (await run(['--method', 'tools/list', '--strict']))['tools'],
      call: async (name, args) => {
        const given = ['--tool-name', name, '--tool-args-json', JSON.stringify(args)]
        return (await run(['--method', 'tools/call', ...given])) as McpResult
      },
      close: async () => {
        await proxy.close()
        await rm(home, { recursive: true, force: true })
      },
    }
  }
}

/** The JSON object that it prints; an error of a tool is one too, whatever the exit code. */
function ask(args: string[], home: string): Promise<Record<string, any>> {
  const env = { ...process.env, HOME: home }
  return new Promise((resolve, reject) =>
    execFile(newerNode()!, [program, ...args], { env }, (error, out, err) => {
      try {
        const printed = JSON.parse(out) as Record<string, any>
        resolve(printed['result'] ?? printed)
      } catch {
        reject(new Error(`the Inspector said: ${out}${err}${error?.message ?? ''}`))
      }
    }),
  )
}

if (!isInstalled)
  console.warn('The Inspector is left out. Run: npm ci --prefix tools/conformance --ignore-scripts')

export const allPeers: Record<string, OpenPeer> = {
  ...peers,
  ...(isInstalled
    ? {
        'the Inspector, legacy': inspector('legacy'),
        'the Inspector, modern': inspector('modern'),
        'the Inspector, negotiating': inspector('auto'),
      }
    : {}),
}
