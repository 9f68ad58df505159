/** What a piece of asynchronous work carries along, and that the process follows promises only while one does. */
import { executionAsyncId } from 'node:async_hooks'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createCarrier } from '../../src/core/async-work.ts'

/** What is known of the promise that goes on here: 0 where promises are not followed. */
async function idAfterPromise(): Promise<number> {
  await turn()
  await Promise.resolve()
  return executionAsyncId()
}

test('work carries its own value across promises and timers, and nothing else does', async () => {
  const value = createCarrier<string>()
  const seen = async () => {
    await turn()
    return value.get()
  }
  const [one, other] = [value.run('one', seen), value.run('other', seen)]
  expect(await Promise.all([one.result, other.result, seen()])).toEqual(['one', 'other', null])
  one.done()
  const late = value.run('late', async () => [await value.without(seen), await seen()])
  other.done()
  expect(await late.result).toEqual([null, 'late'])
  late.done()
  expect(await value.without(seen)).toBeNull()
})

test('promises are followed only while some work carries a value', async () => {
  const value = createCarrier<string>()
  expect(await idAfterPromise()).toBe(0)
  expect(await value.without(idAfterPromise)).toBe(0)
  const [one, other] = [value.run('one', idAfterPromise), value.run('other', idAfterPromise)]
  await Promise.all([one.result, other.result])
  one.done()
  const still = value.run('again', async () => {
    await turn()
    return value.get()
  })
  other.done()
  expect(await still.result).toBe('again')
  still.done()
  expect(await idAfterPromise()).toBe(0)
})
