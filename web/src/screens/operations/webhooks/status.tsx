/** Whether a webhook is sent events, why not, and how far it is. */
import { Badge } from '../../../parts/badge.tsx'
import { Ago } from '../../../parts/moments.tsx'
import type { WebhookRow } from './documents.ts'

const reasons: Record<NonNullable<WebhookRow['disabledReason']>, string> = {
  BY_REQUEST: 'by request',
  FAILING: 'nothing was accepted',
  GONE: 'the endpoint answered 410',
}

export function WebhookStatus({ webhook }: { webhook: WebhookRow }) {
  if (webhook.status === 'DISABLED')
    return (
      <span className="hook-status">
        <Badge status={webhook.disabledReason === 'BY_REQUEST' ? 'CANCELLED' : 'FAILED'} word="disabled" />
        <span className="small mute">{webhook.disabledReason && reasons[webhook.disabledReason]}</span>
      </span>
    )
  if (webhook.failingSince)
    return (
      <span className="hook-status">
        <Badge status="FAILED" word="failing" />
        <span className="small mute">
          since <Ago at={webhook.failingSince} />
        </span>
      </span>
    )
  return <Badge status="COMPLETED" word="enabled" />
}

export function Progress({ webhook }: { webhook: WebhookRow }) {
  const { deliveredCount, pendingCount, lastDeliveredAt, replayCount } = webhook
  return (
    <>
      {deliveredCount.toLocaleString('en')} accepted
      {pendingCount > 0 && <span className="tone-warn">, {pendingCount.toLocaleString('en')} to retry</span>}
      <div className="small mute">
        {lastDeliveredAt ? (
          <>
            last <Ago at={lastDeliveredAt} />
          </>
        ) : (
          'nothing yet'
        )}
        {replayCount > 0 && `, ${replayCount} ${replayCount === 1 ? 'replay' : 'replays'} under way`}
      </div>
    </>
  )
}
