/** Cuts the Redis connections of one test only: they are recognized by their database number. */
import type { Redis } from 'ioredis'
import { redisUrl } from './databases.ts'

/** The URL of Redis with a database number of its own (1 to 15): channels ignore it, but CLIENT LIST shows it. */
export function ownRedis(): string {
  const url = new URL(redisUrl)
  url.pathname = `/${1 + (process.pid % 15)}`
  return url.href
}

/** CLIENT KILL for every connection to this test's database but this one; returns how many there were. */
export async function cutRedis(redis: Redis): Promise<number> {
  const own = await redis.client('ID')
  const clients = String(await redis.client('LIST')).split('\n')
  const ids = clients
    .filter((row) => row.includes(` db=${redis.options.db ?? 0} `))
    .flatMap((row) => /^id=(\d+)/.exec(row)?.[1] ?? [])
    .filter((id) => id !== String(own))
  for (const id of ids) await redis.client('KILL', 'ID', id)
  return ids.length
}
