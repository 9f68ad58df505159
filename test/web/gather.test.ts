/** Reads that follow events: how many there are, and that none is lost. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { gatherReads } from '../../web/src/api/gather.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A read that takes this many milliseconds; `begun` counts. */
function slow(ms: number) {
  const reads = { begun: 0, atOnce: 0, most: 0 }
  const read = async () => {
    reads.begun++
    reads.most = Math.max(reads.most, ++reads.atOnce)
    await new Promise((resolve) => setTimeout(resolve, ms))
    reads.atOnce--
    return null
  }
  return { reads, read }
}

test('events that come close together are answered by one read', async () => {
  const { reads, read } = slow(10)
  const { ask } = gatherReads(read, 150)
  for (let i = 0; i < 20; i++) ask()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(reads.begun).toBe(1)
})

test('a stream of events without a pause is followed, one read at a time', async () => {
  const { reads, read } = slow(400)
  const { ask } = gatherReads(read, 150)
  for (let i = 0; i < 100; i++) {
    ask()
    await vi.advanceTimersByTimeAsync(50)
  }
  expect(reads.begun).toBeGreaterThanOrEqual(8)
  expect(reads.most).toBe(1)
})

test('an event during a read has a read after it', async () => {
  const { reads, read } = slow(100)
  const { now, ask } = gatherReads(read, 150)
  now()
  await vi.advanceTimersByTimeAsync(50)
  ask()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(reads.begun).toBe(2)
})

test('nothing is read after it was stopped', async () => {
  const { reads, read } = slow(100)
  const { now, ask, stop } = gatherReads(read, 150)
  now()
  ask()
  stop()
  ask()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(reads.begun).toBe(1)
})

test('a read that failed for now is tried again by itself, until it does not fail', async () => {
  const again = [2_000, 2_000, null]
  const begun: number[] = []
  const { now } = gatherReads(async () => {
    begun.push(Date.now())
    return again[begun.length - 1]!
  }, 150)
  now()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(begun.map((at) => at - begun[0]!)).toEqual([0, 2_000, 4_000])
})

test('a read that failed for now is not tried again after it was stopped', async () => {
  let begun = 0
  const { now, stop } = gatherReads(async () => {
    begun++
    return 2_000
  }, 150)
  now()
  await vi.advanceTimersByTimeAsync(100)
  stop()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(begun).toBe(1)
})

test('a press does not wait for the next try', async () => {
  let begun = 0
  const { now } = gatherReads(async () => (++begun === 1 ? 30_000 : null), 150)
  now()
  await vi.advanceTimersByTimeAsync(100)
  now()
  await vi.advanceTimersByTimeAsync(0)
  expect(begun).toBe(2)
  await vi.advanceTimersByTimeAsync(60_000)
  expect(begun).toBe(2)
})
