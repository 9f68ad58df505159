/** Callbacks of abort signals. */
import { expect, test } from 'vitest'
import { onAbort } from '../../src/core/abort.ts'

test('calls back once when the signal fires, and not after the listener was removed', () => {
  const abort = new AbortController()
  const calls: string[] = []
  onAbort(abort.signal, () => calls.push('kept'))
  onAbort(abort.signal, () => calls.push('removed'))()
  expect(calls).toEqual([])
  abort.abort()
  abort.abort()
  expect(calls).toEqual(['kept'])
})

test('calls back at once when the signal has already fired', () => {
  let calls = 0
  const remove = onAbort(AbortSignal.abort(), () => calls++)
  expect(calls).toBe(1)
  remove()
})

test('without a signal it never calls back', () => {
  expect(() => onAbort(null, () => expect.unreachable())()).not.toThrow()
})
