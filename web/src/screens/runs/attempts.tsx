/** Each time that a call was sent, and the key that the tool got with it. */
import { Badge } from '../../parts/badge.tsx'
import { CopyId } from '../../parts/copy-id.tsx'
import { durationText } from '../../parts/durations.ts'
import { Ago } from '../../parts/moments.tsx'
import type { Call } from '../../parts/run/call-documents.ts'

export function Attempts({ call: { attempts } }: { call: Call }) {
  if (attempts.length === 0) return null
  return (
    <section aria-label="Attempts">
      <h3>{attempts.length === 1 ? 'Sent once' : `Sent ${attempts.length} times`}</h3>
      <ol className="run-attempts">
        {attempts.map(({ attempt, startedAt, endedAt, outcome, errorCode, idempotencyKey }) => (
          <li key={attempt}>
            <p className="row">
              {outcome === null ? (
                <Badge status="EXECUTING" word="no outcome yet" />
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
              Idempotency-Key <CopyId id={idempotencyKey} label="key" />
            </p>
          </li>
        ))}
      </ol>
    </section>
  )
}
