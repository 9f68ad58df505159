/** A call as it is now: its result, or what it waits for. */
import { useEffect } from 'react'
import { Link } from 'wouter'
import { useQuery } from '../../api/query.ts'
import { Badge } from '../../parts/badge.tsx'
import { CopyId } from '../../parts/copy-id.tsx'
import { durationText } from '../../parts/durations.ts'
import { Content } from '../../parts/content.tsx'
import { Countdown } from '../../parts/moments.tsx'
import { Failure, Skeleton } from '../../parts/states.tsx'
import { callQuery, callTypes, type Call } from './call-documents.ts'
import { t, T } from '../../texts/texts.tsx'

const ended = new Set([
  'SUCCEEDED',
  'ERRORED',
  'REJECTED',
  'EXPIRED',
  'CANCELLED',
  'UNKNOWN',
  'INVALID',
  'SKIPPED',
])

/** How often a call that runs is read again, in milliseconds: its end is no event of the page's feed. */
const readMs = 1_000

export function CallResult({ id }: { id: string }) {
  const { data, error, reload } = useQuery(callQuery, { id }, { eventTypes: callTypes })
  const call = data?.toolCall
  const status = call?.status
  useEffect(() => {
    if (!status || ended.has(status) || status === 'AWAITING_APPROVAL') return
    const timer = setInterval(reload, readMs)
    return () => clearInterval(timer)
  }, [status, reload])
  if (error && !call) return <Failure error={error} retry={reload} />
  if (!call) return <Skeleton lines={4} />
  return (
    <article className="stack" aria-label={t('The call')}>
      <div className="row">
        <Badge status={call.status} />
        {call.startedAt && call.settledAt && (
          <span className="mute">
            {durationText(Date.parse(call.settledAt) - Date.parse(call.startedAt))}
          </span>
        )}
        <span className="spread">
          <CopyId id={call.id} />
        </span>
      </div>
      {call.approval && <Gated call={call} />}
      {call.errorCode && (
        <p className="tone-bad">
          <span className="mono">{call.errorCode}</span>
        </p>
      )}
      {call.status === 'UNKNOWN' && (
        <p>
          <T
            text="The call was sent and no final result arrived. It may have taken effect. {link}"
            link={<Link href="/unknown">{t('Resolve it')}</Link>}
          />
        </p>
      )}
      <Content content={call.content} structured={call.structuredContent} />
    </article>
  )
}

function Gated({ call }: { call: Call }) {
  const { approval } = call
  if (!approval) return null
  return (
    <p>
      {approval.status === 'PENDING' ? (
        <>
          <T
            text="The gate stopped the call. {link}, {time} left."
            link={<Link href={`/approvals/${approval.id}`}>{t('Open the request')}</Link>}
            time={<Countdown until={approval.expiresAt} />}
          />
        </>
      ) : (
        <>
          <T
            text="Its approval request: {badge} {link}"
            badge={<Badge status={approval.status} />}
            link={<Link href={`/approvals/${approval.id}`}>{t('open it')}</Link>}
          />
        </>
      )}
    </p>
  )
}
