/** The pub/sub over Redis, when REDIS_URL is set. */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { silentLog, type Log } from '../../core/log.ts'
import { selectDatabase } from '../redis-database.ts'
import { wiredPubSub, type PubSub } from './pubsub.ts'

const probeMs = 10_000

interface RedisPubSubOptions {
  /** Keeps installations that share a Redis apart. */
  channel: string
  log?: Pick<Log, 'warn' | 'info'>
  /** How often Redis is asked whether it still answers, in milliseconds. */
  everyMs?: number
}

/**
 * Connects, or goes on trying: while Redis is away hints are lost, and the log says why. Reconnects by itself, also when Redis
 * does not answer for `everyMs` on a connection that nobody has closed.
 */
export function redisPubSub(
  url: string,
  { channel, log = silentLog, everyMs = probeMs }: RedisPubSubOptions,
): Promise<PubSub> {
  return wiredPubSub(randomUUID(), async (onText, onReconnect) => {
    const options = {
      lazyConnect: true,
      maxRetriesPerRequest: 1,
      retryStrategy: (tries: number) => Math.min(2000, 50 * 2 ** tries),
    }
    const publisher = new Redis(url, { ...options, enableOfflineQueue: false })
    // The client's own resubscribing is not awaited: a connection lost meanwhile would be an unhandled rejection.
    const subscriber = new Redis(url, { ...options, autoResubscribe: false })
    const state = watchState(log)
    // Without a listener an outage would be an uncaught exception; reconnecting is the remedy.
    publisher.on('error', state.failed)
    subscriber.on('error', state.failed)
    subscriber.on('close', () => state.failed())
    subscriber.on('message', (_channel, text) => onText(text))
    let isFirst = true
    // What was sent before the subscription is back was missed. When subscribing fails, the next connection tries
    // again.
    const subscribe = () =>
      selectDatabase(subscriber)
        .then(() => subscriber.subscribe(channel))
        .then(() => {
          state.works()
          if (!isFirst) onReconnect()
          isFirst = false
        }, state.failed)
    subscriber.on('ready', () => void subscribe())
    const connected = Promise.all([publisher.connect(), subscriber.connect()])
    // It has said why, and goes on trying. One that says nothing is not waited for.
    const first = connected.then(state.settled, () => {})
    await Promise.race([first, pause(everyMs, undefined, { ref: false })])
    const probes = [keepProbing(publisher, everyMs), keepProbing(subscriber, everyMs)]
    return {
      maxBytes: 256 * 1024,
      send: (text) => publisher.publish(channel, text),
      isRedisUp: state.isUp,
      close: async () => {
        state.close()
        for (const stop of probes) stop()
        publisher.disconnect()
        subscriber.disconnect()
      },
    }
  })
}

/** Whether hints arrive, and one line in the log for each change. */
function watchState(log: Pick<Log, 'warn' | 'info'>) {
  let isUp: boolean | null = null
  let settle = () => {}
  const settled = new Promise<void>((resolve) => (settle = resolve))
  const become = (now: boolean, say: () => void) => {
    if (isUp !== now) say()
    isUp = now
    settle()
  }
  return {
    isUp: () => isUp === true,
    /** Resolves with the first subscription, or when there will be none for now. */
    settled: () => settled,
    works: () => become(true, () => isUp === false && log.info({}, 'Redis at REDIS_URL carries hints again')),
    failed: (error?: Error) =>
      become(false, () =>
        log.warn(
          { cause: error?.message ?? 'the connection was closed' },
          'Redis at REDIS_URL cannot be used: hints are lost, and events arrive later',
        ),
      ),
    close: () => (isUp = null),
  }
}

/**
 * Replaces a connection on which nothing comes back, as after a failover that closed none: the system would find out after
 * minutes for what is sent, and after hours for what is only awaited. Returns the function that ends it.
 */
function keepProbing(redis: Redis, everyMs: number): () => void {
  let isBusy = false
  const probe = async () => {
    if (isBusy || redis.status !== 'ready') return
    isBusy = true
    const answer = redis.ping().then(
      () => true,
      () => true,
    )
    const answers = await Promise.race([answer, pause(everyMs, false, { ref: false })])
    if (!answers && redis.status === 'ready') {
      const closed = new Promise((resolve) => redis.once('close', resolve))
      redis.disconnect(true)
      await closed
    }
    isBusy = false
  }
  const timer = setInterval(() => void probe(), everyMs).unref()
  return () => clearInterval(timer)
}
