import { expect, test } from 'vitest'
import { addUsage, estimatedUsage, tokensIn, zeroUsage } from '../../../src/domain/models/usage.ts'

test('usages add up, and a sum with an estimate in it is an estimate', () => {
  const reported = {
    ...zeroUsage(),
    inputTokens: 10,
    cachedInputTokens: 4,
    cacheWriteTokens: 1,
    outputTokens: 5,
    reasoningTokens: 2,
  }
  expect(addUsage(reported, zeroUsage())).toEqual(reported)
  expect(addUsage(reported, estimatedUsage(35, 7))).toEqual({
    ...reported,
    inputTokens: 20,
    outputTokens: 7,
    estimated: true,
  })
})

test('an estimate is rounded up, and takes another ratio', () => {
  expect(tokensIn(1)).toBe(1)
  expect(tokensIn(100, 4)).toBe(25)
})
