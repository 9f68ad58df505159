/** Codex behind another program: its app-server, driven over stdio as editors do. */
import { spawn } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { join } from 'node:path'
import { codingAgent } from '../../../support/peers.ts'
import type { Place } from './programs.ts'

export interface AppServer {
  /** Starts a turn in a thread that may do everything, but asks about each command by this policy. */
  work(approvalPolicy: 'untrusted' | 'never'): Promise<void>
  /** The commands that it has asked its client about: a prompt of its own. */
  prompts(): any[]
  /** The outcomes of its hooks: their event, status and errors. */
  hooks(): any[]
  /** Answers the newest prompt. */
  answer(decision: 'accept' | 'decline'): void
  /** Resolves when the turn has ended. */
  ended: Promise<void>
  close(): Promise<void>
}

/** Starts it in a place, with every hook there trusted as its user does: by the hash that it gives. */
export async function openAppServer(place: Place): Promise<AppServer> {
  const config = join(place.home, '.codex/config.toml')
  const first = connect(place)
  const { data } = await first.ask('hooks/list', { cwds: [place.work] })
  await first.close()
  const trusted = data[0].hooks.map(
    ({ key, currentHash }: any) => `\n[hooks.state."${key}"]\ntrusted_hash = "${currentHash}"\n`,
  )
  await writeFile(config, (await readFile(config, 'utf8')) + trusted.join(''))
  const { ask, send, seen, heard, close } = connect(place)
  const prompts = () => seen.filter(({ method }) => method?.endsWith('/requestApproval'))
  return {
    async work(approvalPolicy) {
      const settings = { cwd: place.work, approvalPolicy, sandbox: 'danger-full-access', model: 'm' }
      const { thread } = await ask('thread/start', settings)
      await ask('turn/start', { threadId: thread.id, input: [{ type: 'text', text: 'do it' }] })
    },
    prompts,
    hooks: () =>
      seen
        .filter(({ method }) => method === 'hook/completed')
        .map(({ params: { run } }) => [
          run.eventName,
          run.status,
          ...run.entries.map(({ text }: { text: string }) => text),
        ]),
    answer: (decision) => send({ id: prompts().at(-1)!.id, result: { decision } }),
    ended: heard(({ method }) => method === 'turn/completed').then(() => {}),
    close,
  }
}

/** A connection over which both sides ask, each line a message. */
function connect({ work, env }: Place) {
  const child = spawn(codingAgent('codex')!, ['app-server'], {
    cwd: work,
    env,
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true,
  })
  const seen: any[] = []
  const waiting = new Set<() => void>()
  const gone = new Promise<void>((resolve) => child.on('close', () => resolve()))
  createInterface({ input: child.stdout }).on('line', (line) => {
    seen.push(JSON.parse(line))
    for (const look of waiting) look()
  })
  const send = (message: object) =>
    void child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const heard = (isMeant: (message: any) => boolean) =>
    new Promise<any>((resolve) => {
      const look = () => {
        const found = seen.find(isMeant)
        if (!found) return
        waiting.delete(look)
        resolve(found)
      }
      waiting.add(look)
      look()
    })
  let asked = 0
  const call = async (method: string, params: object) => {
    const id = ++asked
    send({ id, method, params })
    const { result, error } = await heard((message) => message.id === id && message.method === undefined)
    if (error) throw new Error(`${method}: ${JSON.stringify(error)}`)
    return result
  }
  const begun = call('initialize', { clientInfo: { name: 'judge', version: '1' } }).then(() =>
    send({ method: 'initialized' }),
  )
  return {
    seen,
    send,
    heard,
    ask: (method: string, params: object) => begun.then(() => call(method, params)),
    async close() {
      // Its hooks are in its group.
      if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, 'SIGKILL')
      await gone
    },
  }
}
