/** Servers to compare with, each in a process of its own as the measured server is. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Usage } from './server.ts'

export type PeerName = 'plain-yoga' | 'sdk-bridge' | 'sdk-upstream' | 'http-service' | 'raw-broadcast'

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
  })
  const hear = async () => (await once(child, 'message'))[0] as unknown
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
      await once(child, 'exit')
    },
  }
}

/** In the process of a peer: listens with `server`, tells the parent its URL and responds to it. */
export function serveAsPeer(
  server: Server = createServer(),
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
  server.listen(0, '127.0.0.1', () =>
    process.send!(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
  )
}
