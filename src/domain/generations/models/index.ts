/** Where a model comes from: a provider record becomes a port. */
import type { ModelCapabilities, ModelPort, ProviderKind } from '../model.ts'

/** Everything needed to speak to one provider; the key is already resolved. */
export interface ProviderSettings {
  /** The record's name: the part before the slash in `provider/model`. */
  name: string
  kind: ProviderKind
  baseUrl: string | null
  apiKey: string | null
  capabilities: Partial<ModelCapabilities>
  contextWindow: number | null
  /** The guarded fetch, or the plain one when the operator set the address in the environment. */
  fetch: typeof globalThis.fetch
}

/** Makes the port for `modelId` of a provider. Loads the provider's package at the first use of its kind. */
export async function openModel(_provider: ProviderSettings, _modelId: string): Promise<ModelPort> {
  throw new Error('being built')
}
