/** Servers to compare with, each in a process of its own as the measured server is. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Usage } from './server.ts'

export type PeerName =
  | 'plain-yoga'
  | 'sdk-bridge'
  | 'sdk-upstream'
  | 'http-service'
  | 'raw-broadcast'
  | 'model'
  | 'framework'

export interface Peer {
  url: string
  usage(): Promise<Usage>
  /** Runs the peer's own action with this argument, and resolves when it is done. */
  act(argument: string): Promise<void>
  close(): Promise<void>
}

/** Starts `bench/peers/<name>.ts` with one argument. */
export async function startPeer(name: PeerName, argument = ''): Promise<Peer> {
  const child = fork(new URL(`peers/${name}.ts`, import.meta.url), [argument], {
    env: { ...process.env, NODE_ENV: 'production' },
    execArgv: ['--import', 'tsx'],
  })
  const ended = once(child, 'exit').then(() => Promise.reject(new Error(`The peer ${name} has ended.`)))
  ended.catch(() => {})
  const hear = async () => (await Promise.race([once(child, 'message'), ended]))[0] as unknown
  const say = (message: object) => {
    const heard = hear()
    child.send(message)
    return heard
  }
  return {
    url: (await hear()) as string,
    usage: async () => (await say({ ask: 'usage' })) as Usage,
    act: async (done) => void (await say({ ask: 'act', argument: done })),
    async close() {
      child.kill()
      await ended.catch(() => {})
    },
  }
}

/** In the process of a peer: listens with `server`, or has its URL when it listens already; tells the parent and responds to it. */
export function serveAsPeer(
  server: Server | string = createServer(),
  act: (argument: string) => void = () => {},
): void {
  process.on('message', (message: { ask: string; argument: string }) => {
    if (message.ask === 'act') {
      act(message.argument)
      process.send!('done')
      return
    }
    const { user, system } = process.cpuUsage()
    process.send!({ cpuMs: (user + system) / 1000, rss: process.memoryUsage().rss } satisfies Usage)
  })
  process.on('disconnect', () => process.exit(0))
  if (typeof server === 'string') {
    process.send!(server)
    return
  }
  server.listen(0, '127.0.0.1', () =>
    process.send!(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
  )
}
