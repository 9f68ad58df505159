/** Calls in flight: started in order, at most so many at once, and `idle` rejects with the first failure. */
import { expect, test } from 'vitest'
import { inFlightCalls } from '../../../../src/domain/generations/transaction/turn.ts'
import type { ToolCall } from '../../../../src/domain/tool-calls/index.ts'

const calls = (...ids: string[]) => ids.map((id) => ({ id }) as ToolCall)

/** Runs that end when the test says so. */
function controlledRuns() {
  const begun: string[] = []
  const ends = new Map<string, { resolve: () => void; reject: (error: Error) => void }>()
  const run = ({ id }: ToolCall) => {
    begun.push(id)
    return new Promise<void>((resolve, reject) => ends.set(id, { resolve, reject }))
  }
  const settled = () => new Promise((resolve) => setImmediate(resolve))
  return {
    begun,
    run,
    async end(id: string) {
      ends.get(id)!.resolve()
      await settled()
    },
    async fail(id: string) {
      ends.get(id)!.reject(new Error(id))
      await settled()
    },
  }
}

test('at most so many run at once, in order, and the next starts when one has ended', async () => {
  const { begun, run, end } = controlledRuns()
  const hand = inFlightCalls()
  hand.add(calls('a', 'b', 'c'), 2, run)
  expect(begun).toEqual(['a', 'b'])
  expect([...hand.ids]).toEqual(['a', 'b', 'c'])
  await end('b')
  expect(begun).toEqual(['a', 'b', 'c'])
  expect([...hand.ids]).toEqual(['a', 'c'])
})

test('calls added later share the concurrency, and idle waits for all of them', async () => {
  const { begun, run, end } = controlledRuns()
  const hand = inFlightCalls()
  hand.add(calls('a'), 2, run)
  let idle = false
  const waiting = hand.idle().then(() => (idle = true))
  hand.add(calls('b', 'c'), 2, run)
  expect(begun).toEqual(['a', 'b'])
  await end('a')
  await end('b')
  expect(idle).toBe(false)
  await end('c')
  await waiting
  expect(hand.ids.size).toBe(0)
})

test('with a concurrency of one, calls run one after the other', async () => {
  const { begun, run, end } = controlledRuns()
  const hand = inFlightCalls()
  hand.add(calls('a'), 1, run)
  hand.add(calls('b'), 1, run)
  expect(begun).toEqual(['a'])
  await end('a')
  expect(begun).toEqual(['a', 'b'])
})

test('a failure drops calls that have not started, lets the others end, and is thrown by idle', async () => {
  const { begun, run, end, fail } = controlledRuns()
  const hand = inFlightCalls()
  hand.add(calls('a', 'b', 'c'), 2, run)
  const idle = hand.idle()
  let over = false
  void idle.catch(() => (over = true))
  await fail('a')
  expect([begun, [...hand.ids], over]).toEqual([['a', 'b'], ['b'], false])
  await end('b')
  await expect(idle).rejects.toThrow('a')
  await expect(hand.idle()).rejects.toThrow('a')
})

test('without calls in flight, idle resolves at once', async () => {
  await inFlightCalls().idle()
})
