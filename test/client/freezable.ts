/** A TCP proxy whose open connections can fall silent without being closed, as those of a machine that slept. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export interface Freezable {
  url: string
  /** From now on nothing passes through the connections that are open; later ones are served. */
  freeze(): void
  connections(): number
  close(): Promise<void>
}

export async function startFreezable(target: string): Promise<Freezable> {
  const open = new Set<Socket>()
  let count = 0
  const server = createServer((near) => {
    count++
    const far = connect(Number(new URL(target).port), '127.0.0.1')
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(from)
      from.pipe(to)
      from.on('error', () => to.destroy()).on('close', () => open.delete(from))
    }
  })
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    freeze: () => {
      for (const socket of open) socket.unpipe().pause()
    },
    connections: () => count,
    close: () =>
      new Promise((resolve) => {
        for (const socket of open) socket.destroy()
        server.close(() => resolve())
      }),
  }
}
