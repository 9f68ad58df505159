/** What an endpoint did not accept at first: tries, answers, when it is sent again. */
import { useState } from 'react'
import { refusalOf } from '../../api/outcome.ts'
import { usePages } from '../../api/pages.ts'
import { useMutation } from '../../api/query.ts'
import { Badge } from '../../parts/badge.tsx'
import { Listing } from '../../parts/listing.tsx'
import { Ago, Countdown } from '../../parts/moments.tsx'
import { toast } from '../../parts/toasts.tsx'
import { AnswerLine } from './webhooks-answer.tsx'
import {
  deliveriesQuery,
  redeliverMutation,
  webhookTypes,
  type Delivery,
  type DeliveryStatus,
  type WebhookRow,
} from './webhooks-documents.ts'
import { typeName } from './webhooks-types.ts'
import { useWhileSeen } from './webhooks-while-seen.ts'

const filters: readonly { status: DeliveryStatus | null; name: string }[] = [
  { status: null, name: 'All' },
  { status: 'PENDING', name: 'To retry' },
  { status: 'DEAD', name: 'Dead' },
  { status: 'DELIVERED', name: 'Accepted later' },
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
    { hears: webhookTypes },
  )
  useWhileSeen(pages.reload, webhook)
  const { mutate, isRunning } = useMutation(redeliverMutation)
  const redeliver = async (deliveryId: string) => {
    const result = (await mutate({ input: { deliveryId } }))?.redeliverWebhook
    const refused = refusalOf(result)
    if (!result || refused) toast(refused?.message ?? 'The server did not answer.', { tone: 'bad' })
    else toast('It is sent again now.')
    pages.reload()
    reload()
  }
  return (
    <section aria-label="Deliveries">
      <div className="row">
        <h2>Not accepted at first</h2>
        <div className="segments" role="group" aria-label="Status of deliveries">
          {filters.map((one) => (
            <button
              key={one.name}
              type="button"
              aria-pressed={one.status === status}
              onClick={() => setStatus(one.status)}
            >
              {one.name}
            </button>
          ))}
        </div>
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
