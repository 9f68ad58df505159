/** What tokens cost at the prices of their models. Pure. */
import type { ModelPrice } from './model-prices.ts'

/** Tokens that one model read, from a cache of its provider or not, and wrote. */
export interface TokenCounts {
  inputTokens: number
  cachedInputTokens: number
  outputTokens: number
}

/** Money and what is missing in it. */
export interface Costs {
  /** US dollars, of the models that have a price. */
  cost: number
  /** Tokens of the models that have none. */
  unpricedTokens: number
}

/** Adds what these tokens of one model cost to `costs`. */
export function addCosts(costs: Costs, tokens: TokenCounts, price: ModelPrice | undefined): void {
  if (price) costs.cost += costOf(tokens, price)
  else costs.unpricedTokens += tokens.inputTokens + tokens.outputTokens
}

/** US dollars. The tokens that were read from a cache are part of those that were read. */
export function costOf(
  { inputTokens, cachedInputTokens, outputTokens }: TokenCounts,
  price: ModelPrice,
): number {
  const cached = Math.min(cachedInputTokens, inputTokens)
  const million = (inputTokens - cached) * price.input + cached * price.cachedInput
  return (million + outputTokens * price.output) / 1_000_000
}
