/** A server, or a balancer before it, that accepts a connection and resets it at once: an error for the caller, and no more. */
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { openSession } from '../../src/store/db/postgres/session.ts'
import { NoConnectionError } from '../../src/store/db/storage-error.ts'

const closers: (() => unknown)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

const ends = {
  'is reset at once': (socket: Socket) => socket.resetAndDestroy(),
  // Between the connection and the first bytes of the driver, which come with a timer.
  'is reset a moment later': (socket: Socket) => setTimeout(() => socket.resetAndDestroy(), 0),
  'is reset after the first bytes': (socket: Socket) => socket.once('data', () => socket.resetAndDestroy()),
  'is closed at once': (socket: Socket) => socket.end(),
}

test.each(Object.entries(ends))('a connection that %s ends only that try', async (_name, end) => {
  // An error without a listener would end the process.
  const uncaught: unknown[] = []
  const before = process.listeners('uncaughtException')
  process.removeAllListeners('uncaughtException')
  process.on('uncaughtException', (error) => uncaught.push(error))
  closers.push(() => {
    process.removeAllListeners('uncaughtException')
    for (const listener of before) process.on('uncaughtException', listener)
  })
  const server = createServer((socket) => void end(socket.on('error', () => {})))
  closers.push(() => server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const options = { applicationName: 'test', settings: {}, connectMs: 5000, silenceMs: 1000 }
  const url = `postgres://nobody@127.0.0.1:${port}/none`
  for (let i = 0; i < 100; i++)
    await expect(openSession({ ...options, url })).rejects.toBeInstanceOf(NoConnectionError)
  expect(uncaught).toEqual([])
})
