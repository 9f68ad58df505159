/** Counting tokens: adding up what providers reported, and estimating where none did. */
import type { Usage } from './port.ts'

/** Characters of ordinary text in one token. A rule of thumb, corrected by the last real ratio where there is one. */
export const defaultCharsPerToken = 3.5

/** Nothing used yet; the neutral element of `addUsage`. */
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

/** The sum. It is estimated as soon as one part of it is. */
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

/** Tokens in that many characters, rounded up. */
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
