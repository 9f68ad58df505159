/** The members of the query of an address. Pure. */

export type Members = Record<string, string | readonly string[] | null>

/** The query with these members changed; an empty one is left out. */
export function withMembers(before: URLSearchParams, members: Members): URLSearchParams {
  const next = new URLSearchParams(before)
  for (const [name, value] of Object.entries(members)) {
    next.delete(name)
    for (const one of typeof value === 'string' ? [value] : (value ?? []))
      if (one !== '') next.append(name, one)
  }
  return next
}
