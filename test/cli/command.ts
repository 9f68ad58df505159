/** The built command line as a child process. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { buildServer } from '../support/build.ts'

export interface Running {
  /** Resolves when one of the outputs has this text; rejects when the command ends before. */
  until(text: string | RegExp): Promise<void>
  type(line: string): void
  /** Types without the end of a line. */
  write(text: string): void
  endInput(): void
  signal(name: NodeJS.Signals): void
  out(): string
  err(): string
  ended: Promise<number | null>
}

/** Starts `gatehouse <args>` with these settings and nothing else of this environment. */
export async function command(args: string[], env: Record<string, string> = {}): Promise<Running> {
  const built = await buildServer()
  const child = spawn(process.execPath, [built.command, ...args], {
    env: { PATH: process.env['PATH']!, HOME: process.env['HOME'] ?? '/', ...env },
  })
  return watched(child)
}

function watched(child: ChildProcessWithoutNullStreams): Running {
  let [out, err] = ['', '']
  let check = () => {}
  child.stdout.on('data', (chunk: Buffer) => ((out += chunk.toString()), check()))
  child.stderr.on('data', (chunk: Buffer) => ((err += chunk.toString()), check()))
  const ended = once(child, 'close').then(([code]) => code as number | null)
  const waits: { text: string | RegExp; resolve(): void }[] = []
  const has = (text: string | RegExp) =>
    [out, err].some((said) => (typeof text === 'string' ? said.includes(text) : text.test(said)))
  check = () => waits.filter(({ text }) => has(text)).forEach(({ resolve }) => resolve())
  return {
    until: (text) =>
      new Promise((resolve, reject) => {
        waits.push({ text, resolve })
        check()
        void ended.then((code) => reject(new Error(`It ended with ${code} before ${text}:\n${out}\n${err}`)))
      }),
    type: (line) => void child.stdin.write(`${line}\n`),
    write: (text) => void child.stdin.write(text),
    endInput: () => void child.stdin.end(),
    signal: (name) => void child.kill(name),
    out: () => out,
    err: () => err,
    ended,
  }
}

/** The same with its output and errors in a pseudo terminal of its own, or null where there is no `script` to make one. */
export async function terminal(args: string[], env: Record<string, string> = {}): Promise<Running | null> {
  if (process.platform !== 'linux' || !existsSync('/usr/bin/script')) return null
  const built = await buildServer()
  const line = [process.execPath, built.command, ...args].map((word) => `'${word}'`).join(' ')
  return watched(
    spawn('/usr/bin/script', ['-qfec', line, '/dev/null'], {
      env: { PATH: process.env['PATH']!, HOME: process.env['HOME'] ?? '/', ...env },
    }),
  )
}

/** Runs it to its end without input. */
export async function finished(args: string[], env: Record<string, string> = {}) {
  const running = await command(args, env)
  running.endInput()
  const code = await running.ended
  return { code, out: running.out(), err: running.err() }
}
