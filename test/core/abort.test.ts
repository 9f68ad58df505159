/** Callbacks of abort signals. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { onAbort, withinTime } from '../../src/core/time.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

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

test('a time limit beside another signal comes, also when garbage was collected', async () => {
  const other = new AbortController()
  const signal = withinTime(50, other.signal)
  const fired = new Promise((resolve) => signal.addEventListener('abort', resolve))
  collectGarbage()
  await fired
  expect(signal.reason).toMatchObject({ name: 'TimeoutError' })
  const stopped = withinTime(60_000, other.signal)
  other.abort(new Error('enough'))
  expect(stopped.reason).toMatchObject({ message: 'enough' })
  expect(signal.reason).toMatchObject({ name: 'TimeoutError' })
})
