/** Each time that a call was sent, and the key that the tool got with it. */
import { Badge } from '../../parts/badge.tsx'
import { CopyId } from '../../parts/copy-id.tsx'
import { durationText } from '../../parts/durations.ts'
import { Ago } from '../../parts/moments.tsx'
import type { Call } from '../../parts/run/call-documents.ts'
import { t, T, plural } from '../../texts/texts.tsx'

export function Attempts({ call: { attempts } }: { call: Call }) {
  if (attempts.length === 0) return null
  return (
    <section aria-label={t('Attempts')}>
      <h3>{plural(attempts.length, 'Sent once', 'Sent {count} times')}</h3>
      <ol className="lined">
        {attempts.map(({ attempt, startedAt, endedAt, outcome, errorCode, idempotencyKey }) => (
          <li key={attempt}>
            <p className="row">
              {outcome === null ? (
                <Badge status="EXECUTING" word={t('no outcome yet')} />
              ) : (
                <Badge status={outcome} />
              )}
              {errorCode !== null && <span className="mono">{errorCode}</span>}
              <span className="mute spread">
                {endedAt === null ? (
                  <Ago at={startedAt} />
                ) : (
                  durationText(Date.parse(endedAt) - Date.parse(startedAt))
                )}
              </span>
            </p>
            <p className="small mute run-key">
              <T text="Idempotency-Key {id}" id={<CopyId id={idempotencyKey} label={t('key')} />} />
            </p>
          </li>
        ))}
      </ol>
    </section>
  )
}
