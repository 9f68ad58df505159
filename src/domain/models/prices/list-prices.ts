/** List prices of models, as a beginning. Data: what a project sets itself goes before them. */

/** US dollars for a million tokens. */
export interface Rates {
  input: number
  /** Tokens that the provider read from its cache. */
  cachedInput: number
  output: number
}

/** The day that the list is of. Vendors change their prices, and nothing compares the list with theirs. */
export const listedAt = '2025-10-31'

/** By `provider/model`, of the providers of the environment; a name may end in the date of a release. */
const listed: Record<string, readonly [input: number, cachedInput: number, output: number]> = {
  'openai/gpt-5': [1.25, 0.125, 10],
  'openai/gpt-5-mini': [0.25, 0.025, 2],
  'openai/gpt-5-nano': [0.05, 0.005, 0.4],
  'openai/gpt-4.1': [2, 0.5, 8],
  'openai/gpt-4.1-mini': [0.4, 0.1, 1.6],
  'openai/gpt-4.1-nano': [0.1, 0.025, 0.4],
  'openai/gpt-4o': [2.5, 1.25, 10],
  'openai/gpt-4o-mini': [0.15, 0.075, 0.6],
  'anthropic/claude-opus-4-1': [15, 1.5, 75],
  'anthropic/claude-sonnet-4-5': [3, 0.3, 15],
  'anthropic/claude-sonnet-4': [3, 0.3, 15],
  'anthropic/claude-haiku-4-5': [1, 0.1, 5],
  'google/gemini-2.5-pro': [1.25, 0.31, 10],
  'google/gemini-2.5-flash': [0.3, 0.075, 2.5],
  'google/gemini-2.5-flash-lite': [0.1, 0.025, 0.4],
  'builtin/rehearsal': [0, 0, 0],
}

/** The list price of a model; null for one that is not listed. */
export function listPriceOf(model: string): Rates | null {
  const found = Object.hasOwn(listed, model) ? listed[model] : listed[withoutDate(model)]
  if (!found) return null
  const [input, cachedInput, output] = found
  return { input, cachedInput, output }
}

/** `gpt-4o-2024-08-06` and `claude-sonnet-4-20250514` are releases of `gpt-4o` and `claude-sonnet-4`. */
const withoutDate = (model: string): string => model.replace(/-20\d{2}-?\d{2}-?\d{2}$/, '')
