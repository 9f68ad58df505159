/** Reverse proxies before a server, as their guides and most tutorials set them up; from Debian's packages. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

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

export const proxies = {
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

export type ProxyName = keyof typeof proxies

/** Whether sockets get through it. */
export const passesSockets = (name: ProxyName): boolean => !(proxies[name] as Setup).blocksSockets

export const cutsIdle = (name: ProxyName): boolean => (proxies[name] as Setup).cutsIdle === true

export function hasProxy(name: ProxyName): boolean {
  const { program } = proxies[name]
  const isThere = existsSync(program)
  if (!isThere) console.warn(`SKIPPED LOUDLY: no ${program}; tests behind it do not run.`)
  return isThere
}

/** Starts it on this port of localhost. Returns what ends it. */
export async function startProxy(
  name: ProxyName,
  port: number,
  server: string,
): Promise<() => Promise<void>> {
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
