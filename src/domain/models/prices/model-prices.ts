/** What models cost: the prices that a project has set, else list prices. */
import { and, eq, inArray } from 'drizzle-orm'
import { z } from 'zod'
import { check, text } from '../../../core/check.ts'
import { atomically, type Database } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import { modelPrices } from '../../../store/db/tables/generations.ts'
import { assertMay, assertQuota, projectOf, publishNews, recordChange, type Ctx } from '../../access/index.ts'
import { appendProjectEvents, providerSet } from '../../events/index.ts'
import { listedAt, listPriceOf, type Rates } from './list-prices.ts'

/** The price of one model in a project. */
export interface ModelPrice extends Rates {
  /** `provider/model`. */
  model: string
  /** `PROJECT`: somebody set it; `LIST`: the vendor's list price, as of `listedAt`. */
  source: 'LIST' | 'PROJECT'
  /** The day of the list, as YYYY-MM-DD; null for a price of the project. */
  listedAt: string | null
}

const rate = z.number('must be a number').min(0, 'must not be negative').max(1_000_000)

const modelName = text(265, 1).regex(/^[^/\s]+\/\S+$/, 'must be provider/model')

const shape = z.object({
  projectId: z.string().nullish(),
  model: modelName,
  input: rate,
  cachedInput: rate.nullish(),
  output: rate,
})

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
    if (rates) found.set(model, { model, ...rates, source: 'LIST', listedAt })
  }
  const rows = await db
    .select()
    .from(modelPrices)
    .where(and(eq(modelPrices.projectId, projectId), inArray(modelPrices.model, [...models])))
  for (const row of rows) found.set(row.model, priceOf(row))
  return found
}

function priceOf({ model, input, cachedInput, output }: typeof modelPrices.$inferSelect): ModelPrice {
  return { model, input, cachedInput, output, source: 'PROJECT', listedAt: null }
}

/**
 * Sets what a model costs in a project, in US dollars for a million tokens; `cachedInput` is `input` unless given.
 * Figures of the past change with it: nothing is stored of what a run cost. Idempotent. Action `providers:Set`.
 */
export async function setModelPrice(ctx: Ctx, input: z.input<typeof shape>): Promise<ModelPrice> {
  const { model, ...given } = check(shape, input)
  const projectId = await projectOf(ctx, given.projectId)
  const name = providerOf(model)
  await assertMay(ctx, 'providers:Set', projectId, `provider/${name}`)
  const rates = { input: given.input, cachedInput: given.cachedInput ?? given.input, output: given.output }
  const row = await atomically(ctx.db, async (tx) => {
    await assertQuota(tx, ctx, modelPrices, projectId, 'prices of models')
    const [saved] = await tx
      .insert(modelPrices)
      .values({ projectId, model, ...rates })
      .onConflictDoUpdate({
        target: [modelPrices.projectId, modelPrices.model],
        set: { ...rates, updatedAt: sql`now()` },
      })
      .returning()
    const details = { model, ...rates }
    await recordChange(tx, ctx, { projectId, action: 'providers:Set', resource: `provider/${name}`, details })
    await appendProjectEvents(tx, projectId, [providerSet({ name })])
    return saved!
  })
  publishNews(ctx, projectId)
  return priceOf(row)
}

/**
 * Deletes the price that a project has set for a model: its list price counts again, or it has none. Idempotent; returns
 * whether there was one. Action `providers:Set`.
 */
export async function deleteModelPrice(
  ctx: Ctx,
  input: { projectId?: string | null | undefined; model: string },
): Promise<boolean> {
  const { model } = check(z.object({ model: modelName }), { model: input.model })
  const projectId = await projectOf(ctx, input.projectId)
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
  return wasThere
}

const providerOf = (model: string): string => model.split('/', 1)[0]!
