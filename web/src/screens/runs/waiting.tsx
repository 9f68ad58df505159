/** What the run waits for, above everything else, with the way to it. */
import { Link } from 'wouter'
import { Icon } from '../../parts/icons.tsx'
import { Sentence } from '../../parts/sentence.tsx'
import { Foreign } from '../../parts/text.tsx'
import type { Run } from '../../parts/run/run-feed.ts'
import { t, T } from '../../texts/texts.tsx'

/** More are told as a number. */
const most = 5

export function Waiting({ run, onChoose }: { run: Run; onChoose(callId: string): void }) {
  const { requiredAction } = run
  if (!requiredAction) return null
  const { approvals, toolCalls } = requiredAction
  const left = Math.max(0, approvals.length - most) + Math.max(0, toolCalls.length - most)
  return (
    <ul className="run-waiting" aria-label={t('What the run waits for')}>
      {approvals.slice(0, most).map(({ id, summary, toolCall }) => (
        <li key={id}>
          <Icon name="clock" />
          <span>
            {t('Waits for a person:')} <Sentence of={summary} />
          </span>
          {toolCall ? (
            <button type="button" onClick={() => onChoose(toolCall.id)}>
              {t('Decide …')}
            </button>
          ) : (
            <Link href={`/approvals/${id}?run=${run.id}`} className="button">
              {t('Open the request')}
            </Link>
          )}
        </li>
      ))}
      {toolCalls.slice(0, most).map(({ id, name }) => (
        <li key={id}>
          <Icon name="clock" />
          <span>
            <T text="Waits for a client: {name}" name={<Foreign text={name} max={80} />} />
          </span>
          <button type="button" onClick={() => onChoose(id)}>
            {t('Answer …')}
          </button>
        </li>
      ))}
      {left > 0 && <li className="mute">{t('and {count} more', { count: left })}</li>}
    </ul>
  )
}
