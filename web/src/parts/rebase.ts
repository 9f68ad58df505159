/** Two people changed the same thing: what each of them changed, and one's changes on top of the other's. Pure. */
import { isDeepSame } from './deep-same.ts'

/** The names of the members that differ. */
export function changedNames<Draft extends object>(before: Draft, after: Draft): (keyof Draft & string)[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]) as Set<keyof Draft & string>
  return [...names].filter((name) => !isDeepSame(before[name], after[name]))
}

/** Theirs with every member that I changed; `givenUp` names those of mine to drop. */
export function rebase<Draft extends object>(
  base: Draft,
  mine: Draft,
  theirs: Draft,
  givenUp: ReadonlySet<string> = new Set(),
): Draft {
  const own = changedNames(base, mine).filter((name) => !givenUp.has(name))
  return { ...theirs, ...Object.fromEntries(own.map((name) => [name, mine[name]])) }
}
