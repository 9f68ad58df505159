/** Token buckets when the clock is set back. */
import { expect, test } from 'vitest'
import { createBuckets, perMinute } from '../../src/core/buckets.ts'
import { silentLog } from '../../src/core/log.ts'
import { createSharedBuckets } from '../../src/store/rates/shared-buckets.ts'

const hourMs = 3_600_000
const rule = perMinute(60)

test('a bucket is filled from the new time on', () => {
  const buckets = createBuckets(10)
  expect(buckets.take('a', rule, 60, hourMs)).toBe(0)
  expect(buckets.take('a', rule, 1, 0)).toBe(1000)
  expect(buckets.take('a', rule, 1, 1000)).toBe(0)
})

test('a shared bucket that was empty is asked again', async () => {
  let [now, isEmpty] = [hourMs, true]
  const store = {
    take: async () => (isEmpty ? { granted: 0, left: 0 } : { granted: 1, left: 0 }),
    close: async () => {},
  }
  const buckets = createSharedBuckets({ now: () => now }, silentLog, store)
  expect(await buckets.take('a', rule, 1)).toBe(1000)
  now = 0
  isEmpty = false
  expect(await buckets.take('a', rule, 1)).toBe(0)
})
