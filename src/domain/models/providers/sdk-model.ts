/** The part of an AI SDK model that we use, in versions 3 and 4 of its specification. */
import type { LanguageModelV3, LanguageModelV3StreamPart } from '@ai-sdk/provider'
import type { ModelCapabilities, ProviderKind } from '../port.ts'

/**
 * A model of either version. In what we use they differ only here: version 4 wraps file bytes in `{type: 'data',
 * data}`, wraps tool error values once more, and has kinds of parts that version 3 does not know.
 */
export type SdkModel = Omit<LanguageModelV3, 'specificationVersion'> & {
  readonly specificationVersion: 'v3' | 'v4'
}

/** A part of the response stream; unknown kinds are possible at run time. */
export type SdkPart = LanguageModelV3StreamPart

/** The model that a prompt is for: it decides which metadata and content may be sent. */
export interface TargetModel {
  kind: ProviderKind
  /** `provider/model`. */
  name: string
  version: SdkModel['specificationVersion']
  capabilities: ModelCapabilities
}

/** A value that only version 4 of the specification has: the types of `@ai-sdk/provider` 3 do not know it. */
export function asVersion4(value: object): never {
  return value as never
}
