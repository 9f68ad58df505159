/** The pub/sub over Redis, when REDIS_URL is set. */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { wiredPubSub, type PubSub } from './pubsub.ts'

/** How often Redis is asked whether it still answers, in milliseconds. */
const probeMs = 10_000

/**
 * `channel` keeps installations that share a Redis apart. Reconnects by itself, also when Redis does not answer for
 * `everyMs` on a connection that nobody has closed; while Redis is away hints are lost.
 */
export function redisPubSub(url: string, channel: string, everyMs = probeMs): Promise<PubSub> {
  return wiredPubSub(randomUUID(), async (onText, onReconnect) => {
    const options = {
      lazyConnect: true,
      maxRetriesPerRequest: 1,
      retryStrategy: (tries: number) => Math.min(2000, 50 * 2 ** tries),
    }
    const publisher = new Redis(url, { ...options, enableOfflineQueue: false })
    // The client's own resubscribing is not awaited: a connection lost meanwhile would be an unhandled rejection.
    const subscriber = new Redis(url, { ...options, autoResubscribe: false })
    // Without a listener an outage would be an uncaught exception; reconnecting is the remedy.
    publisher.on('error', () => {})
    subscriber.on('error', () => {})
    await Promise.all([publisher.connect(), subscriber.connect()])
    subscriber.on('message', (_channel, text) => onText(text))
    await subscriber.subscribe(channel)
    // What was sent before the subscription is back was missed. When subscribing fails, the next connection tries
    // again.
    subscriber.on('ready', () => void subscriber.subscribe(channel).then(onReconnect, () => {}))
    const probes = [keepProbing(publisher, everyMs), keepProbing(subscriber, everyMs)]
    return {
      maxBytes: 256 * 1024,
      send: (text) => publisher.publish(channel, text),
      close: async () => {
        for (const stop of probes) stop()
        publisher.disconnect()
        subscriber.disconnect()
      },
    }
  })
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
