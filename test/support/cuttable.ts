/** A connection that a test can cut: a TCP proxy on loopback in front of a server. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export interface Cuttable {
  /** The server's URL through this proxy, without a slash at the end. */
  url: string
  /** Closes all connections at once, in the middle of their data; returns how many there were. */
  cut(): number
  /** Closes all connections, and each new one until the returned function is called. */
  leave(): () => void
  close(): Promise<void>
}

/** Listens on a free port and forwards everything to the server at `target`, or at the one that each connection gets. */
export async function startCuttable(target: string | (() => string)): Promise<Cuttable> {
  const portOf = () => Number(new URL(typeof target === 'string' ? target : target()).port)
  const pairs = new Set<[Socket, Socket]>()
  let isAway = false
  const server = createServer((near) => {
    if (isAway) return void near.destroy()
    const pair: [Socket, Socket] = [near, connect(portOf(), '127.0.0.1')]
    pairs.add(pair)
    const end = () => {
      pairs.delete(pair)
      for (const socket of pair) socket.destroy()
    }
    for (const socket of pair) socket.on('error', end).on('close', end)
    pair[0].pipe(pair[1]).pipe(pair[0])
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cut = () => {
    const open = [...pairs]
    for (const [near, far] of open) {
      near.destroy()
      far.destroy()
    }
    return open.length
  }
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    leave() {
      isAway = true
      cut()
      return () => void (isAway = false)
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        cut()
      }),
  }
}
