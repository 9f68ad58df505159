/** Token counts: sums of what providers reported, and estimates where they reported none. */
import type { Usage } from './port.ts'

/** Characters per token of ordinary text. A rule of thumb; the ratio of the latest reported usage replaces it. */
export const defaultCharsPerToken = 3.5

/** No tokens: the neutral element of `addUsage`. */
export function zeroUsage(): Usage {
  return {
    inputTokens: 0,
    cachedInputTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 0,
    reasoningTokens: 0,
    estimated: false,
  }
}

/** The sum. It is estimated if one of the two is. */
export function addUsage(a: Usage, b: Usage): Usage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    reasoningTokens: a.reasoningTokens + b.reasoningTokens,
    estimated: a.estimated || b.estimated,
  }
}

/** Estimated tokens in that many characters, rounded up. */
export function tokensIn(characters: number, charsPerToken: number = defaultCharsPerToken): number {
  return Math.ceil(characters / charsPerToken)
}

/** An estimated usage from the number of characters sent and received. */
export function estimatedUsage(inputCharacters: number, outputCharacters: number): Usage {
  return {
    ...zeroUsage(),
    inputTokens: tokensIn(inputCharacters),
    outputTokens: tokensIn(outputCharacters),
    estimated: true,
  }
}
