/** Enum values with their descriptions: a value without one does not compile. */

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
