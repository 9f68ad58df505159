/** The types of events that a webhook can be sent, in the groups of its form. Pure. */
import { declaredTypes, type EventType } from '../../../api/feed.ts'
import { t } from '../../../texts/texts.tsx'

const inGroup = (name: string) => declaredTypes(({ group, isSent }) => group === name && isSent)

/** Each type has its checkbox. Pieces of text are not kept in the log, so no webhook gets them. */
export const typeGroups = [
  {
    name: t('Approvals'),
    types: [
      'APPROVAL_REQUESTED',
      'APPROVAL_VOTED',
      'APPROVAL_DECIDED',
      'APPROVAL_ESCALATED',
      'APPROVAL_EXPIRED',
      'APPROVAL_VOIDED',
      'APPROVAL_CLAIMED',
      'APPROVAL_RELEASED',
      'APPROVAL_EXTENDED',
    ],
  },
  {
    name: t('Grants and gates'),
    types: ['GRANT_CREATED', 'GRANT_REVOKED', 'GATE_CHANGE_PROPOSED', 'GATE_CHANGE_DECIDED', 'GATE_CHANGED'],
  },
  {
    name: t('Runs'),
    types: [
      'GENERATION_QUEUED',
      'GENERATION_STARTED',
      'REQUIRES_ACTION',
      'GENERATION_RESUMED',
      'GENERATION_COMPLETED',
      'GENERATION_FAILED',
      'GENERATION_CANCELLED',
      'GENERATION_EXPIRED',
      'CHILD_STARTED',
      'CHILD_ENDED',
      'MESSAGE_COMMITTED',
      'STEP_RESET',
    ],
  },
  {
    name: t('Calls'),
    types: [
      'TOOL_CALL_PROPOSED',
      'TOOL_CALL_STARTED',
      'TOOL_CALL_SETTLED',
      'TOOL_CALL_UNKNOWN',
      'UNKNOWN_CALL_RESOLVED',
    ],
  },
  {
    name: t('Agents, tools and upstreams'),
    types: [...inGroup('agents')],
  },
  {
    name: t('Secrets, providers and files'),
    types: [...inGroup('resources')],
  },
  {
    name: t('Keys, webhooks and the project'),
    types: [
      'API_KEY_CREATED',
      'API_KEY_ACCEPTED',
      'API_KEY_REVOKED',
      'WEBHOOK_CREATED',
      'WEBHOOK_UPDATED',
      'WEBHOOK_DISABLED',
      'WEBHOOK_DELETED',
      'WEBHOOK_CURSOR_EXPIRED',
      'SLACK_SET',
      'SLACK_DISABLED',
      'SLACK_DELETED',
      'PROJECT_UPDATED',
      'RETENTION_CHANGED',
      'LEGAL_HOLD_PUT',
      'LEGAL_HOLD_LIFTED',
      'DATA_REMOVAL_REQUESTED',
      'DATA_REMOVAL_FINISHED',
      ...inGroup('project'),
    ],
  },
] as const satisfies readonly { name: string; types: readonly EventType[] }[]

/** Types that are sent to webhooks: how deliveries go is told to subscribers only. */
export type SentType = Exclude<
  EventType,
  'TEXT_DELTA' | 'STREAM_STARTED' | 'WEBHOOK_FAILING' | 'WEBHOOK_RECOVERED' | 'WEBHOOK_DELIVERY_DEAD'
>

// A type of the schema that has no checkbox fails here.
typeGroups satisfies readonly { types: readonly SentType[] }[]
type Missing = Exclude<SentType, (typeof typeGroups)[number]['types'][number]>
null satisfies [Missing] extends [never] ? null : Missing

/** Every type that is sent, in the order of their groups. */
export const sentTypes: readonly SentType[] = typeGroups.flatMap(({ types }): readonly SentType[] => types)

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
