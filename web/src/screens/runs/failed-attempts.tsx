/** The requests to a model that failed: when, of which model, and what the provider said. */
import { durationText } from '../../parts/durations.ts'
import { Ago } from '../../parts/moments.tsx'
import { Foreign } from '../../parts/text.tsx'
import type { FailedAttempt } from '../../parts/run/run-documents.ts'
import { t } from '../../texts/texts.tsx'

export function FailedAttempts({ of: attempts }: { of: readonly FailedAttempt[] }) {
  return (
    <ol className="lined">
      {attempts.map(({ stepIndex, attempt, code, message, httpStatus, model, startedAt, failedAt }) => (
        <li key={`${stepIndex} ${attempt}`}>
          <p className="row small">
            <span>{t('Attempt {attempt}', { attempt })}</span>
            <span className="mono tone-bad">{code}</span>
            {httpStatus !== null && <span>HTTP {httpStatus}</span>}
            <span className="mute spread">
              <Ago at={failedAt} />
              {startedAt !== null &&
                t(', after {time}', {
                  time: durationText(Date.parse(failedAt) - Date.parse(startedAt)),
                })}
            </span>
          </p>
          <p className="small mute">
            <Foreign text={model} max={80} />
            {message !== null && (
              <>
                {': '}
                <Foreign text={message} max={600} />
              </>
            )}
          </p>
        </li>
      ))}
    </ol>
  )
}
