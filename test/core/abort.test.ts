/** Acting on a signal, whenever it fires. */
import { expect, test } from 'vitest'
import { onAbort } from '../../src/core/abort.ts'

test('calls back once when the signal fires, and not after it was told to forget', () => {
  const abort = new AbortController()
  const heard: string[] = []
  onAbort(abort.signal, () => heard.push('kept'))
  onAbort(abort.signal, () => heard.push('forgotten'))()
  expect(heard).toEqual([])
  abort.abort()
  abort.abort()
  expect(heard).toEqual(['kept'])
})

test('calls back at once when the signal has fired before', () => {
  let heard = 0
  const forget = onAbort(AbortSignal.abort(), () => heard++)
  expect(heard).toBe(1)
  forget()
})

test('without a signal nothing ever happens', () => {
  expect(() => onAbort(null, () => expect.unreachable())()).not.toThrow()
})
