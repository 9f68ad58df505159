/** The database of Redis that an address names by its number. */
import type { Redis } from 'ioredis'

/**
 * Selects the database of the address on a connection that is ready. Rejects when there is none of that number: the client
 * itself goes on in the first one. Sends nothing without a number, which a role may not be allowed to do.
 */
export async function selectDatabase(redis: Redis): Promise<void> {
  const number = Number(redis.options.db ?? 0)
  if (number !== 0) await redis.select(number)
}
