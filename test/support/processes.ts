/** Processes of the tests that are killed and frozen from outside, and free ports for them. */
import { randomInt } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { createServer } from 'node:net'

/** Below those that systems give to outgoing connections (RFC 6335, 6, and the lower ones of Linux), which take a free one at any time. */
const ports = { from: 10_100, to: 32_000 }

/** A port of loopback on which nothing listens at this moment, and which no outgoing connection gets. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(ports.from, ports.to)
    const server = createServer()
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false))
      server.listen(port, '127.0.0.1', () => resolve(true))
    })
    if (!isFree) continue
    await new Promise((resolve) => server.close(resolve))
    return port
  }
}

/** Sends a signal; to a process that has exited, nothing. */
export function signal(pid: number, name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT' = 'SIGKILL'): void {
  try {
    process.kill(pid, name)
  } catch {
    // The process has already exited.
  }
}

/** The processes whose parent this is, now. */
export function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && statOf(pid)?.parent === parent)
}

/** The process that started this one, as long as both run. */
export const parentOf = (pid: number): number | undefined => statOf(pid)?.parent

/** The command line of a process; empty when there is none. */
export function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}

/** Whether a process runs; one that only waits to be reaped does not. */
export function isAlive(pid: number): boolean {
  const state = statOf(pid)?.state
  return state !== undefined && state !== 'Z'
}

/** The state and parent of a process; undefined when there is none. */
function statOf(pid: number): { state: string; parent: number } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [state, parent] = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { state: state!, parent: Number(parent) }
  } catch {
    return undefined
  }
}

/**
 * Kills a process and its children, in this moment: it starts no child meanwhile. Resolves when all have ended.
 */
export async function killFamily(pid: number): Promise<void> {
  const family = freezeFamily(pid)
  for (const one of family) signal(one)
  while (family.some(isAlive)) await new Promise((resolve) => setTimeout(resolve, 5))
}

/** Stops a process and its children with SIGSTOP, the parent first; returns them. */
export function freezeFamily(pid: number): number[] {
  signal(pid, 'SIGSTOP')
  const family = [pid, ...childrenOf(pid)]
  for (const one of family) signal(one, 'SIGSTOP')
  return family
}
