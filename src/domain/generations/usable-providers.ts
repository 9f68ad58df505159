/** Every provider that the agents of a project can name, wherever it is configured, and a test of one. */
import * as view from '../../core/view.ts'
import { optional, serverFault, part, choice } from '../../core/shapes.ts'
import { z } from 'zod'
import { text } from '../../core/check.ts'
import { invalidAt, notFound } from '../../core/errors.ts'
import { query } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import { assertMay, projectOf, recordChange, type Ctx, inProject, operation } from '../access/index.ts'
import {
  ModelError,
  type ModelPort,
  type Models,
  type ProviderKind,
  findProvider,
  rehearsalModelId,
} from '../models/index.ts'
import { watchStream, type WatchdogLimits } from './step/stream-timeout.ts'

const providerSource = choice('ProviderSource', 'Where a model provider is configured.', {
  PROJECT: 'The project has configured the provider with setProvider.',
  ENVIRONMENT: 'The operator has configured the provider for the whole installation.',
  BUILTIN: 'The provider is part of the server and is not an AI: it follows rules.',
})

/** A provider as agents name it. It has no address and no key. */
export const usableProvider = part(
  'ModelProvider',
  'A model provider that agents of a project can name, without its address and key.',
  {
    name: view.text('The name of the provider: the part before the slash in provider/model.'),
    source: providerSource.describe('Where the provider is configured.'),
    defaultModel: view
      .text(
        'The name of the model to preselect when a person chooses this provider; null when none is configured.',
      )
      .nullable(),
  },
)
export interface UsableProvider extends z.output<typeof usableProvider> {
  kind: ProviderKind
}

/** The most providers that are listed. */
export const mostProviders = 200

/**
 * The providers that agents of a project can name, by name: those of the project, those of the environment that no
 * provider of the project replaces, and the builtin one. Action `providers:List`.
 */
export async function listUsableProviders(
  ctx: Ctx,
  models: Models,
  input: { projectId?: string | null | undefined },
): Promise<UsableProvider[]> {
  const projectId = await projectOf(ctx, input.projectId)
  await assertMay(ctx, 'providers:List', projectId, 'provider/*')
  const own = await query<UsableProvider>(
    ctx.db,
    sql`select name, kind, 'PROJECT' as source, default_model as "defaultModel"
      from providers where project_id = ${projectId}
      order by name limit ${mostProviders}`,
  )
  const names = new Set(own.map(({ name }) => name))
  const others: UsableProvider[] = [
    ...models.environment.flatMap(({ name, kind }) =>
      names.has(name) ? [] : [{ name, kind, source: 'ENVIRONMENT' as const, defaultModel: null }],
    ),
    { name: 'builtin', kind: 'builtin', source: 'BUILTIN', defaultModel: rehearsalModelId },
  ]
  return [...own.slice(0, mostProviders - others.length), ...others].toSorted((a, b) =>
    a.name < b.name ? -1 : 1,
  )
}

const providerTrial = z
  .object({
    model: z.string().describe('The model that was asked, as provider/model.'),
    ok: z.boolean().describe('Whether the model has answered.'),
    milliseconds: z
      .int()
      .describe('The time from the request until the end of the answer or the failure, in milliseconds.'),
    error: serverFault
      .nullable()
      .describe('The reason for which the model did not answer; null when it has answered.'),
  })
  .describe('The result of a test. A provider that refuses or is silent is a result, not an error.')
export type ProviderTrial = z.output<typeof providerTrial>

/** A test counts as so many requests of its caller: each costs the provider's owner money. */
const requestsPerTest = 10

const limits: WatchdogLimits = { firstChunkMs: 15_000, idleMs: 10_000, totalMs: 20_000 }

/**
 * In the audit with its outcome. Holds no transaction meanwhile. LIMITED when the caller's rate limit has no 10 requests left,
 * INVALID without a model where the provider has no default.
 */
export const testProvider = operation({
  name: 'testProvider',
  does: 'Asks a model of a provider for a few tokens, once, within 20 seconds. A test counts as 10 requests of the caller.',
  permission: 'providers:Test',
  input: z
    .object({
      ...inProject,
      name: text(64, 1).describe('The name of the provider, as in modelProviders.'),
      model: optional(
        text(200, 1).describe('The name of the model.'),
        'the default model of the provider, if there is one',
      ),
    })
    .describe('The model provider to test.'),
  payload: providerTrial,
  refuses: ['NOT_FOUND', 'LIMITED'],
  async run(ctx, { name, model: named, ...rest }, { models }: { models: Models }) {
    const projectId = await projectOf(ctx, rest.projectId)
    const resource = `provider/${name}`
    await assertMay(ctx, 'providers:Test', projectId, resource)
    const own = name === 'builtin' ? null : await findProvider(ctx, projectId, name)
    const isKnown =
      own !== null || name === 'builtin' || models.environment.some((provider) => provider.name === name)
    if (!isKnown) throw notFound('provider', name)
    const chosen = named ?? own?.defaultModel ?? (name === 'builtin' ? rehearsalModelId : null)
    if (chosen === null)
      throw invalidAt(['input', 'model'], 'is required: this provider has no default model')
    await ctx.rates.takeRequests(ctx.principal, requestsPerTest)
    const trial = await tryModel(
      `${name}/${chosen}`,
      () => models.open(projectId, `${name}/${chosen}`),
      limits,
    )
    const details = { model: trial.model, ok: trial.ok, ...(trial.error ? { code: trial.error.code } : {}) }
    await recordChange(ctx.db, ctx, { projectId, action: 'providers:Test', resource, details })
    return trial
  },
})

/** One request to a model, within the time limits. Throws only what is no failure of the model. */
export async function tryModel(
  model: string,
  open: () => Promise<ModelPort>,
  within: WatchdogLimits,
): Promise<ProviderTrial> {
  const start = performance.now()
  const ended = (error: ProviderTrial['error']): ProviderTrial => ({
    model,
    ok: error === null,
    milliseconds: Math.round(performance.now() - start),
    error,
  })
  const abort = new AbortController()
  try {
    const port = await open()
    const stream = port.stream({
      instructions: null,
      messages: [{ v: 1, role: 'user', parts: [{ type: 'text', text: 'Answer with the word: yes' }] }],
      tools: [],
      toolChoice: { type: 'auto' },
      outputSchema: null,
      // The fewest that every provider accepts.
      settings: { maxOutputTokens: 16 },
      signal: abort.signal,
    })
    for await (const event of watchStream(stream, within, abort))
      if (event.type === 'finish') return ended(null)
    return ended({ code: 'MODEL_UNAVAILABLE', message: 'The answer ended before it was complete.' })
  } catch (error) {
    if (!(error instanceof ModelError)) throw error
    return ended({ code: error.code, message: error.message })
  } finally {
    abort.abort()
  }
}
