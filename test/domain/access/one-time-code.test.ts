/** A code is accepted once, and only while it is valid. */
import { expect, test } from 'vitest'
import { createOneTimeCode } from '../../../src/domain/sign-in/index.ts'

test('a code is accepted once', () => {
  const made = createOneTimeCode({ now: () => 0 }, 1000)
  expect([made.spend(''), made.spend(`${made.code}x`)]).toEqual([false, false])
  expect([made.spend(made.code), made.spend(made.code)]).toEqual([true, false])
})

test('a code is refused after its time', () => {
  let now = 0
  const [late, inTime] = [1, 2].map(() => createOneTimeCode({ now: () => now }, 1000))
  now = 1000
  expect(inTime!.spend(inTime!.code)).toBe(true)
  now = 1001
  expect(late!.spend(late!.code)).toBe(false)
})
