/** Enum values with their meaning: a value without words does not compile. */

/** The values of an enum type by name, each with what it means. */
export function described<Name extends string>(
  names: readonly Name[],
  meanings: Record<Name, string>,
): Record<Name, { description: string }> {
  return Object.fromEntries(names.map((name) => [name, { description: meanings[name] }])) as Record<
    Name,
    { description: string }
  >
}
