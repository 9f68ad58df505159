/**
 * Bounds the fields of a document that have the same name in the response, before it is validated: graphql-js compares each of
 * them with each other one. Pure.
 */
import { Kind, type DocumentNode, type FragmentDefinitionNode, type SelectionSetNode } from 'graphql'

/** The most pairs to compare, the most fields to visit with their fragments, and the most levels. */
const most = { pairs: 10_000, fields: 50_000, levels: 60 }

/** Why the document would take too long to validate, or null. Time and memory grow with the limits, not with the document. */
export function overlapFault(document: DocumentNode): string | null {
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const definition of document.definitions)
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition)
  const counts = { pairs: 0, fields: 0 }
  // Fragments are compared by themselves too.
  for (const definition of document.definitions) {
    if (!('selectionSet' in definition)) continue
    const fault = count([definition.selectionSet], fragments, counts, 1)
    if (fault) return fault
  }
  return null
}

/** Counts what is selected by these sets together, which belong to fields of one name. */
function count(
  sets: readonly SelectionSetNode[],
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
  counts: { pairs: number; fields: number },
  level: number,
): string | null {
  if (level > most.levels) return `is nested deeper than ${most.levels} levels`
  const byName = new Map<string, { times: number; inner: SelectionSetNode[] }>()
  const spread = new Set<string>()
  const open = [...sets]
  for (let set = open.pop(); set; set = open.pop())
    for (const selection of set.selections) {
      if (++counts.fields > most.fields) return `selects more than ${most.fields} fields`
      if (selection.kind === Kind.INLINE_FRAGMENT) open.push(selection.selectionSet)
      else if (selection.kind === Kind.FRAGMENT_SPREAD) {
        const { value: name } = selection.name
        const fragment = spread.has(name) ? undefined : fragments.get(name)
        spread.add(name)
        if (fragment) open.push(fragment.selectionSet)
      } else {
        const name = (selection.alias ?? selection.name).value
        const same = byName.get(name) ?? { times: 0, inner: [] }
        byName.set(name, same)
        counts.pairs += same.times++
        if (selection.selectionSet) same.inner.push(selection.selectionSet)
        if (counts.pairs > most.pairs) return `selects fields of the same name too often`
      }
    }
  for (const { inner } of byName.values()) {
    const fault = inner.length > 0 ? count(inner, fragments, counts, level + 1) : null
    if (fault) return fault
  }
  return null
}
