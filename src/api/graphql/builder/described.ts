/**
 * Descriptions that several types share, and enum values with theirs: a value without a description does not compile.
 */

/** The values of an enum type by name, each with its description. */
export function described<Name extends string>(
  names: readonly Name[],
  meanings: Record<Name, string>,
): Record<Name, { description: string }> {
  return Object.fromEntries(names.map((name) => [name, { description: meanings[name] }])) as Record<
    Name,
    { description: string }
  >
}

/** Where an input field is used: to create an object, to change one, or to override an agent for one generation. */
export type Purpose = 'create' | 'update' | 'run'

/** What an input field means that is left out or null, as the last sentence of its description. */
export function defaultText(purpose: Purpose, value: string): string {
  if (purpose === 'run') return 'Default: that of the agent.'
  return purpose === 'create' ? `Default: ${value}.` : `Left out: unchanged; null: ${value}.`
}
