/** What a page lists of events, as the text of its module. */
import type { EventKind } from '../../src/domain/events/define.ts'

type Kind = Pick<EventKind<string, never>, 'type' | 'facts'>

export function eventLists(kinds: readonly Kind[]): string {
  const lines = kinds
    .toSorted((a, b) => (a.type < b.type ? -1 : 1))
    .map(
      ({ type, facts: { group, onlyInRun, unsent } }) =>
        `  ${type}: { group: '${group}', isFollowed: ${!onlyInRun}, isSent: ${!unsent} },`,
    )
  return `/** How pages list types of events: "npm run schema" writes it from src/domain/events. */
export const declaredEvents = {
${lines.join('\n')}
} as const
`
}
