/** Behind the usual proxies, with the settings of their guides: requests, streams, sockets, MCP, pages and clients. */
import { afterEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { createClient } from '../../client/index.ts'
import { openRaw } from '../api/graphql/raw-socket.ts'
import { hasChromium, openChromium, visit } from '../support/chromium.ts'
import { adminKey } from '../support/harness.ts'
import { freePort } from '../support/processes.ts'
import { openShop } from '../support/web-fixtures.ts'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

/** Reverse proxies before a server, as their guides and most tutorials set them up; from Debian's packages. */
interface Setup {
  program: string
  /** The arguments, for a configuration file in this folder. */
  args(file: string, folder: string): string[]
  /** Whether no WebSocket gets through. */
  blocksSockets?: true
  /** Whether connections without traffic are cut after two seconds. */
  cutsIdle?: true
  /** The configuration: where it listens, and the host and port of the server. */
  config(port: number, server: string, folder: string): string
}

const nginx = (location: string): Setup => ({
  program: '/usr/sbin/nginx',
  args: (file, folder) => ['-c', file, '-p', folder, '-e', join(folder, 'error.log')],
  config: (port, server, folder) => `daemon off; pid ${folder}/pid; worker_processes 1;
events {}
http {
  access_log off;
  client_body_temp_path ${folder}/a; proxy_temp_path ${folder}/b; fastcgi_temp_path ${folder}/c;
  uwsgi_temp_path ${folder}/d; scgi_temp_path ${folder}/e;
  server {
    listen 127.0.0.1:${port};
    location / { proxy_pass http://${server}; ${location} }
  }
}
`,
})

const upgrade =
  'proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection "upgrade";'

const proxies = {
  // Its $host has no port, and its buffers are on.
  'nginx with $host': nginx(
    `${upgrade} proxy_set_header Host $host; proxy_set_header X-Forwarded-For $remote_addr;`,
  ),
  'nginx with its own Host': nginx(upgrade),
  'nginx that cuts what is idle': {
    ...nginx(`${upgrade} proxy_read_timeout 2s; proxy_send_timeout 2s; proxy_buffering on;`),
    cutsIdle: true,
  },
  // As it is without a word about versions: HTTP/1.0 to the server, and no upgrade.
  'nginx over HTTP/1.0': { ...nginx(''), blocksSockets: true },
  haproxy: {
    program: '/usr/sbin/haproxy',
    args: (file) => ['-db', '-f', file],
    config: (port, server) => `defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  timeout tunnel 1h
  option forwardfor
frontend in
  bind 127.0.0.1:${port}
  default_backend out
backend out
  server one ${server}
`,
  },
  caddy: {
    program: '/usr/bin/caddy',
    args: (file) => ['run', '--config', file, '--adapter', 'caddyfile'],
    config: (port, server, folder) => `{
  admin off
  auto_https off
  storage file_system ${folder}/caddy
}
http://localhost:${port} {
  reverse_proxy ${server}
}
`,
  },
} satisfies Record<string, Setup>

type ProxyName = keyof typeof proxies

/** Whether sockets get through it. */
const passesSockets = (name: ProxyName): boolean => !(proxies[name] as Setup).blocksSockets

const cutsIdle = (name: ProxyName): boolean => (proxies[name] as Setup).cutsIdle === true

function hasProxy(name: ProxyName): boolean {
  const { program } = proxies[name]
  const isThere = existsSync(program)
  if (!isThere) console.warn(`SKIPPED LOUDLY: no ${program}; tests behind it do not run.`)
  return isThere
}

/** Starts it on this port of localhost. Returns what ends it. */
async function startProxy(name: ProxyName, port: number, server: string): Promise<() => Promise<void>> {
  const { program, args, config }: Setup = proxies[name]
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-proxy-'))
  // nginx starts its workers as another user.
  await chmod(folder, 0o755)
  await mkdir(join(folder, 'home'))
  const file = join(folder, 'config')
  await writeFile(file, config(port, server, folder))
  const env = { PATH: process.env['PATH']!, HOME: join(folder, 'home') }
  const child = spawn(program, args(file, folder), { stdio: 'ignore', env })
  const exited = once(child, 'exit')
  while (!(await accepts(port))) {
    if (child.exitCode !== null) throw new Error(`${program} ended with ${child.exitCode}.`)
    await pause(20)
  }
  return async () => {
    child.kill('SIGTERM')
    await exited
    await rm(folder, { recursive: true, force: true })
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => (socket.destroy(), resolve(true)))
    socket.once('error', () => resolve(false))
  })
}

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

/** A server that knows its public URL, behind the proxy. */
async function openBehind(name: ProxyName) {
  const port = await freePort()
  const url = `http://localhost:${port}`
  const shop = await openShop({ config: { publicUrl: url, trustedProxies: ['127.0.0.1'] } })
  closers.push(() => shop.close())
  closers.push(await startProxy(name, port, `127.0.0.1:${new URL(shop.h.app.url).port}`))
  return { ...shop, url }
}

const authorization = `Bearer ${adminKey}`
const feed = 'subscription { projectEvents { type } }'

describe.each(Object.keys(proxies).filter((name) => hasProxy(name as ProxyName)) as ProxyName[])(
  '%s',
  (name) => {
    test('passes on requests, event streams and MCP of a page at the public URL', async () => {
      const { h, url } = await openBehind(name)
      const json = { authorization, origin: url, 'content-type': 'application/json' }
      const asked = await fetch(`${url}/graphql`, {
        method: 'POST',
        headers: json,
        body: '{"query":"{ viewer { id } }"}',
      })
      expect(await asked.json()).toMatchObject({ data: { viewer: { id: expect.any(String) as string } } })

      const stream = await fetch(`${url}/graphql`, {
        method: 'POST',
        headers: { ...json, accept: 'text/event-stream' },
        body: JSON.stringify({ query: feed }),
      })
      const events = stream.body!.pipeThrough(new TextDecoderStream()).getReader()
      // It arrives although the stream goes on: nothing on the way waits for its end.
      await h.mutate('createAgent', { name: 'a' }, 'agent { id }')
      for (let text = ''; !text.includes('AGENT_CREATED');) {
        const { value, done } = await events.read()
        if (done) throw new Error(`The stream ended: ${text}`)
        text += value
      }
      await events.cancel()

      const initialize = {
        protocolVersion: '2025-06-18',
        capabilities: {},
        clientInfo: { name: 'page', version: '1' },
      }
      const mcp = await fetch(`${url}/mcp`, {
        method: 'POST',
        headers: { ...json, accept: 'application/json, text/event-stream' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: initialize }),
      })
      expect(mcp.status).toBe(200)
    })

    test.runIf(passesSockets(name))('passes on sockets of a page at the public URL', async () => {
      const { h, url } = await openBehind(name)
      const socket = await openRaw(url, { headers: { origin: url } })
      socket.send({ type: 'connection_init', payload: { authorization } })
      await socket.next(({ type }) => type === 'connection_ack')
      socket.send({ id: '1', type: 'subscribe', payload: { query: feed } })
      socket.send({ id: '2', type: 'subscribe', payload: { query: '{ viewer { id } }' } })
      await socket.next(({ id }) => id === '2')
      await h.mutate('createAgent', { name: 'a' }, 'agent { id }')
      expect(await socket.next(({ id }) => id === '1')).toMatchObject({ type: 'next' })
      socket.ws.close()
      await expect(openRaw(url, { headers: { origin: 'https://evil.example' } })).rejects.toThrow('403')
    })

    test.runIf(hasChromium)(
      'a page shows each new question, and says nothing of its connection',
      async () => {
        const { h, url, refundId } = await openBehind(name)
        const tab = await visit(await openChromium(), { url }, '/approvals', {
          expected: passesSockets(name) ? /^$/ : /WebSocket connection to/,
        })
        closers.push(() => tab.close())
        await tab.page.locator('.question-row, .empty').first().waitFor()
        for (let n = 0; n < 3; n++) {
          const shown = tab.page.locator('.question-row').nth(n).waitFor()
          const asked = performance.now()
          const input = { toolId: refundId, arguments: { order_id: `A-${n}`, amount: 5 } }
          await h.mutate('callTool', input, 'toolCall { id }')
          await shown
          console.log(
            `${name}: question ${n + 1} on the screen after ${Math.round(performance.now() - asked)} ms`,
          )
        }
        await expect.poll(() => tab.page.getByText('Reconnecting').count()).toBe(0)
        expect(tab.faults).toEqual([])
      },
    )

    test('a client that follows the project misses nothing', async () => {
      const { h, url } = await openBehind(name)
      let cut = () => {}
      const isCut = new Promise<void>((resolve) => (cut = resolve))
      const webSocket = passesSockets(name) ? WebSocket : null
      const client = createClient({ url, key: adminKey, webSocket, onRetry: () => cut() })
      closers.push(() => client.close())
      const heard = (async () => {
        const ids: string[] = []
        for await (const { type, cursor } of client.projectEvents({ after: '0' })) {
          if (type === 'AGENT_CREATED') ids.push(cursor)
          if (ids.length === 11) return ids
        }
        return ids
      })()
      for (let n = 0; n < 10; n++) {
        await h.mutate('createAgent', { name: `agent-${n}` }, 'agent { id }')
        if (n === 5 && cutsIdle(name)) await isCut
      }
      const ids = await heard
      expect(new Set(ids).size).toBe(11)
    })
  },
)
