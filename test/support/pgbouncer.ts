/** PgBouncer before the PostgreSQL of the tests, as Debian packages it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from './processes.ts'

const path = '/usr/sbin/pgbouncer'

/** Whether it can be started here. */
export const hasPgBouncer = existsSync(path)
if (!hasPgBouncer) console.warn(`SKIPPED LOUDLY: no ${path}; tests behind a pooler do not run.`)

export interface PgBouncer {
  /** The same database behind the pooler. */
  url: string
  close(): Promise<void>
}

/** Starts it on a free loopback port, before this database, with no setting that an operator would have to make for us. */
export async function startPgBouncer(
  databaseUrl: string,
  mode: 'session' | 'transaction' | 'statement',
): Promise<PgBouncer> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-pgbouncer-'))
  await chmod(folder, 0o755)
  const port = await freePort()
  const server = new URL(databaseUrl)
  const ini = `[databases]
* = host=${server.hostname} port=${server.port || 5432}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
default_pool_size = 40
`
  // With auth_type any it logs in as one user.
  await writeFile(
    join(folder, 'pgbouncer.ini'),
    ini.replace('port=', `user=${server.username || 'postgres'} port=`),
  )
  // It refuses to run as root.
  const isRoot = process.getuid?.() === 0
  const own = [path, '-q', join(folder, 'pgbouncer.ini')]
  const [command, ...words] = isRoot ? ['runuser', '-u', 'postgres', '--', ...own] : own
  const child = spawn(command!, words, { stdio: ['ignore', 'ignore', 'pipe'] })
  const exited = once(child, 'exit')
  while (!(await accepts(port)) && child.exitCode === null) await pause(20)
  const url = new URL(databaseUrl)
  url.host = `127.0.0.1:${port}`
  return {
    url: url.href,
    async close() {
      child.kill('SIGTERM')
      await exited
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => (socket.destroy(), resolve(true)))
    socket.on('error', () => resolve(false))
  })
}
