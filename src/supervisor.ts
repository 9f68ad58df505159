/**
 * A first start in a terminal runs the server as a child process, so that the tour can kill it and it comes back. What the demo
 * calls lives here, outside of what is killed.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import type { Config } from './config.ts'
import { startDemoUpstream } from './demo/upstream.ts'

/** What the server's process is given by the one that supervises it. */
export interface Supervisor {
  /** The URL of the demo's upstream. */
  upstreamUrl: string
  /** Has this process killed with SIGKILL, and another one started in its place. */
  kill(): void
  /** Calls `stop` when the supervising process is asked to stop, or is gone. */
  onStop(stop: () => void): void
}

/** Followed by the URL of the upstream. */
const flag = '--supervised'

/**
 * Whether this start has the whole tour: somebody looks at its terminal, no other process uses its embedded database, and the
 * next process can listen at the same port.
 */
export const canSupervise = ({ demo, production, databaseUrl, role, port }: Config): boolean =>
  demo && !production && databaseUrl === null && role === 'all' && port !== 0 && process.stdout.isTTY

/** The process that supervises this one; null when none does. */
export function findSupervisor(): Supervisor | null {
  const at = process.argv.indexOf(flag)
  const upstreamUrl = process.argv[at + 1]
  if (at < 0 || upstreamUrl === undefined || !process.send) return null
  return {
    upstreamUrl,
    kill: () => process.send!('kill'),
    onStop(stop) {
      // A terminal sends it to both: the other process says when it is time.
      process.on('SIGINT', () => {})
      process.once('message', stop)
      process.once('disconnect', stop)
    },
  }
}

/** How long the answer to the request that kills has to leave, in milliseconds. */
const answerMs = 100

/** Starts the server, again after each kill of the tour; ends with its exit code, and stops it when asked to. */
export async function supervise(config: Config): Promise<void> {
  const upstream = await startDemoUpstream(config)
  let isStopping = false
  const start = (): ChildProcess => {
    const args = [...process.execArgv, ...process.argv.slice(1), flag, upstream.url]
    const server = spawn(process.execPath, args, { stdio: ['inherit', 'inherit', 'inherit', 'ipc'] })
    let isKilled = false
    server.on('message', () => {
      isKilled = true
      setTimeout(() => server.kill('SIGKILL'), answerMs)
    })
    server.once('exit', (code) => {
      if (!isKilled || isStopping) process.exit(code ?? 1)
      child = start()
    })
    return server
  }
  let child = start()
  for (const name of ['SIGTERM', 'SIGINT'] as const)
    process.on(name, () => {
      // Asked twice, it waits no longer.
      if (isStopping) child.kill('SIGKILL')
      else if (child.connected) child.send('stop')
      isStopping = true
    })
}
