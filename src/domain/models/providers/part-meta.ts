/** Provider metadata of parts: collected from the stream, stored with the part, sent back to the model that made it. */
import type { SharedV3ProviderMetadata } from '@ai-sdk/provider'
import { asText, packed, type Json, type JsonObject } from '../../../core/json.ts'
import type { PartMeta } from '../message.ts'
import type { TargetModel } from './sdk-model.ts'

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
  const providerOptions = { [target.kind]: packed(own) } as SharedV3ProviderMetadata
  // Gemini behind an OpenAI-compatible server returns its signature under our name and expects it under Google's.
  if (target.kind === 'compatible' && own['thoughtSignature'] !== undefined)
    providerOptions['google'] = { thoughtSignature: asText(own['thoughtSignature']) }
  return { providerOptions }
}
