/** Whether a webhook is sent events, why not, and how far it is. */
import { Badge } from '../../../parts/badge.tsx'
import { Ago } from '../../../parts/moments.tsx'
import type { WebhookRow } from './documents.ts'
import { t, T, plural } from '../../../texts/texts.tsx'

/** Why a webhook or a Slack integration is disabled. */
export const disabledReasons: Record<NonNullable<WebhookRow['disabledReason']>, string> = {
  BEHIND: t('retention removed events before it'),
  BY_REQUEST: t('by request'),
  FAILING: t('nothing was accepted'),
  GONE: t('the endpoint answered 410'),
  TOKEN_REVOKED: t('Slack does not accept the bot token any more'),
  REFUSED: t('Slack refuses the channel, or the token lacks a scope'),
}

export function WebhookStatus({ webhook }: { webhook: WebhookRow }) {
  if (webhook.status === 'DISABLED')
    return (
      <span className="status-line">
        <Badge
          status={webhook.disabledReason === 'BY_REQUEST' ? 'CANCELLED' : 'FAILED'}
          word={t('disabled')}
        />
        <span className="small mute">
          {webhook.disabledReason && disabledReasons[webhook.disabledReason]}
        </span>
      </span>
    )
  if (webhook.failingSince)
    return (
      <span className="status-line">
        <Badge status="FAILED" word={t('failing')} />
        <span className="small mute">
          <T text="since {time}" time={<Ago at={webhook.failingSince} />} />
        </span>
      </span>
    )
  return <Badge status="COMPLETED" word={t('enabled')} />
}

export function Progress({ webhook }: { webhook: WebhookRow }) {
  const { deliveredCount, pendingCount, lastDeliveredAt, replayCount } = webhook
  return (
    <>
      {t('{count} accepted', { count: deliveredCount })}
      {pendingCount > 0 && (
        <span className="tone-warn">{t(', {count} to retry', { count: pendingCount })}</span>
      )}
      <div className="small mute">
        {lastDeliveredAt ? <T text="last {time}" time={<Ago at={lastDeliveredAt} />} /> : t('nothing yet')}
        {replayCount > 0 && `, ${plural(replayCount, '1 replay under way', '{count} replays under way')}`}
      </div>
    </>
  )
}
