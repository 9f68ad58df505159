/** The types of events that a webhook can be sent, in the groups of its form. Pure. */
import { typesThat, type EventGroup, type LoggedType } from '../../../api/feed.ts'
import { t } from '../../../texts/texts.tsx'

const groupNames: Record<EventGroup, string> = {
  approvals: t('Approvals'),
  gates: t('Grants and gates'),
  runs: t('Runs'),
  calls: t('Calls'),
  agents: t('Agents, tools and upstreams'),
  resources: t('Secrets, providers and files'),
  project: t('Keys, webhooks and the project'),
}

/** Each type has its checkbox. Pieces of text are not kept in the log, so no webhook gets them. */
export const typeGroups = Object.entries(groupNames).map(([key, name]) => ({
  name,
  types: typesThat(({ group, isSent }) => group === key && isSent),
}))

/** Every type that is sent, in the order of their groups. */
export const sentTypes: readonly LoggedType[] = typeGroups.flatMap(({ types }) => types)

/** The types in a few words: all of them, up to two names, or the first and how many more. */
export function typesText(types: readonly string[] | null): string {
  if (types === null) return t('every event')
  const names = types.map(typeName)
  return names.length <= 2
    ? names.join(', ')
    : t('{name} and {count} more', { name: names[0]!, count: names.length - 1 })
}

/** A type as it is called in what is sent: APPROVAL_REQUESTED is approval.requested. */
export function typeName(type: string): string {
  if (type === 'REQUIRES_ACTION') return 'generation.requires_action'
  const at = type.lastIndexOf('_')
  return `${type.slice(0, at)}.${type.slice(at + 1)}`.toLowerCase()
}
