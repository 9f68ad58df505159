/** Letting later calls pass as well, or rejecting them: for whom, for which arguments, how many and how long. */
import type { VariablesOf } from '../../api/document.ts'
import { agentCallOf } from './agent-call.tsx'
import type { decideMutation, Question } from './documents.ts'
import { t } from '../../texts/texts.tsx'

type GrantInput = NonNullable<VariablesOf<typeof decideMutation>['input']['grant']>

export type Verdict = 'APPROVE' | 'REJECT'

export interface GrantChoice {
  /** The verdict that is remembered; null: none is. */
  of: Verdict | null
  holder: 'AGENT' | 'CALLER' | 'THREAD'
  /** SESSION: writes of a coding agent below its working directory. */
  scope: 'EXACT' | 'SESSION' | 'TOOL'
  maxUses: number
  hours: number
}

export const noGrant: GrantChoice = { of: null, holder: 'THREAD', scope: 'EXACT', maxUses: 10, hours: 1 }

/** The grant as the mutation takes it; null when none is wanted with this verdict. */
export function grantInput(
  { of, holder, scope, maxUses, hours }: GrantChoice,
  verdict: Verdict,
  question: Question,
): GrantInput | null {
  if (of !== verdict) return null
  const covered =
    scope === 'SESSION' ? { scope: 'SCHEMA' as const, schema: sessionSchema(question) } : { scope }
  const grant = { holder, ...covered, expiresInSeconds: Math.round(hours * 3600) }
  return of === 'APPROVE' ? { ...grant, maxUses } : grant
}

/** The arguments that all writes of this session have in common; null when more is at stake than such writes. */
function sessionSchema(question: Question): Record<string, unknown> | null {
  const call = agentCallOf(question)
  if (!call || call.effects.join() !== 'write' || !call.session || !call.cwd) return null
  const { session, cwd, effects } = call
  const properties = { session: { const: session }, cwd: { const: cwd }, effects: { const: effects } }
  return { properties, required: Object.keys(properties) }
}

const words: Record<Verdict, string> = {
  APPROVE: t('Also approve later calls'),
  REJECT: t('Also reject later calls'),
}

interface Props {
  question: Question
  value: GrantChoice
  onChange(value: GrantChoice): void
}

export function GrantFields({ question, value, onChange }: Props) {
  const set = (part: Partial<GrantChoice>) => onChange({ ...value, ...part })
  const hasThread = question.generation !== null
  const holder = hasThread || value.holder === 'CALLER' ? value.holder : 'CALLER'
  return (
    <fieldset className="grant">
      <legend className="sr-only">{t('Later calls')}</legend>
      {(['APPROVE', 'REJECT'] as const).map((verdict) => (
        <label key={verdict} className="row">
          <input
            type="checkbox"
            checked={value.of === verdict}
            onChange={(event) => set({ of: event.target.checked ? verdict : null, holder })}
          />
          {words[verdict]}
        </label>
      ))}
      {value.of && (
        <div className="grant-fields">
          <label>
            <span>{t('Calls of')}</span>
            <select
              value={holder}
              onChange={(event) => set({ holder: event.target.value as GrantChoice['holder'] })}
            >
              {hasThread && <option value="THREAD">{t('this thread, for the same requester')}</option>}
              {question.agent && (
                <option value="AGENT">{t('this agent, in all runs of the same requester')}</option>
              )}
              <option value="CALLER">{t('the same key or person')}</option>
            </select>
          </label>
          <label>
            <span>{t('With')}</span>
            <select
              value={value.scope}
              onChange={(event) => set({ scope: event.target.value as GrantChoice['scope'] })}
            >
              <option value="EXACT">{t('exactly these arguments')}</option>
              {sessionSchema(question) && (
                <option value="SESSION">{t('any write below the working directory in this session')}</option>
              )}
              <option value="TOOL">{t('any arguments')}</option>
            </select>
          </label>
          {value.of === 'APPROVE' && (
            <label>
              <span>{t('Maximum calls')}</span>
              <input
                type="number"
                min={1}
                max={1000}
                value={value.maxUses}
                onChange={(event) =>
                  set({ maxUses: Math.min(1000, Math.max(1, event.target.valueAsNumber || 1)) })
                }
              />
            </label>
          )}
          <label>
            <span>{t('For')}</span>
            <select value={value.hours} onChange={(event) => set({ hours: Number(event.target.value) })}>
              <option value={0.25}>{t('15 minutes')}</option>
              <option value={1}>{t('1 hour')}</option>
              <option value={8}>{t('8 hours')}</option>
              <option value={24}>{t('1 day')}</option>
              <option value={168}>{t('7 days')}</option>
            </select>
          </label>
        </div>
      )}
    </fieldset>
  )
}
