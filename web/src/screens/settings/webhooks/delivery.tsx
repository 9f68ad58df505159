/** One delivery: its line in the list, and below it what was sent and every answer. */
import { useState } from 'react'
import { useQuery } from '../../../api/query.ts'
import { Badge } from '../../../parts/badge.tsx'
import { CopyId } from '../../../parts/copy-id.tsx'
import { JsonText } from '../../../parts/json-view.tsx'
import { Ago, Countdown } from '../../../parts/moments.tsx'
import { Failure, Skeleton } from '../../../parts/states.tsx'
import { AnswerLine } from './answer.tsx'
import { deliveryQuery, type Delivery, type DeliveryStatus } from './documents.ts'
import { typeName } from './event-types.ts'
import { t, T, plural } from '../../../texts/texts.tsx'

const looks: Record<DeliveryStatus, { status: string; word: string }> = {
  PENDING: { status: 'QUEUED', word: t('to retry') },
  DEAD: { status: 'FAILED', word: t('dead') },
  DELIVERED: { status: 'COMPLETED', word: t('accepted') },
}

const nothing = { messageId: null, payload: null, answers: [] }

interface Props {
  webhookId: string
  delivery: Delivery
  maySend: boolean
  onSend(): void
}

export function DeliveryRow({ webhookId, delivery, maySend, onSend }: Props) {
  const [isOpen, setOpen] = useState(false)
  const { type, status, attempts, answers, createdAt, nextAttemptAt } = delivery
  const newest = answers.at(-1)
  return (
    <>
      <tr>
        <td>
          <button
            type="button"
            className="quiet mono"
            aria-expanded={isOpen}
            onClick={() => setOpen(!isOpen)}
          >
            {typeName(type)}
          </button>
          <div className="small mute">
            <T text="first sent {time}" time={<Ago at={createdAt} />} />
          </div>
        </td>
        <td className="nowrap">
          <Badge {...looks[status]} />
          <div className="small mute">
            {plural(attempts, '1 try', '{count} tries')}
            {nextAttemptAt && (
              <>
                <T text=", next in {time}" time={<Countdown until={nextAttemptAt} />} />
              </>
            )}
          </div>
        </td>
        <td className="hook-answers">
          {newest ? <AnswerLine answer={newest} /> : <span className="mute">{t('none yet')}</span>}
        </td>
        <td className="actions">
          <button type="button" disabled={!maySend} onClick={onSend}>
            {t('Send again')}
          </button>
        </td>
      </tr>
      {isOpen && (
        <tr>
          <td colSpan={4} className="hook-delivery">
            <Details key={attempts} webhookId={webhookId} delivery={delivery} />
          </td>
        </tr>
      )}
    </>
  )
}

function Details({ webhookId, delivery: { id, answers, attempts } }: Pick<Props, 'webhookId' | 'delivery'>) {
  const { data, error, reload } = useQuery(deliveryQuery, { webhookId, id })
  if (error) return <Failure error={error} retry={reload} />
  if (!data) return <Skeleton lines={4} />
  const { messageId, payload, answers: read } = data.webhook?.delivery ?? nothing
  return (
    <div className="stack">
      <section className="stack" aria-label={t('Request')}>
        <h3>{t('Request')}</h3>
        {payload === null ? (
          <p className="mute">{t('The event is not in the log any more.')}</p>
        ) : (
          <>
            <p className="small mute row">
              {t('Recreated from the log, without links and codes of recipients. webhook-id')}{' '}
              {messageId && <CopyId id={messageId} />}
            </p>
            <JsonText value={payload} />
          </>
        )}
      </section>
      <section className="stack" aria-label={t('Response')}>
        <h3>{t('Response')}</h3>
        {attempts > answers.length && (
          <p className="small mute">
            {t('The newest {count} of {attempts}.', { count: answers.length, attempts })}
          </p>
        )}
        {answers.toReversed().map((answer) => (
          <AnswerLine
            key={answer.at}
            answer={{ ...answer, headers: read.find(({ at }) => at === answer.at)?.headers }}
          />
        ))}
      </section>
    </div>
  )
}
