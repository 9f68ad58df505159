/** Shared token buckets in Redis: a script takes a chunk, by the clock of Redis. */
import { Redis } from 'ioredis'
import { selectDatabase } from '../redis-database.ts'
import type { BucketStore } from './shared-buckets.ts'

const script = `
local capacity, perMs = tonumber(ARGV[1]), tonumber(ARGV[2])
local needed, chunk = tonumber(ARGV[3]), tonumber(ARGV[4])
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local known = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens = capacity
if known[1] then tokens = math.min(capacity, tonumber(known[1]) + math.max(0, now - tonumber(known[2])) * perMs) end
local granted = 0
if tokens >= needed then granted = math.min(chunk, tokens) end
tokens = tokens - granted
redis.call('HSET', KEYS[1], 'tokens', string.format('%.6f', tokens), 'at', string.format('%.3f', now))
redis.call('PEXPIRE', KEYS[1], math.ceil(capacity / perMs) + 1000)
return { string.format('%.6f', granted), string.format('%.6f', tokens) }
`

/**
 * `prefix` separates installations that share a Redis. While Redis is down, or has no database of the number that the address
 * names, every `take` rejects at once. A connection on which
 * nothing comes back for `silentMs`, as after a failover that closed none, is replaced.
 */
export function redisBuckets(url: string, prefix: string, silentMs = 5000): BucketStore {
  const redis = new Redis(url, {
    socketTimeout: silentMs,
    maxRetriesPerRequest: 1,
    enableOfflineQueue: false,
    retryStrategy: (tries: number) => Math.min(2000, 50 * 2 ** tries),
  })
  redis.on('error', () => {})
  let selected: Promise<void> | null = null
  redis.on('ready', () => {
    selected = selectDatabase(redis)
    selected.catch(() => {})
  })
  return {
    async take(name, { capacity, perMs }, needed, chunk) {
      await selected
      const reply = (await redis.eval(
        script,
        1,
        `${prefix}:rate:${name}`,
        capacity,
        perMs,
        needed,
        chunk,
      )) as string[]
      return { granted: Number(reply[0]), left: Number(reply[1]) }
    },
    close: async () => redis.disconnect(),
  }
}
