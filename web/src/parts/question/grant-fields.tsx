/** Letting later calls pass as well, or rejecting them: for whom, for which arguments, how many and how long; or ending what asked. */
import { useViewer, type Viewer } from '../../api/viewer.ts'
import { agentCallOf } from './agent-call.tsx'
import type { Question } from './documents.ts'
import { sessionSchema, type GrantChoice, type Verdict } from './grant.ts'
import { t } from '../../texts/texts.tsx'

/** What a rejection can also end, in words; null when that is nothing, or not this person's to end. */
function endsOf(question: Question, viewer: Viewer | null): string | null {
  if (question.generation) return viewer?.may('generations:Cancel') ? t('If rejected, end the run') : null
  return agentCallOf(question)?.session ? t('If rejected, end the session') : null
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
  const ends = endsOf(question, useViewer())
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
      {ends && (
        <label className="row">
          <input
            type="checkbox"
            checked={value.of === 'STOP'}
            onChange={(event) => set({ of: event.target.checked ? 'STOP' : null })}
          />
          {ends}
        </label>
      )}
      {value.of && value.of !== 'STOP' && (
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
