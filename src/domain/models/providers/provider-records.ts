/** Model providers of the environment and of each project, opened as ports. */
import * as view from '../../../core/view.ts'
import { choice, entity, optional, openPart, part, idOf } from '../../../core/shapes.ts'
import { and, eq } from 'drizzle-orm'
import { z } from 'zod'
import { writeJson } from '../../../core/json.ts'
import { text, whole } from '../../../core/check.ts'
import { invalidAt } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import type { Page } from '../../../core/page.ts'
import { atomically } from '../../../store/db/database.ts'
import { listPage } from '../../../store/db/lists.ts'
import { sql } from '../../../store/db/sql.ts'
import { providers } from '../../../store/db/tables/generations.ts'
import {
  assertMay,
  assertQuota,
  projectOf,
  publishNews,
  recordChange,
  type Ctx,
  type Services,
  inProject,
  operation,
  deletion,
} from '../../access/index.ts'
import { appendProjectEvents, providerDeleted, providerSet } from '../../events/index.ts'
import { faultOfUse, openSecrets, SecretRefusedError } from '../../secrets/index.ts'
import { ModelError, type ModelCapabilities, type ModelPort, type ProviderKind } from '../port.ts'
import { addressOf, openModel, type ProviderSettings } from './open-model.ts'

/** A provider of the whole installation, from the environment. */
export interface EnvironmentProvider {
  name: string
  kind: Exclude<ProviderKind, 'builtin'>
  baseUrl: string | null
  apiKey: string | null
}

/** The name of the builtin model, which needs no provider and is not an AI. */
export const rehearsalModel = 'builtin/rehearsal'

export interface Models {
  /**
   * The port of `provider/model`; the project's provider of that name takes precedence over the environment's. Null
   * means the installation's default, or the rehearsal model when no key is configured at all. A named model has no
   * fallback: MODEL_NOT_CONFIGURED instead.
   */
  open(projectId: string, name: string | null): Promise<ModelPort>
  /** Whether agents without a model use the rehearsal model. */
  readonly rehearses: boolean
  readonly environment: readonly EnvironmentProvider[]
}

export function createModels(
  services: Services,
  options: { environment: EnvironmentProvider[]; defaultModel: string | null },
): Models {
  const { environment, defaultModel } = options
  const rehearses = defaultModel === null && environment.length === 0
  return {
    rehearses,
    environment,
    async open(projectId, name) {
      const wanted = name ?? defaultModel ?? (rehearses ? rehearsalModel : null)
      if (wanted === null)
        throw notConfigured(
          'This agent names no model and the installation has no default: set GATEHOUSE_DEFAULT_MODEL.',
        )
      const [providerName, modelId] = split(wanted)
      const settings =
        providerName === 'builtin'
          ? builtin(services)
          : ((await projectProvider(services, projectId, providerName)) ??
            environmentProvider(environment, providerName))
      if (!settings) throw notConfigured(`No provider named ${writeJson(providerName)} is configured.`)
      return openModel(settings, modelId)
    },
  }
}

function split(name: string): [string, string] {
  const at = name.indexOf('/')
  return [name.slice(0, at), name.slice(at + 1)]
}

function notConfigured(message: string): ModelError {
  return new ModelError('MODEL_NOT_CONFIGURED', message, { retryable: false })
}

function builtin(services: Services): ProviderSettings {
  return {
    name: 'builtin',
    kind: 'builtin',
    baseUrl: null,
    apiKey: null,
    capabilities: {},
    contextWindow: null,
    fetch: services.egress.fetch,
  }
}

function environmentProvider(environment: EnvironmentProvider[], name: string): ProviderSettings | null {
  const found = environment.find((provider) => provider.name === name)
  if (!found) return null
  // The operator set this address: it may be private, for example a model server on the same machine.
  return { ...found, capabilities: {}, contextWindow: null, fetch: globalThis.fetch }
}

async function projectProvider(
  services: Services,
  projectId: string,
  name: string,
): Promise<ProviderSettings | null> {
  const [row] = await services.db
    .select()
    .from(providers)
    .where(and(eq(providers.projectId, projectId), eq(providers.name, name)))
  if (!row) return null
  const { kind, baseUrl, capabilities, contextWindow } = providerOf(row)
  const names = row.secretName ? [row.secretName] : []
  const keys = await openSecrets(services, projectId, names, addressOf({ kind, baseUrl })).catch(
    (error: unknown) => {
      throw error instanceof SecretRefusedError ? notConfigured(error.message) : error
    },
  )
  const apiKey = row.secretName ? (keys.get(row.secretName) ?? null) : null
  if (row.secretName && apiKey === null)
    throw notConfigured(`The secret ${row.secretName} of this provider is missing.`)
  return { name, kind, baseUrl, apiKey, capabilities, contextWindow, fetch: services.egress.fetch }
}

function providerOf(row: typeof providers.$inferSelect): Provider {
  return row as Provider
}

const providerName = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must match ^[A-Za-z0-9_-]{1,64}$')
  .refine((name) => name !== 'builtin', 'is reserved')

export const providerKind = choice('ProviderKind', 'The API that a model provider has.', {
  openai: 'The provider has the OpenAI Responses API.',
  anthropic: 'The provider has the Anthropic Messages API.',
  google: 'The provider has the Google Gemini API.',
  compatible: 'The provider is any server with an OpenAI compatible chat completions API.',
})

/** A provider as the API shows it: the key is a secret, of which only the name is here. */
export const providerShape = part(
  'Provider',
  'A model provider of one project. Its API key is a secret, given by name.',
  {
    id: idOf('provider'),
    name: view.text('The name of the provider: the part before the slash in provider/model.'),
    kind: providerKind.describe('The API that the provider has.'),
    baseUrl: view.text("The base URL of the API; null: the vendor's own.").nullable(),
    secretName: view
      .text('The name of the secret that holds the API key of the provider; null: no key.')
      .nullable(),
    defaultModel: view.text('The name of the model to preselect when a person chooses this provider.'),
    capabilities: view.jsonObject<Partial<ModelCapabilities>>(
      'The capabilities of the models where they differ from the default of the kind.',
    ),
    contextWindow: view
      .int(
        'The context window of the models in tokens, to which history is trimmed; null: the default of the kind.',
      )
      .nullable(),
  },
)
export interface Provider extends z.output<typeof providerShape> {
  projectId: string
  createdAt: Date
  updatedAt: Date
}

const capabilities = openPart(
  'ModelCapabilitiesInput',
  'The capabilities of the models of a provider where they differ from the default of the kind.',
  {
    images: z.boolean().nullish().describe('Whether the models accept images.'),
    files: z.boolean().nullish().describe('Whether the models accept files.'),
    parallelTools: z
      .boolean()
      .nullish()
      .describe('Whether the models can call several tools in one response.'),
    structuredOutput: z
      .boolean()
      .nullish()
      .describe('Whether the models support structured output by a response schema.'),
  },
)

const shape = z
  .object({
    ...inProject,
    name: providerName.describe(
      'The name of letters, digits, - and _. It has precedence over a provider of an environment variable.',
    ),
    kind: providerKind.describe('The API that the provider has.'),
    baseUrl: optional(
      text(2000).describe(
        'The base URL of the API, which must be an allowed address as for tools; required for COMPATIBLE.',
      ),
      "the vendor's own",
    ),
    secretName: optional(
      text(64, 1).describe('The name of the secret that holds the API key of the provider.'),
      'no key',
    ),
    defaultModel: text(200, 1).describe(
      'The name of the model to preselect when a person chooses this provider.',
    ),
    capabilities: optional(
      capabilities.describe('The capabilities of the models where they differ from the default of the kind.'),
      'none differ',
    ),
    contextWindow: optional(
      whole(1000, 100_000_000).describe(
        'The context window of the models in tokens, input and output together; history is trimmed to it.',
      ),
      'the default of the kind',
    ),
  })
  .describe('The model provider to create or replace.')

/** Idempotent. Also action `secrets:Use` on its secret. */
export const setProvider = operation({
  name: 'setProvider',
  does: 'Creates or replaces a model provider of a project by name.',
  permission: 'providers:Set',
  input: shape,
  payload: z
    .object({ provider: entity<Provider>()('Provider').describe('The provider after the mutation.') })
    .describe('The provider after the mutation.'),
  refuses: ['NOT_FOUND', 'LIMITED'],
  async run(ctx, given) {
    const projectId = await projectOf(ctx, given.projectId)
    await assertMay(ctx, 'providers:Set', projectId, `provider/${given.name}`)
    await checkProvider(ctx, projectId, given)
    const values = {
      kind: given.kind,
      baseUrl: given.baseUrl ?? null,
      secretName: given.secretName ?? null,
      defaultModel: given.defaultModel,
      capabilities: Object.fromEntries(
        Object.entries(given.capabilities ?? {}).filter(([, v]) => typeof v === 'boolean'),
      ),
      contextWindow: given.contextWindow ?? null,
    }
    const saved = await atomically(ctx.db, async (tx) => {
      await assertQuota(tx, ctx, providers, projectId, 'providers')
      const [row] = await tx
        .insert(providers)
        .values({ id: newId('provider'), projectId, name: given.name, ...values })
        .onConflictDoUpdate({
          target: [providers.projectId, providers.name],
          set: { ...values, updatedAt: sql`now()` },
        })
        .returning()
      await recordChange(tx, ctx, { projectId, action: 'providers:Set', resource: `provider/${given.name}` })
      await appendProjectEvents(tx, projectId, [providerSet({ name: given.name })])
      return providerOf(row!)
    })
    publishNews(ctx, projectId)
    return { provider: saved }
  },
})

async function checkProvider(ctx: Ctx, projectId: string, given: z.output<typeof shape>): Promise<void> {
  if (given.kind === 'compatible' && !given.baseUrl)
    throw invalidAt(['input', 'baseUrl'], 'is required for a provider of the kind "compatible"')
  const refusal = given.baseUrl ? ctx.egress.checkUrl(given.baseUrl) : null
  if (refusal) throw invalidAt(['input', 'baseUrl'], refusal)
  if (!given.secretName) return
  const fault = await faultOfUse(ctx, projectId, [given.secretName], addressOf(given))
  if (fault) throw invalidAt(['input', 'secretName'], fault)
}

export const deleteProvider = operation({
  name: 'deleteProvider',
  does: 'Deletes a model provider of a project. Idempotent.',
  permission: 'providers:Delete',
  input: z
    .object({ ...inProject, name: z.string().describe('The name of the provider.') })
    .describe('The provider to delete.'),
  payload: deletion,
  refuses: ['NOT_FOUND'],
  async run(ctx, given) {
    const { name } = given
    const projectId = await projectOf(ctx, given.projectId)
    await assertMay(ctx, 'providers:Delete', projectId, `provider/${name}`)
    const deletedId = await atomically(ctx.db, async (tx) => {
      const rows = await tx
        .delete(providers)
        .where(and(eq(providers.projectId, projectId), eq(providers.name, name)))
        .returning({ id: providers.id })
      const resource = `provider/${name}`
      if (rows.length === 0) return null
      await recordChange(tx, ctx, { projectId, action: 'providers:Delete', resource })
      await appendProjectEvents(tx, projectId, [providerDeleted({ name })])
      return rows[0]!.id
    })
    if (deletedId) publishNews(ctx, projectId)
    return { deletedId, deleted: deletedId !== null }
  },
})

/** The project's own provider of this name; null when it has none. Checks no permission. */
export async function findProvider(ctx: Ctx, projectId: string, name: string): Promise<Provider | null> {
  const [row] = await ctx.db
    .select()
    .from(providers)
    .where(and(eq(providers.projectId, projectId), eq(providers.name, name)))
  return row ? providerOf(row) : null
}

/** Providers of a project, newest first, without those of the environment. Action `providers:List`. */
export async function listProviders(
  ctx: Ctx,
  input: { projectId?: string | null | undefined; page: Page },
): Promise<Provider[]> {
  const projectId = await projectOf(ctx, input.projectId)
  await assertMay(ctx, 'providers:List', projectId, 'provider/*')
  return (await listPage(ctx.db, providers, projectId, input.page)).map(providerOf)
}
