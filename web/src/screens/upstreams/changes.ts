/** What an upstream has added, changed and removed between two readings of its tools: pure. */
interface Named {
  name: string
  hash: string
}

export interface CatalogChanges {
  added: string[]
  changed: string[]
  removed: string[]
}

/** Compares by name; another hash is another definition. */
export function catalogChanges(before: readonly Named[], after: readonly Named[]): CatalogChanges {
  const old = new Map(before.map(({ name, hash }) => [name, hash]))
  const now = new Map(after.map(({ name, hash }) => [name, hash]))
  return {
    added: [...now.keys()].filter((name) => !old.has(name)),
    changed: [...now].filter(([name, hash]) => old.has(name) && old.get(name) !== hash).map(([name]) => name),
    removed: [...old.keys()].filter((name) => !now.has(name)),
  }
}
