/** Gatehouse as a child process: started, killed, frozen, stopped. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fewConnections } from './postgres-server.ts'

export interface Replica {
  pid: number
  /** Its URL, once `ready` has resolved. */
  url: string
  /** Resolves when it listens; rejects with its output when it exits before. */
  ready: Promise<void>
  /** Resolves when the process has exited. */
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  /** Its recent output, both streams. */
  output(): string
  /** SIGKILL: no handler runs. Resolves when the process has exited. */
  kill(): Promise<void>
  /** SIGSTOP: it does not run until `thaw`. */
  freeze(): void
  thaw(): void
  /** SIGTERM: it drains. Resolves with its exit code. */
  stop(): Promise<number | null>
}

const mostOutput = 20_000
/** How this process compiles WebAssembly, as vitest.config.ts has it. */
const engine = process.execArgv.filter((flag) => flag === '--liftoff-only')

/**
 * Starts `node <flags> <entry>` with these settings and nothing else of this environment, so that it never uses a key or a
 * database of the person who runs the test.
 */
export function startReplica(
  entry: string,
  settings: Record<string, string>,
  flags: readonly string[] = [],
): Replica {
  const kept = ['PATH', 'HOME', 'TMPDIR', 'LANG'].flatMap((name) =>
    process.env[name] === undefined ? [] : [[name, process.env[name]]],
  )
  const child = spawn(process.execPath, [...engine, ...flags, entry], {
    env: { ...Object.fromEntries(kept), GATEHOUSE_DATABASE_POOL: String(fewConnections), ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const exited = once(child, 'exit').then(
    ([code, signal]) => ({ code, signal }) as never,
  ) as Replica['exited']
  const replica: Replica = {
    pid: child.pid!,
    url: '',
    exited,
    output: () => output,
    ready: untilReady(
      child,
      (text) => (output = `${output}${text}`.slice(-mostOutput)),
      (url) => (replica.url = url),
    ),
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
    async stop() {
      child.kill('SIGTERM')
      return (await exited).code
    },
  }
  // A test that kills it during its start does not wait for `ready`.
  replica.ready.catch(() => {})
  return replica
}

function untilReady(
  child: ChildProcess,
  keep: (text: string) => string,
  found: (url: string) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const hear = (chunk: Buffer) => {
      const url = /GraphQL +(http:\/\/\S+)\/graphql/.exec(keep(chunk.toString()))?.[1]
      if (!url) return
      found(url)
      resolve()
    }
    child.stdout!.on('data', hear)
    child.stderr!.on('data', hear)
    child.once('close', (code, signal) =>
      reject(new Error(`It ended before it was ready (${signal ?? code}):\n${keep('')}`)),
    )
  })
}
