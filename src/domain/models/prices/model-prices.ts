/** What models cost: the prices that a project has set, else list prices, and what tokens cost at them. */
import { optional, part } from '../../../core/shapes.ts'
import { and, eq, inArray } from 'drizzle-orm'
import { z } from 'zod'
import { text } from '../../../core/check.ts'
import { writeJson } from '../../../core/json.ts'
import { atomically, type Database } from '../../../store/db/database.ts'
import { sql, type SQL } from '../../../store/db/sql.ts'
import { modelPrices } from '../../../store/db/tables/generations.ts'
import {
  assertMay,
  assertQuota,
  projectOf,
  publishNews,
  recordChange,
  inProject,
  operation,
  deletion,
} from '../../access/index.ts'
import { appendProjectEvents, providerSet } from '../../events/index.ts'

/** US dollars for a million tokens. */
export interface Rates {
  input: number
  /** Tokens that the provider read from its cache. */
  cachedInput: number
  output: number
}

/** The day that the list is of. Vendors change their prices, and nothing compares the list with theirs. */
const listedAt = '2025-10-31'

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
function listPriceOf(model: string): Rates | null {
  const found = Object.hasOwn(listed, model) ? listed[model] : listed[withoutDate(model)]
  if (!found) return null
  const [input, cachedInput, output] = found
  return { input, cachedInput, output }
}

/** `gpt-4o-2024-08-06` and `claude-sonnet-4-20250514` are releases of `gpt-4o` and `claude-sonnet-4`. */
const date = /-20\d{2}-?\d{2}-?\d{2}$/
const withoutDate = (model: string): string => model.replace(date, '')

const rateOf = (what: string) => `The price in USD for a million tokens that ${what}.`
const rate = z.number('must be a number').min(0, 'must not be negative').max(1_000_000)
const rateFields = {
  input: rate.describe(rateOf('the model reads')),
  cachedInput: rate.describe(rateOf('the provider reads from its cache')),
  output: rate.describe(rateOf('the model writes')),
}

const modelName = text(265, 1)
  .regex(/^[^/\s]+\/\S+$/, 'must be provider/model')
  .describe('The model as provider/model, as steps and attempts name it.')

export const modelPrice = part('ModelPrice', 'The price of one model in a project.', {
  model: modelName,
  ...rateFields,
  listedAt: z
    .string()
    .nullable()
    .describe('The day of the list as YYYY-MM-DD; null for a price of the project.'),
})
type ModelPrice = z.output<typeof modelPrice>

/** The prices of these models; one that has none is left out. Checks no permission. */
export async function pricesOf(
  db: Database,
  projectId: string,
  models: readonly string[],
): Promise<Map<string, ModelPrice>> {
  const found = new Map<string, ModelPrice>()
  if (models.length === 0) return found
  for (const model of models) {
    const rates = listPriceOf(model)
    if (rates) found.set(model, { model, ...rates, listedAt })
  }
  const rows = await db
    .select()
    .from(modelPrices)
    .where(and(eq(modelPrices.projectId, projectId), inArray(modelPrices.model, [...models])))
  for (const row of rows) found.set(row.model, priceOf(row))
  return found
}

/**
 * SQL: the prices of the model of `row`, which has `project_id` and `model`, as a JSON list of those for input, cached input
 * and output; null for a model that has none.
 */
export const ratesOf = (row: SQL): SQL => sql`coalesce(
    (
      select jsonb_build_array(own.input, own.cached_input, own.output)
      from model_prices as own
      where own.project_id = ${row}.project_id and own.model = ${row}.model
    ),
    ${writeJson(listed)}::jsonb -> regexp_replace(${row}.model, ${date.source}, '')
  )`

function priceOf({ model, input, cachedInput, output }: typeof modelPrices.$inferSelect): ModelPrice {
  return { model, input, cachedInput, output, listedAt: null }
}

/** Idempotent. Figures of the past change with it: nothing is stored of what a run cost. */
export const setModelPrice = operation({
  name: 'setModelPrice',
  does: 'Sets the price of a model in a project, for figures of the past too. Idempotent.',
  permission: 'providers:Set',
  input: z
    .object({
      ...inProject,
      model: modelName,
      ...rateFields,
      cachedInput: optional(rateFields.cachedInput, 'the price of tokens that the model reads'),
    })
    .describe('The price of a model, at most 1,000,000 USD for a million tokens.'),
  payload: z
    .object({ price: modelPrice.describe('The price that was set.') })
    .describe('The price that was set.'),
  refuses: ['NOT_FOUND', 'LIMITED'],
  async run(ctx, { model, ...given }) {
    const projectId = await projectOf(ctx, given.projectId)
    const name = providerOf(model)
    await assertMay(ctx, 'providers:Set', projectId, `provider/${name}`)
    const price = { input: given.input, cachedInput: given.cachedInput ?? given.input, output: given.output }
    const row = await atomically(ctx.db, async (tx) => {
      await assertQuota(tx, ctx, modelPrices, projectId, 'prices of models')
      const [saved] = await tx
        .insert(modelPrices)
        .values({ projectId, model, ...price })
        .onConflictDoUpdate({
          target: [modelPrices.projectId, modelPrices.model],
          set: { ...price, updatedAt: sql`now()` },
        })
        .returning()
      const details = { model, ...price }
      await recordChange(tx, ctx, {
        projectId,
        action: 'providers:Set',
        resource: `provider/${name}`,
        details,
      })
      await appendProjectEvents(tx, projectId, [providerSet({ name })])
      return saved!
    })
    publishNews(ctx, projectId)
    return { price: priceOf(row) }
  },
})

export const deleteModelPrice = operation({
  name: 'deleteModelPrice',
  does: 'Deletes the price that was set for a model: its list price counts again, or it has none. Idempotent.',
  permission: 'providers:Set',
  input: z.object({ ...inProject, model: modelName }).describe('The model whose price to delete.'),
  payload: deletion,
  refuses: ['NOT_FOUND'],
  async run(ctx, { model, ...given }) {
    const projectId = await projectOf(ctx, given.projectId)
    const name = providerOf(model)
    const resource = `provider/${name}`
    await assertMay(ctx, 'providers:Set', projectId, resource)
    const wasThere = await atomically(ctx.db, async (tx) => {
      const rows = await tx
        .delete(modelPrices)
        .where(and(eq(modelPrices.projectId, projectId), eq(modelPrices.model, model)))
        .returning({ model: modelPrices.model })
      if (rows.length === 0) return false
      const details = { model, price: null }
      await recordChange(tx, ctx, { projectId, action: 'providers:Set', resource, details })
      await appendProjectEvents(tx, projectId, [providerSet({ name })])
      return true
    })
    if (wasThere) publishNews(ctx, projectId)
    return { deletedId: null, deleted: wasThere }
  },
})

const providerOf = (model: string): string => model.split('/', 1)[0]!

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
