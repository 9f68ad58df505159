import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { ModelEvent } from '../../../../src/domain/models/port.ts'
import { watchStream } from '../../../../src/domain/generations/step/stream-timeout.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const limits = { firstChunkMs: 60_000, idleMs: 30_000, totalMs: 600_000 }

/** A stream with an event after each of these pauses, which then ends, or is silent for ever. */
async function* speaking(pauses: number[], end: 'ends' | 'hangs' = 'ends'): AsyncGenerator<ModelEvent> {
  for (const pause of pauses) {
    await new Promise((resolve) => setTimeout(resolve, pause))
    yield { type: 'text-delta', text: '.' }
  }
  if (end === 'hangs') await new Promise(() => {})
}

async function outcome(stream: AsyncIterable<ModelEvent>, abort = new AbortController()): Promise<any> {
  let events = 0
  const read = async () => {
    for await (const _ of watchStream(stream, limits, abort)) events++
  }
  const done = read().then(
    () => ({ events, aborted: abort.signal.aborted }),
    (error: Error) => ({ events, error, aborted: abort.signal.aborted }),
  )
  await vi.runAllTimersAsync()
  return done
}

test('a stream within its time limits passes through', async () => {
  expect(await outcome(speaking([59_000, 29_000, 29_000]))).toEqual({ events: 3, aborted: false })
  expect(vi.getTimerCount()).toBe(0)
})

test.each([
  ['firstChunkMs', speaking([61_000]), 0],
  ['firstChunkMs', speaking([], 'hangs'), 0],
  ['idleMs', speaking([59_000, 31_000]), 1],
  ['idleMs', speaking([1, 1], 'hangs'), 2],
  ['totalMs', speaking(Array.from({ length: 30 }, () => 25_000)), 23],
] as const)(
  '%s that passes aborts the attempt with a retryable error that names it',
  async (limit, stream, events) => {
    const result = await outcome(stream)
    expect(result).toMatchObject({ events, aborted: true })
    expect(result.error).toMatchObject({ name: 'ModelError', code: 'MODEL_UNAVAILABLE', retryable: true })
    expect(result.error.message).toContain(limit)
    expect(vi.getTimerCount()).toBe(0)
  },
)

test('an error of the stream itself passes through unchanged and aborts nothing', async () => {
  // eslint-disable-next-line require-yield
  async function* failing(): AsyncGenerator<ModelEvent> {
    throw new Error('mine')
  }
  const result = await outcome(failing())
  expect(result).toMatchObject({ events: 0, aborted: false })
  expect(result.error.message).toBe('mine')
})

test('the time that a reader needs for an event does not count as silence of the model', async () => {
  const read = async () => {
    for await (const _ of watchStream(speaking([1, 1, 1]), limits, new AbortController()))
      await new Promise((resolve) => setTimeout(resolve, 100_000))
    return 'all read'
  }
  const done = read()
  await vi.runAllTimersAsync()
  expect(await done).toBe('all read')
})

test('a reader that stops early ends the stream', async () => {
  let ended = false
  async function* endless(): AsyncGenerator<ModelEvent> {
    try {
      while (true) yield { type: 'progress' }
    } finally {
      ended = true
    }
  }
  for await (const _ of watchStream(endless(), limits, new AbortController())) break
  await vi.runAllTimersAsync()
  expect(ended).toBe(true)
  expect(vi.getTimerCount()).toBe(0)
})
