/** Opens models: makes a port from a provider record. */
import { ModelError, type ModelCapabilities, type ModelPort, type ProviderKind } from '../port.ts'
import { sdkPort } from './ai-sdk.ts'
import { exactFetch } from './exact-fetch.ts'
import { rehearsalModelId, rehearsalPort } from './rehearsal.ts'
import type { SdkModel } from './sdk-model.ts'

/** The settings of one provider; the key is already resolved. */
export interface ProviderSettings {
  /** The record's name: the part before the slash of `provider/model`. */
  name: string
  kind: ProviderKind
  baseUrl: string | null
  apiKey: string | null
  capabilities: Partial<ModelCapabilities>
  contextWindow: number | null
  /** The guarded fetch; the plain one when the operator set the address in the environment. */
  fetch: typeof globalThis.fetch
}

/**
 * What a provider of each kind can do unless its record says otherwise. A compatible server is assumed to accept text
 * only: one that cannot read pictures refuses the whole step with 400. `structuredOutput`: the native response
 * format; without it the loop uses a tool.
 */
export const defaultCapabilities: Record<ProviderKind, ModelCapabilities> = {
  openai: { images: true, files: true, parallelTools: true, structuredOutput: true },
  anthropic: { images: true, files: true, parallelTools: true, structuredOutput: false },
  google: { images: true, files: true, parallelTools: true, structuredOutput: true },
  compatible: { images: false, files: false, parallelTools: true, structuredOutput: false },
  builtin: { images: false, files: false, parallelTools: true, structuredOutput: true },
}

/**
 * Makes the port for `modelId` of a provider. Loads the provider's package at the first use of its kind and makes no
 * request. MODEL_NOT_CONFIGURED when the key or the address is missing, or the builtin provider has no such model; a
 * compatible server needs no key.
 */
export async function openModel(provider: ProviderSettings, modelId: string): Promise<ModelPort> {
  const capabilities = { ...defaultCapabilities[provider.kind], ...provider.capabilities }
  const name = `${provider.name}/${modelId}`
  const { contextWindow, kind } = provider
  if (modelId === '') throw notConfigured(`No model is named for the provider "${provider.name}".`)
  if (kind === 'builtin') {
    if (modelId !== rehearsalModelId)
      throw notConfigured(`The builtin provider has one model, "${rehearsalModelId}".`)
    return rehearsalPort({ name, capabilities, contextWindow })
  }
  if (!provider.apiKey && kind !== 'compatible')
    throw notConfigured(`The provider "${provider.name}" has no key, so ${name} cannot be called.`)
  const model = await sdkModel(provider, modelId, capabilities)
  const secrets = [provider.apiKey, hostOf(provider.baseUrl)]
  return sdkPort({ model, name, providerKind: kind, capabilities, contextWindow, secrets })
}

const publicAddress: Record<ProviderKind, string> = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
  google: 'https://generativelanguage.googleapis.com/v1beta',
  compatible: '',
  builtin: '',
}

/** The base URL of a provider. */
export function addressOf({
  kind,
  baseUrl,
}: {
  kind: ProviderKind
  baseUrl?: string | null | undefined
}): string {
  return baseUrl || publicAddress[kind]
}

async function sdkModel(
  provider: ProviderSettings,
  modelId: string,
  capabilities: ModelCapabilities,
): Promise<SdkModel> {
  // Key and address are always passed: otherwise the packages read the environment, where OPENAI_BASE_URL configures
  // another provider here.
  const common = {
    apiKey: provider.apiKey ?? '',
    baseURL: addressOf(provider),
    fetch: exactFetch(provider.fetch),
  }
  switch (provider.kind) {
    case 'openai': {
      const { createOpenAI } = await import('@ai-sdk/openai')
      return createOpenAI(common).responses(modelId)
    }
    case 'anthropic': {
      const { createAnthropic } = await import('@ai-sdk/anthropic')
      return createAnthropic(common)(modelId)
    }
    case 'google': {
      const { createGoogleGenerativeAI } = await import('@ai-sdk/google')
      return createGoogleGenerativeAI(common)(modelId)
    }
    case 'compatible': {
      if (!provider.baseUrl) throw notConfigured(`The provider "${provider.name}" has no address (base URL).`)
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
      return createOpenAICompatible({
        // The name under which the package reads and writes metadata, not the record's: see sdk-model.ts.
        name: 'compatible',
        ...common,
        includeUsage: true,
        supportsStructuredOutputs: capabilities.structuredOutput,
      })(modelId)
    }
    case 'builtin':
      throw notConfigured('The builtin provider needs no package.')
  }
}

function notConfigured(message: string): ModelError {
  return new ModelError('MODEL_NOT_CONFIGURED', message, { retryable: false })
}

function hostOf(baseUrl: string | null): string | null {
  return baseUrl && URL.canParse(baseUrl) ? new URL(baseUrl).host : null
}
