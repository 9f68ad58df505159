import { expect, test } from 'vitest'
import fc from 'fast-check'
import { retryDelay, retryRules } from '../../../../src/domain/generations/step/tries.ts'

test('the pauses grow, with full jitter from half a second up', () => {
  const between = (attempt: number) =>
    [0, 1].map((dice) => retryDelay({ attempt, retryAfterMs: null, random: () => dice })!.delayMs)
  expect([1, 2, 3].map(between)).toEqual([
    [500, 2_000],
    [500, 8_000],
    [500, 30_000],
  ])
})

test('after the fourth attempt there is no other', () => {
  for (const retryAfterMs of [null, 10, 90_000])
    expect(retryDelay({ attempt: 4, retryAfterMs, random: () => 0.5 })).toBeNull()
})

test('a worker does not hold the generation during a pause of more than a minute', () => {
  const plan = (retryAfterMs: number) => retryDelay({ attempt: 1, retryAfterMs, random: () => 0 })
  expect(plan(60_000)).toEqual({ delayMs: 60_000, requeue: false })
  expect(plan(60_001)).toEqual({ delayMs: 60_001, requeue: true })
})

test('a provider that asks for no pause gets the ordinary one', () => {
  expect(retryDelay({ attempt: 1, retryAfterMs: 0, random: () => 0 })).toEqual({
    delayMs: 500,
    requeue: false,
  })
})

test('a retry-after is a lower bound, and nothing else leaves the bounds', () => {
  const dice = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
  const asked = fc.option(fc.integer({ min: 0, max: 86_400_000 }))
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 3 }), asked, dice, (attempt, retryAfterMs, random) => {
      const { delayMs, requeue } = retryDelay({ attempt, retryAfterMs, random: () => random })!
      const wanted = retryAfterMs ?? 0
      expect(delayMs).toBeGreaterThanOrEqual(Math.max(wanted, retryRules.minDelayMs))
      expect(delayMs).toBeLessThanOrEqual(Math.max(wanted + 5_000, retryRules.maxDelayMs))
      expect(requeue).toBe(wanted > retryRules.longestHoldMs)
    }),
  )
})
