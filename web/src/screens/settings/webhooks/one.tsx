/** One webhook: its state, the ways to mend it, its settings, and what was sent to its endpoint. */
import './webhooks.css'
import { Link } from 'wouter'
import { useQuery } from '../../../api/query.ts'
import { CopyId } from '../../../parts/copy-id.tsx'
import { DetailPage } from '../../../parts/detail-page.tsx'
import { Fact } from '../../../parts/fact.tsx'
import { Ago, Moment } from '../../../parts/moments.tsx'
import { Principal } from '../../../parts/principal.tsx'
import { endpointText } from './draft.ts'
import { Deliveries } from './deliveries.tsx'
import { webhookQuery, webhookTypes, type OneWebhook } from './documents.ts'
import { Recipients } from './recipients.tsx'
import { Settings } from './settings.tsx'
import { WebhookStatus } from './status.tsx'
import { useWhileSeen } from './while-seen.ts'
import { Ways } from './ways.tsx'
import { t, numberText } from '../../../texts/texts.tsx'

export function WebhookScreen({ id }: { id: string }) {
  const read = useQuery(webhookQuery, { id }, { eventTypes: webhookTypes })
  const { data, reload } = read
  useWhileSeen(reload, data?.webhook)
  return (
    <DetailPage
      kind="webhook"
      list="/settings/webhooks"
      read={read}
      thing={data?.webhook}
      title={({ url }) => endpointText(url)}
      titleClass="hook-url"
      bodyClass="stack hook-page"
      renderHead={(webhook) => (
        <>
          <WebhookStatus webhook={webhook} />
          <span className="spread">
            <CopyId id={webhook.id} />
          </span>
        </>
      )}
      render={(webhook) => (
        <>
          <Facts webhook={webhook} />
          <Ways webhook={webhook} reload={reload} />
          <Deliveries webhook={webhook} reload={reload} />
          {webhook.callbackOf === null && (
            <>
              <Recipients webhook={webhook} reload={reload} />
              <Settings webhook={webhook} reload={reload} />
            </>
          )}
        </>
      )}
    />
  )
}

function Facts({ webhook }: { webhook: OneWebhook }) {
  const { deliveredCount, pendingCount, lastDeliveredAt, replayCount, disabledAt, callbackOf } = webhook
  return (
    <dl className="facts">
      <Fact name={t('Accepted')}>{numberText(deliveredCount)}</Fact>
      <Fact name={t('Will be sent again')}>
        <span className={pendingCount > 0 ? 'tone-warn' : undefined}>{numberText(pendingCount)}</span>
      </Fact>
      <Fact name={t('Last accepted')}>{lastDeliveredAt ? <Ago at={lastDeliveredAt} /> : t('never')}</Fact>
      <Fact name={t('Replays under way')}>{replayCount}</Fact>
      <Fact name={t('Created')}>
        <Ago at={webhook.createdAt} />
      </Fact>
      <Fact name={t('By')}>
        <Principal of={webhook.creator} />
      </Fact>
      {callbackOf !== null && (
        <Fact name={t('Callback of')}>
          {callbackOf.startsWith('gen_') ? (
            <Link href={`/runs/${callbackOf}`}>{t('the run')}</Link>
          ) : (
            <CopyId id={callbackOf} />
          )}
        </Fact>
      )}
      {disabledAt && (
        <Fact name={t('Disabled')}>
          <Ago at={disabledAt} />
        </Fact>
      )}
      {webhook.previousSecretUntil && (
        <Fact name={t('Previous secret signs until')}>
          <Moment at={webhook.previousSecretUntil} />
        </Fact>
      )}
    </dl>
  )
}
