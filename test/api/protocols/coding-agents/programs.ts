/** Coding agents as programs: a home and a folder of their own, the key in the environment, and a proxy in place of every network. */
import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Place {
  home: string
  /** Where the program works. */
  work: string
  env: Record<string, string>
  /** What it asked of other hosts than loopback. */
  sought: string[]
  close(): Promise<void>
}

/** A place with these variables beside those that every program has. */
export async function makePlace(more: Record<string, string>): Promise<Place> {
  const home = await mkdtemp(join(tmpdir(), 'gatehouse-program-'))
  const work = join(home, 'work')
  await mkdir(work)
  const sought: string[] = []
  const proxy = createServer((request, response) => {
    sought.push(request.url!)
    response.writeHead(502).end()
  })
  proxy.on('connect', (request, socket) => {
    sought.push(request.url!)
    socket.on('error', () => {})
    socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n')
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  const proxies = { HTTP_PROXY: proxyUrl, HTTPS_PROXY: proxyUrl, ALL_PROXY: proxyUrl, NO_PROXY: '127.0.0.1' }
  return {
    home,
    work,
    sought,
    env: { PATH: process.env['PATH']!, HOME: home, PWD: work, ...proxies, ...more },
    async close() {
      proxy.closeAllConnections()
      await new Promise((resolve) => proxy.close(resolve))
      await rm(home, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

export interface Program {
  /** What it has printed so far. */
  printed(): string
  /** Resolves when it has printed this so often; rejects when it ends before. */
  prints(text: string, times?: number): Promise<void>
  /** Ends it in this moment, with what it has started. */
  kill(): Promise<void>
  /** Its exit code; null when it was killed. */
  ended: Promise<number | null>
}

/** Starts it in its place. */
export function startProgram(path: string, args: string[], { work, env }: Place): Program {
  // A group of its own, which `kill` ends: shells that it starts are in it.
  const child = spawn(path, args, { cwd: work, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  let printed = ''
  let changed = () => {}
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (piece: string) => {
      printed += piece
      changed()
    })
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
  return {
    ended,
    printed: () => printed,
    prints: (text, times = 1) =>
      new Promise((resolve, reject) => {
        changed = () => {
          if (printed.split(text).length > times) resolve()
        }
        changed()
        void ended.then(() => reject(new Error(`It ended without "${text}": ${printed}`)))
      }),
    async kill() {
      if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, 'SIGKILL')
      await ended
    },
  }
}

/** Settings of Codex with this provider of models; without them it asks other hosts. */
export const codexSettings = (url: string, more = '') => `model_provider = "gatehouse"
check_for_update_on_startup = false
[analytics]
enabled = false
[feedback]
enabled = false
[otel]
exporter = "none"
[features]
plugins = false
[model_providers.gatehouse]
name = "Gatehouse"
base_url = "${url}/v1"
wire_api = "responses"
${more}`

/** Settings without which opencode asks other hosts. */
export const quietOpencode: Record<string, string> = Object.fromEntries(
  ['AUTOUPDATE', 'MODELS_FETCH', 'LSP_DOWNLOAD', 'DEFAULT_PLUGINS', 'SHARE'].map((name) => [
    `OPENCODE_DISABLE_${name}`,
    '1',
  ]),
)
