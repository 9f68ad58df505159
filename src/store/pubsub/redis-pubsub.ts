/** The pub/sub over Redis, when REDIS_URL is set. */
import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { wiredPubSub, type PubSub } from './pubsub.ts'

/** `channel` keeps installations that share a Redis apart. Reconnects by itself; while Redis is away hints are lost. */
export function redisPubSub(url: string, channel: string): Promise<PubSub> {
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
    return {
      maxBytes: 256 * 1024,
      send: (text) => publisher.publish(channel, text),
      close: async () => {
        publisher.disconnect()
        subscriber.disconnect()
      },
    }
  })
}
