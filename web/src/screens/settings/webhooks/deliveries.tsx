/** What was sent to an endpoint, newest first: by outcome and type, each with what came back. */
import { useState } from 'react'
import { usePages } from '../../../api/pages.ts'
import type { LoggedType } from '../../../api/feed.ts'
import { Choice } from '../../../parts/fields.tsx'
import { Listing } from '../../../parts/listing.tsx'
import { Segments } from '../../../parts/segments.tsx'
import { useAction } from '../../../parts/use-action.ts'
import { DeliveryRow } from './delivery.tsx'
import {
  deliveriesQuery,
  redeliverMutation,
  webhookTypes,
  type DeliveryStatus,
  type WebhookRow,
} from './documents.ts'
import { sentTypes, typeName } from './event-types.ts'
import { useWhileSeen } from './while-seen.ts'
import { t } from '../../../texts/texts.tsx'

const filters: readonly { value: DeliveryStatus | null; name: string }[] = [
  { value: null, name: t('All') },
  { value: 'DELIVERED', name: t('Accepted') },
  { value: 'PENDING', name: t('To retry') },
  { value: 'DEAD', name: t('Dead') },
]
const nothing = { nodes: [], pageInfo: { endCursor: null, hasNextPage: false } }

export function Deliveries({ webhook, reload }: { webhook: WebhookRow; reload(): void }) {
  const [status, setStatus] = useState<DeliveryStatus | null>(null)
  const [type, setType] = useState<LoggedType | ''>('')
  const pages = usePages(deliveriesQuery, { id: webhook.id, status, type: type || null }, webhookTypes, {
    of: (data) => data.webhook?.deliveries ?? nothing,
  })
  useWhileSeen(pages.reload, webhook)
  const { act, isRunning } = useAction(redeliverMutation)
  const redeliver = async (deliveryId: string) => {
    await act({ input: { deliveryId } }, t('It is sent again now.'))
    pages.reload()
    reload()
  }
  const types = webhook.types === null ? sentTypes : sentTypes.filter((one) => webhook.types!.includes(one))
  return (
    <section aria-label={t('Deliveries')}>
      <div className="row hook-filters">
        <h2>{t('Deliveries')}</h2>
        <Segments label={t('Status of deliveries')} value={status} options={filters} onChange={setStatus} />
        <Choice
          label={t('Type')}
          value={type}
          options={[
            { value: '', name: t('all types') },
            ...types.map((one) => ({ value: one, name: typeName(one) })),
          ]}
          onChange={setType}
        />
      </div>
      <Listing
        pages={pages}
        label={t('Deliveries')}
        columns={[t('Event'), t('Status'), t('Last answer'), '']}
        empty={{
          title: status === null && type === '' ? t('Nothing was sent yet') : t('None of these'),
          text: t(
            'Accepted deliveries are listed for 3 days, the newest 1,000; those refused at first for 30 days.',
          ),
        }}
        renderRow={(delivery) => (
          <DeliveryRow
            key={delivery.id}
            webhookId={webhook.id}
            delivery={delivery}
            maySend={!isRunning && webhook.status === 'ENABLED' && webhook.callbackOf === null}
            onSend={() => void redeliver(delivery.id)}
          />
        )}
      />
    </section>
  )
}
