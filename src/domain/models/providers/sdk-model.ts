/** The part of an AI SDK model that we use, in versions 3 and 4 of its specification, and the metadata of its parts. */
import type { LanguageModelV3, LanguageModelV3StreamPart, SharedV3ProviderMetadata } from '@ai-sdk/provider'
import type { ModelCapabilities, ProviderKind } from '../port.ts'
import { asText, packValue, type Json, type JsonObject } from '../../../core/json.ts'
import type { PartMeta } from '../message.ts'

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

/** The member of a part's metadata that names the model that wrote it. */
const modelKey = '$model'

type Author = Pick<TargetModel, 'kind' | 'name'>

/**
 * The metadata to store, merged from start, delta and end. A later value wins, but null overwrites nothing: OpenAI
 * sends `reasoningEncryptedContent: null` first and the content last.
 */
export function metaFrom(author: Author, ...given: (SharedV3ProviderMetadata | undefined)[]): PartMeta {
  const merged: JsonObject = { [modelKey]: author.name }
  for (const metadata of given)
    for (const [key, value] of Object.entries(metadata?.[author.kind] ?? {}))
      if (value !== undefined && (value !== null || merged[key] === undefined)) merged[key] = value as Json
  return { [author.kind]: merged }
}

/**
 * Whether exactly this model wrote the part. Signatures and encrypted reasoning are invalid for any other model, even
 * of the same provider. Metadata without an author belongs to its provider kind.
 */
export function isOwn(meta: PartMeta | undefined, target: Author): boolean {
  const own = meta?.[target.kind]
  return own !== undefined && (own[modelKey] === undefined || own[modelKey] === target.name)
}

/** The metadata of the model's own part; an empty object for a part of another model. */
export function ownMeta(meta: PartMeta | undefined, target: Author): JsonObject {
  if (!isOwn(meta, target)) return {}
  const { [modelKey]: _, ...rest } = meta![target.kind]!
  return rest
}

/** What is sent back with the part: `{providerOptions}`, or nothing. Spread it into the part. */
export function optionsOf(
  meta: PartMeta | undefined,
  target: Author,
): { providerOptions?: SharedV3ProviderMetadata } {
  const own = ownMeta(meta, target)
  if (Object.keys(own).length === 0) return {}
  const providerOptions = { [target.kind]: packValue(own) } as SharedV3ProviderMetadata
  // Gemini behind an OpenAI-compatible server returns its signature under our name and expects it under Google's.
  if (target.kind === 'compatible' && own['thoughtSignature'] !== undefined)
    providerOptions['google'] = { thoughtSignature: asText(own['thoughtSignature']) }
  return { providerOptions }
}
