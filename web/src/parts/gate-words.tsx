/** A gate in a few words, and as a badge. */
import type { Mode } from './gate-draft.ts'

interface Summary {
  mode: Mode
  source?: 'DEFAULT' | 'DESTRUCTIVE_HINT' | 'OPERATOR'
  quorum: number
  approvers: readonly string[]
  timeoutSeconds: number
  excludeRequester: boolean
}

const modeWords: Record<Mode, string> = {
  NEVER: 'lets calls pass',
  ALWAYS: 'stops every call',
  WHEN: 'stops some calls',
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
  const lists = approvers.map((one) => (typeof one === 'string' ? one : one.join(' or ')))
  const separator = approvers.some((one) => typeof one !== 'string') ? ' and ' : ' or '
  return lists.length === 0 ? `${quorum} of those who may decide` : `${quorum} of ${lists.join(separator)}`
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
      {isHint && ', as destructive'}
      {gate.mode !== 'NEVER' && gate.quorum > 1 && `, ${gate.quorum} people`}
    </span>
  )
}

/** A span in its largest whole unit: 300 seconds are 5 minutes. */
export function spanText(seconds: number): string {
  const units = [
    ['day', 86_400],
    ['hour', 3600],
    ['minute', 60],
    ['second', 1],
  ] as const
  const [name, size] = units.find((unit) => seconds % unit[1] === 0) ?? units[3]
  const count = seconds / size
  return `${count} ${name}${count === 1 ? '' : 's'}`
}

/** The whole rule as a sentence. */
export function gateText(gate: Summary): string {
  if (gate.mode === 'NEVER') return 'Every call passes without approval.'
  const when = gate.mode === 'ALWAYS' ? 'Every call' : 'A call that fits the conditions'
  const not = gate.excludeRequester ? ', not by who asked' : ''
  return `${when} waits for ${requirementText(gate)}${not}, for ${spanText(gate.timeoutSeconds)} at most.`
}
