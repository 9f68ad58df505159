/** What we need of a model of the AI SDK, in the third and the fourth version of its specification. */
import type { LanguageModelV3, LanguageModelV3StreamPart } from '@ai-sdk/provider'
import type { ModelCapabilities, ProviderKind } from '../model/port.ts'

/**
 * A model of either version. They differ in what we use of them only here: the fourth wraps file bytes in
 * `{type: 'data', data}`, wraps error values of tools once more, and knows kinds of parts that the third does not.
 */
export type SdkModel = Omit<LanguageModelV3, 'specificationVersion'> & {
  readonly specificationVersion: 'v3' | 'v4'
}

/** A part of the answer stream; an unknown kind is possible at run time. */
export type SdkPart = LanguageModelV3StreamPart

/** Where a prompt goes: decides which metadata and which content may travel. */
export interface Target {
  kind: ProviderKind
  /** `provider/model`. */
  name: string
  version: SdkModel['specificationVersion']
  capabilities: ModelCapabilities
}
