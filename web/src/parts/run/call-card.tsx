/** One call as a card in a conversation: what it does, what became of it, and who decided about it. */
import { useState } from 'react'
import { Link } from 'wouter'
import { Badge } from '../badge.tsx'
import { durationText } from '../durations.ts'
import { Arguments } from '../json-view.tsx'
import { Ago } from '../moments.tsx'
import { Sentence } from '../sentence.tsx'
import { Failure, Skeleton } from '../states.tsx'
import { Foreign, LongText } from '../text.tsx'
import { Votes } from '../votes.tsx'
import type { Call } from './call-documents.ts'
import { ResultContent } from './result.tsx'
import type { CallRow } from './run-documents.ts'
import { useCall } from './use-call.ts'
import { t, T } from '../../texts/texts.tsx'

export function CallCard({ call: row, onChoose }: { call: CallRow; onChoose(): void }) {
  const [isOpen, setOpen] = useState({ arguments: false, result: false })
  const { name, status, approval, child, startedAt, settledAt, errorCode } = row
  // Only the call itself says what an approver changed.
  const isWanted = isOpen.arguments || isOpen.result || approval?.status === 'APPROVED'
  const read = useCall(row.id, row, { skip: !isWanted })
  const call = read.data?.toolCall ?? null
  const inside = (draw: (call: Call) => React.ReactNode) =>
    call ? draw(call) : read.error !== null ? <Failure error={read.error} /> : <Skeleton lines={2} />
  return (
    <li className="call-card" aria-label={t('Call of {name}', { name })}>
      <div className="row">
        <button type="button" className="quiet mono" onClick={onChoose}>
          <Foreign text={name} max={80} />
        </button>
        <Badge status={status} />
        {errorCode !== null && <span className="mono small">{errorCode}</span>}
        {startedAt !== null && settledAt !== null && (
          <span className="small mute spread">
            {durationText(Date.parse(settledAt) - Date.parse(startedAt))}
          </span>
        )}
      </div>
      {approval && (
        <p>
          <Sentence of={approval.summary} />
        </p>
      )}
      {approval && <Verdict approval={approval} edited={call?.editedArguments ?? []} />}
      {child && (
        <p className="small">
          <T
            text="Answered by a run of {name}"
            name={
              <Link href={`/runs/${child.id}`}>
                <Foreign text={child.agent?.name ?? t('an agent')} max={80} />
              </Link>
            }
          />{' '}
          <Badge status={child.status} />
        </p>
      )}
      <details onToggle={(event) => setOpen({ ...isOpen, arguments: event.currentTarget.open })}>
        <summary>{t('Arguments')}</summary>
        {isOpen.arguments && inside((one) => <Asked call={one} />)}
      </details>
      {settledAt !== null && (
        <details onToggle={(event) => setOpen({ ...isOpen, result: event.currentTarget.open })}>
          <summary>{t('Result')}</summary>
          {isOpen.result && inside((one) => <ResultContent call={one} />)}
        </details>
      )}
    </li>
  )
}

function Asked({ call }: { call: Call }) {
  if (call.arguments) return <Arguments value={call.arguments} schema={call.tool?.inputSchema ?? null} />
  return call.rawArguments === null ? (
    <p className="mute">{t('No arguments.')}</p>
  ) : (
    <LongText mono text={call.rawArguments} />
  )
}

/** What people said about the call, between the question and the result. */
function Verdict({ approval, edited }: { approval: NonNullable<CallRow['approval']>; edited: string[] }) {
  const { id, status, settledAt, votes } = approval
  return (
    <div className="call-verdict small">
      <p className="row">
        <Badge status={status} />
        {settledAt === null ? t('a person must decide') : <Ago at={settledAt} />}
        <Link href={`/approvals/${id}`}>{t('the request')}</Link>
      </p>
      <Votes votes={votes} status={status} />
      {edited.length > 0 && (
        <p>
          <T text="With changes of: {places}" places={<Foreign text={edited.join(', ')} max={400} />} />
        </p>
      )}
    </div>
  )
}
