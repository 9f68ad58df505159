/** Hides values in texts that people wrote: a value may be spelled otherwise there than where it was found. Pure. */
import { isJsonObject, type Json } from './json.ts'
import { mask, scrubber } from './scrub.ts'

/** Shorter values cannot be told from other text. Characters, without spaces and punctuation. */
const shortest = 4
/** More or longer values are not looked for: a text that may have them is hidden. */
const limits = { values: 100, characters: 2_000 }

/**
 * Returns a function that replaces these values in a text. It hides the whole text where it cannot tell what to replace:
 * for values that are short, many or neither text nor number, for a value that is spelled with other spaces, punctuation
 * or case, and for a text that was cut (`isCut`) and has one of the values, because another may be half of it.
 */
export function valueHider(values: readonly Json[]): (text: string, isCut: boolean) => string {
  const leaves = leavesOf(values)
  if (leaves === null) return () => mask
  const scrub = scrubber(leaves)
  if (!scrub) return (text) => text
  const loosely = [...new Set(leaves.map(loose))]
  const isLong = leaves.some((leaf) => leaf.length > limits.characters)
  return (text, isCut) => {
    const clean = scrub(text)
    const rest = loose(clean.replaceAll(mask, ''))
    if (loosely.some((leaf) => rest.includes(leaf))) return mask
    return isCut && (isLong || clean !== text) ? mask : clean
  }
}

/** The values as texts; null when one of them cannot be looked for. */
function leavesOf(values: readonly Json[]): string[] | null {
  const leaves = new Set<string>()
  const rest: Json[] = [...values]
  while (rest.length > 0) {
    const one = rest.pop()!
    if (one === null || one === '') continue
    if (Array.isArray(one) || isJsonObject(one)) {
      for (const inner of Object.values(one)) rest.push(inner)
      continue
    }
    const leaf = String(one)
    if (typeof one === 'boolean' || loose(leaf).length < shortest) return null
    if (leaves.add(leaf).size > limits.values) return null
  }
  return [...leaves]
}

/** Letters and digits alone, in one case and one width. */
function loose(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, '')
}
