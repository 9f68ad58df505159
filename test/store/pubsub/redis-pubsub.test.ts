/** Connections to Redis that are cut, or die without a word. */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Hint, PubSub } from '../../../src/store/pubsub/pubsub.ts'
import { redisPubSub } from '../../../src/store/pubsub/redis-pubsub.ts'
import { redisBuckets } from '../../../src/store/rates/redis-buckets.ts'
import { hasRedis } from '../../support/databases.ts'
import { ownRedis } from '../../support/redis-cut.ts'

test.skipIf(!hasRedis)('tells of a reconnection when it is subscribed again, not before', async () => {
  await using wire = await startHolding()
  const channel = `gatehouse-test:${randomUUID()}`
  const pubsub = await redisPubSub(wire.url, { channel })
  const other = await redisPubSub(ownRedis(), { channel })
  const heard: Hint[] = []
  const news = new Promise<Hint>((resolve) =>
    pubsub.subscribe((hint) => hint.kind === 'work' && resolve(hint)),
  )
  const back = new Promise<void>((resolve) =>
    pubsub.subscribe((hint) => {
      heard.push(hint)
      if (hint.kind === 'reconnected') resolve()
    }),
  )
  const release = await wire.cutAndHold()
  expect(heard).toEqual([])
  release()
  await back
  other.publish([{ kind: 'work', table: 'generations' }])
  expect(await news).toEqual({ kind: 'work', table: 'generations' })
  await Promise.all([pubsub.close(), other.close()])
})

test.skipIf(!hasRedis)('closes while it subscribes again, and nobody is left with a rejection', async () => {
  await using wire = await startHolding()
  const unhandled: unknown[] = []
  const keep = (reason: unknown) => void unhandled.push(reason)
  process.on('unhandledRejection', keep)
  try {
    const pubsub = await redisPubSub(wire.url, { channel: `gatehouse-test:${randomUUID()}` })
    await wire.cutAndHold()
    await pubsub.close()
    await wire.empty()
    expect(unhandled).toEqual([])
  } finally {
    process.off('unhandledRejection', keep)
  }
})

test.skipIf(!hasRedis)(
  'replaces connections on which nothing comes back although nobody has closed them',
  async () => {
    await using wire = await startHolding()
    const channel = `gatehouse-test:${randomUUID()}`
    const pubsub = await redisPubSub(wire.url, { channel, everyMs: 100 })
    const other = await redisPubSub(ownRedis(), { channel })
    const at = (one: PubSub, id: string) =>
      new Promise<void>((resolve) =>
        one.subscribe((hint) => hint.kind === 'signal' && hint.id === id && resolve()),
      )
    const back = new Promise<void>((resolve) =>
      pubsub.subscribe((hint) => hint.kind === 'reconnected' && resolve()),
    )
    wire.freeze()
    pubsub.publish([{ kind: 'signal', name: 'cancel', id: 'lost' }])
    await back
    const [here, there] = [at(pubsub, 'to here'), at(other, 'to there')]
    const timer = setInterval(() => pubsub.publish([{ kind: 'signal', name: 'cancel', id: 'to there' }]), 20)
    other.publish([{ kind: 'signal', name: 'cancel', id: 'to here' }])
    await Promise.all([here, there]).finally(() => clearInterval(timer))
    await Promise.all([pubsub.close(), other.close()])
  },
)

test.skipIf(!hasRedis)('rate limits are shared again after a connection died without a word', async () => {
  await using wire = await startHolding()
  const buckets = redisBuckets(wire.url, `gatehouse-test:${randomUUID()}`, 100)
  const take = () => buckets.take('one', { capacity: 10, perMs: 1e-6 }, 1, 1).catch(() => null)
  await expect.poll(take).toMatchObject({ granted: 1 })
  wire.freeze()
  void take()
  await expect.poll(() => Promise.race([take(), pause(50, null)])).toMatchObject({ granted: 1 })
  await buckets.close()
})

/** A wire to Redis that can be cut, and that keeps the next subscription back until it is released. */
async function startHolding() {
  const redis = new URL(ownRedis())
  const sockets = new Set<Socket>()
  let holding: ((release: () => void) => void) | null = null
  const server = createServer((near) => {
    const far = connect(Number(redis.port || 6379), redis.hostname)
    const pair = [near, far]
    for (const socket of pair) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        for (const one of pair) one.destroy()
      })
    }
    far.pipe(near)
    near.on('data', (chunk: Buffer) => {
      const pass = () => void far.write(chunk)
      if (!holding || !/subscribe/i.test(chunk.toString())) return pass()
      holding(pass)
      holding = null
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const empty = () => Promise.all([...sockets].map((socket) => once(socket, 'close')))
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}${redis.pathname}`,
    /** Resolves with the release when the next subscription is on its way. */
    cutAndHold: () =>
      new Promise<() => void>((resolve) => {
        holding = resolve
        for (const socket of sockets) socket.destroy()
      }),
    /** From now on nothing passes on the connections that there are. */
    freeze() {
      for (const socket of sockets) socket.removeAllListeners('data').unpipe().pause()
    },
    /** Resolves when no connection is left. */
    empty,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await empty()
      server.close()
    },
  }
}
