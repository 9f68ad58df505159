/** What an endpoint did not accept at first: tries, answers, when it is sent again. */
import { useState } from 'react'
import { usePages } from '../../../api/pages.ts'
import { Badge } from '../../../parts/badge.tsx'
import { Listing } from '../../../parts/listing.tsx'
import { Ago, Countdown } from '../../../parts/moments.tsx'
import { AnswerLine } from './answer.tsx'
import {
  deliveriesQuery,
  redeliverMutation,
  webhookTypes,
  type Delivery,
  type DeliveryStatus,
  type WebhookRow,
} from './documents.ts'
import { typeName } from './event-types.ts'
import { useWhileSeen } from './while-seen.ts'
import { Segments } from '../../../parts/segments.tsx'
import { useAction } from '../../../parts/use-action.ts'

const filters: readonly { value: DeliveryStatus | null; name: string }[] = [
  { value: null, name: 'All' },
  { value: 'PENDING', name: 'To retry' },
  { value: 'DEAD', name: 'Dead' },
  { value: 'DELIVERED', name: 'Accepted later' },
]
const looks: Record<DeliveryStatus, { status: string; word: string }> = {
  PENDING: { status: 'QUEUED', word: 'to retry' },
  DEAD: { status: 'FAILED', word: 'dead' },
  DELIVERED: { status: 'COMPLETED', word: 'accepted' },
}
const nothing = { nodes: [], pageInfo: { endCursor: null, hasNextPage: false } }

export function Deliveries({ webhook, reload }: { webhook: WebhookRow; reload(): void }) {
  const [status, setStatus] = useState<DeliveryStatus | null>(null)
  const pages = usePages(
    deliveriesQuery,
    { id: webhook.id, status },
    (data) => data.webhook?.deliveries ?? nothing,
    { eventTypes: webhookTypes },
  )
  useWhileSeen(pages.reload, webhook)
  const { act, isRunning } = useAction(redeliverMutation)
  const redeliver = async (deliveryId: string) => {
    await act({ input: { deliveryId } }, 'It is sent again now.')
    pages.reload()
    reload()
  }
  return (
    <section aria-label="Deliveries">
      <div className="row">
        <h2>Failed deliveries</h2>
        <Segments label="Status of deliveries" value={status} options={filters} onChange={setStatus} />
      </div>
      <Listing
        pages={pages}
        label="Deliveries"
        columns={['Event', 'Status', 'Answers', '']}
        empty={{
          title: status === null ? 'Nothing has failed' : 'None of these',
          text: 'Events that the endpoint did not accept at first stand here for 30 days.',
        }}
        renderRow={(delivery) => (
          <tr key={delivery.id}>
            <td>
              <span className="mono">{typeName(delivery.type)}</span>
              <div className="small mute">
                first sent <Ago at={delivery.createdAt} />
              </div>
            </td>
            <td className="nowrap">
              <Badge {...looks[delivery.status]} />
              <div className="small mute">
                {delivery.attempts} {delivery.attempts === 1 ? 'try' : 'tries'}
                {delivery.nextAttemptAt && (
                  <>
                    , next <Next at={delivery.nextAttemptAt} />
                  </>
                )}
              </div>
            </td>
            <td className="hook-answers">
              <Answers delivery={delivery} />
            </td>
            <td className="actions">
              <button
                type="button"
                disabled={isRunning || webhook.status !== 'ENABLED' || webhook.callbackOf !== null}
                onClick={() => void redeliver(delivery.id)}
              >
                Send again
              </button>
            </td>
          </tr>
        )}
      />
    </section>
  )
}

function Next({ at }: { at: string }) {
  return (
    <>
      in <Countdown until={at} />
    </>
  )
}

function Answers({ delivery: { answers } }: { delivery: Delivery }) {
  const newest = answers.at(-1)
  const earlier = answers.slice(0, -1).toReversed()
  if (!newest) return <span className="mute">none yet</span>
  return (
    <>
      <AnswerLine answer={newest} />
      {earlier.length > 0 && (
        <details>
          <summary className="small mute">{earlier.length} before</summary>
          {earlier.map((answer) => (
            <AnswerLine key={answer.at} answer={answer} />
          ))}
        </details>
      )}
    </>
  )
}
