/** What a stream holds is given back however it ends. */
import { expect, test } from 'vitest'
import { untilRevoked } from '../../../src/domain/access/index.ts'

const ctx = {
  principal: {} as never,
  revocations: { onRevoked: () => () => {}, close() {} },
}

test('a stream that fails between two items is closed, and gives nothing behind the gap', async () => {
  const items: (number | Error)[] = [1, new Error('the database is away'), 3]
  const stream = untilRevoked<number>(ctx, {
    next: async () => {
      const item = items.shift()
      if (item instanceof Error) throw item
      return item === undefined ? { done: true, value: undefined } : { done: false, value: item }
    },
    return: async () => {
      items.length = 0
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  })
  expect(await stream.next()).toEqual({ done: false, value: 1 })
  await expect(stream.next()).rejects.toThrow('the database is away')
  expect(await stream.next()).toEqual({ done: true, value: undefined })
})
