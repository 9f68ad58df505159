/** What providers attach to parts: collected from the stream, kept with the part, given back to the model that made it. */
import type { SharedV3ProviderMetadata } from '@ai-sdk/provider'
import type { Json, JsonObject } from '../../../core/json.ts'
import type { PartMeta } from '../model/message.ts'
import type { Target } from './sdk-model.ts'

/** The member of a part's metadata that says which model wrote it. */
const modelKey = '$model'

type Author = Pick<Target, 'kind' | 'name'>

/**
 * The metadata to store, merged from start, delta and end (a later value wins, but nothing is overwritten by null:
 * OpenAI sends `reasoningEncryptedContent: null` first and the content last).
 */
export function metaFrom(author: Author, ...given: (SharedV3ProviderMetadata | undefined)[]): PartMeta {
  const merged: JsonObject = { [modelKey]: author.name }
  for (const metadata of given)
    for (const [key, value] of Object.entries(metadata?.[author.kind] ?? {}))
      if (value !== undefined && (value !== null || merged[key] === undefined)) merged[key] = value as Json
  return { [author.kind]: merged }
}

/**
 * Whether this very model wrote the part. Signatures and encrypted reasoning do not survive a change of model, even at
 * the same provider. Metadata without an author counts as its provider kind's own.
 */
export function isOwn(meta: PartMeta | undefined, target: Author): boolean {
  const own = meta?.[target.kind]
  return own !== undefined && (own[modelKey] === undefined || own[modelKey] === target.name)
}

/** The metadata of this model's own part, or an empty object for a foreign part. */
export function ownMeta(meta: PartMeta | undefined, target: Author): JsonObject {
  if (!isOwn(meta, target)) return {}
  const { [modelKey]: _, ...rest } = meta![target.kind]!
  return rest
}

/** What goes back with the part: `{providerOptions}`, or nothing. Spread it into the part. */
export function optionsOf(
  meta: PartMeta | undefined,
  target: Author,
): { providerOptions?: SharedV3ProviderMetadata } {
  const own = ownMeta(meta, target)
  if (Object.keys(own).length === 0) return {}
  const providerOptions: SharedV3ProviderMetadata = { [target.kind]: own }
  // A Gemini behind an OpenAI-compatible face: its signature is read under our name and expected under Google's.
  if (target.kind === 'compatible' && own['thoughtSignature'] !== undefined)
    providerOptions['google'] = { thoughtSignature: own['thoughtSignature'] }
  return { providerOptions }
}
