/** A gate in a few words, and as a badge. */
import type { Mode } from './gate-draft.ts'
import { spanText } from './durations.ts'
import { t } from '../texts/texts.tsx'

interface Summary {
  mode: Mode
  source?: 'DEFAULT' | 'DESTRUCTIVE_HINT' | 'OPERATOR'
  quorum: number
  approvers: readonly string[]
  timeoutSeconds: number
  excludeRequester: boolean
}

const modeWords: Record<Mode, string> = {
  NEVER: t('lets calls pass'),
  ALWAYS: t('stops every call'),
  WHEN: t('stops some calls'),
}

const shapes: Record<Mode, { tone: string; path: string }> = {
  NEVER: { tone: 'queue', path: 'M3 8h10M9.5 4.5 13 8l-3.5 3.5' },
  ALWAYS: { tone: 'human', path: 'M5.5 2.5h5l3 3v5l-3 3h-5l-3-3v-5Z' },
  WHEN: { tone: 'human', path: 'M8 14V8.5M8 8.5 3.5 3.5M8 8.5l4.5-5' },
}

/** Who must approve: 2 of APPROVER. */
export function requirementText({
  quorum,
  approvers,
}: {
  quorum: number
  approvers: readonly (readonly string[] | string)[]
}): string {
  const lists = approvers.map((one) => (typeof one === 'string' ? one : one.join(` ${t('or')} `)))
  const separator = approvers.some((one) => typeof one !== 'string') ? ` ${t('and')} ` : ` ${t('or')} `
  return lists.length === 0
    ? t('{quorum} of those who may decide', { quorum })
    : t('{quorum} of {roles}', { quorum, roles: lists.join(separator) })
}

export function GateBadge({ gate }: { gate: Summary }) {
  const { tone, path } = shapes[gate.mode]
  const isHint = gate.source === 'DESTRUCTIVE_HINT'
  return (
    <span className={`badge tone-${tone}`} title={gate.mode === 'NEVER' ? undefined : gateText(gate)}>
      <svg className="icon" viewBox="0 0 16 16" width="14" height="14" aria-hidden="true" focusable="false">
        <path d={path} />
      </svg>
      {modeWords[gate.mode]}
      {isHint && t(', as destructive')}
      {gate.mode !== 'NEVER' && gate.quorum > 1 && t(', {quorum} people', { quorum: gate.quorum })}
    </span>
  )
}

/** The whole rule as a sentence. */
export function gateText(gate: Summary): string {
  if (gate.mode === 'NEVER') return t('Every call passes without approval.')
  const when = gate.mode === 'ALWAYS' ? t('Every call') : t('A call that matches the conditions')
  const not = gate.excludeRequester ? t(', not by the requester') : ''
  return t('{when} waits for {who}{not}, for up to {time}.', {
    when,
    who: requirementText(gate),
    not,
    time: spanText(gate.timeoutSeconds),
  })
}
