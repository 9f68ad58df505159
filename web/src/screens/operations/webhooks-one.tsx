/** One webhook: its state, the ways to mend it, its settings, and what the endpoint did not accept at first. */
import './webhooks.css'
import { Link } from 'wouter'
import { useQuery } from '../../api/query.ts'
import { CopyId } from '../../parts/copy-id.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Ago, Moment } from '../../parts/moments.tsx'
import { Principal } from '../../parts/principal.tsx'
import { Empty, Failure, Skeleton } from '../../parts/states.tsx'
import { Foreign } from '../../parts/text.tsx'
import { Deliveries } from './webhooks-deliveries.tsx'
import { webhookQuery, webhookTypes, type OneWebhook } from './webhooks-documents.ts'
import { Recipients } from './webhooks-recipients.tsx'
import { Settings } from './webhooks-settings.tsx'
import { WebhookStatus } from './webhooks-status.tsx'
import { useWhileSeen } from './webhooks-while-seen.ts'
import { Ways } from './webhooks-ways.tsx'

export function WebhookScreen({ id }: { id: string }) {
  const { data, error, reload } = useQuery(webhookQuery, { id }, { hears: webhookTypes })
  const webhook = data?.webhook
  useWhileSeen(reload, webhook)
  if (error && !webhook) return <Failure error={error} retry={reload} />
  if (!data) return <Skeleton lines={8} />
  if (!webhook)
    return (
      <Empty title="This webhook does not exist any more">
        <Link href="/operations/webhooks">All webhooks</Link>
      </Empty>
    )
  return (
    <>
      <header className="screen-head">
        <Link href="/operations/webhooks" className="mute" aria-label="All webhooks">
          <Icon name="back" />
        </Link>
        <h1 className="hook-url">
          <Foreign text={webhook.url} max={120} />
        </h1>
        <WebhookStatus webhook={webhook} />
        <span className="spread">
          <CopyId id={webhook.id} />
        </span>
      </header>
      <div className="screen-body hook-page">
        {error !== null && <Failure error={error} retry={reload} />}
        <Facts webhook={webhook} />
        <Ways webhook={webhook} reload={reload} />
        <Deliveries webhook={webhook} reload={reload} />
        {webhook.callbackOf === null && (
          <>
            <Recipients webhook={webhook} reload={reload} />
            <Settings webhook={webhook} reload={reload} />
          </>
        )}
      </div>
    </>
  )
}

function Facts({ webhook }: { webhook: OneWebhook }) {
  const { deliveredCount, pendingCount, lastDeliveredAt, replayCount, disabledAt, callbackOf } = webhook
  return (
    <dl className="facts">
      <div>
        <dt>Accepted</dt>
        <dd>{deliveredCount.toLocaleString('en')}</dd>
      </div>
      <div>
        <dt>Will be sent again</dt>
        <dd className={pendingCount > 0 ? 'tone-warn' : undefined}>{pendingCount.toLocaleString('en')}</dd>
      </div>
      <div>
        <dt>Last accepted</dt>
        <dd>{lastDeliveredAt ? <Ago at={lastDeliveredAt} /> : 'never'}</dd>
      </div>
      <div>
        <dt>Replays under way</dt>
        <dd>{replayCount}</dd>
      </div>
      <div>
        <dt>Made</dt>
        <dd>
          <Ago at={webhook.createdAt} />
        </dd>
      </div>
      <div>
        <dt>By</dt>
        <dd>
          <Principal of={webhook.creator} />
        </dd>
      </div>
      {callbackOf !== null && (
        <div>
          <dt>Callback of</dt>
          <dd>
            {callbackOf.startsWith('gen_') ? (
              <Link href={`/runs/${callbackOf}`}>the run</Link>
            ) : (
              <CopyId id={callbackOf} />
            )}
          </dd>
        </div>
      )}
      {disabledAt && (
        <div>
          <dt>Disabled</dt>
          <dd>
            <Ago at={disabledAt} />
          </dd>
        </div>
      )}
      {webhook.previousSecretUntil && (
        <div>
          <dt>Previous secret signs until</dt>
          <dd>
            <Moment at={webhook.previousSecretUntil} />
          </dd>
        </div>
      )}
    </dl>
  )
}
