/** What a page lists of the events that declare themselves, as the text of its module. */
import type { DeclaredKind } from '../../src/domain/events/define.ts'

type Kind = Pick<DeclaredKind<string, never>, 'type' | 'told'>

export function eventLists(kinds: readonly Kind[]): string {
  const lines = kinds
    .toSorted((a, b) => (a.type < b.type ? -1 : 1))
    .map(
      ({ type, told: { group, onlyInRun, unsent } }) =>
        `  ${type}: { group: '${group}', isFollowed: ${!onlyInRun}, isSent: ${!unsent} },`,
    )
  return `/** How pages list types of events: "npm run schema" writes it from src/domain/events. */
export const declaredEvents = {
${lines.join('\n')}
} as const
`
}
