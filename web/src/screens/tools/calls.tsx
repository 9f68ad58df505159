/** The ledger of a tool: its calls, each with its attempts. */
import { useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import { usePages } from '../../api/pages.ts'
import { Badge, wordsOf } from '../../parts/badge.tsx'
import { CopyId } from '../../parts/copy-id.tsx'
import { Content } from '../../parts/content.tsx'
import { durationText } from '../../parts/durations.ts'
import { Choice } from '../../parts/fields.tsx'
import { Arguments } from '../../parts/json-view.tsx'
import { Ago, Moment } from '../../parts/moments.tsx'
import { Empty, Failure, Skeleton } from '../../parts/states.tsx'
import { Foreign, LongText } from '../../parts/text.tsx'
import { callsQuery, callTypes, type Call } from './call-documents.ts'

const statuses = [
  'SUCCEEDED',
  'ERRORED',
  'UNKNOWN',
  'AWAITING_APPROVAL',
  'REJECTED',
  'EXPIRED',
  'EXECUTING',
  'AWAITING_CLIENT',
  'INVALID',
  'CANCELLED',
  'SKIPPED',
] as const

export function Calls({ toolId }: { toolId: string }) {
  const [params, setParams] = useSearchParams()
  const status = statuses.find((one) => one === params.get('status')) ?? null
  const pages = usePages(callsQuery, { toolId, status }, (data) => data.toolCalls, { hears: callTypes })
  return (
    <>
      <div className="row">
        <div className="action-choice">
          <Choice
            label="Status"
            value={status ?? ''}
            options={[
              { value: '', name: 'all' },
              ...statuses.map((value) => ({ value, name: wordsOf(value) })),
            ]}
            onChange={(value) =>
              setParams({ tab: 'calls', ...(value ? { status: value } : {}) }, { replace: true })
            }
          />
        </div>
        <button type="button" className="spread" onClick={pages.reload}>
          Read again
        </button>
      </div>
      {pages.error !== null && pages.nodes.length === 0 ? (
        <Failure error={pages.error} retry={pages.reload} />
      ) : pages.isLoading ? (
        <Skeleton lines={8} />
      ) : pages.nodes.length === 0 ? (
        <Empty title="No calls">
          {status ? 'No call has this status.' : 'Calls of agents, of MCP clients and from here stand here.'}
        </Empty>
      ) : (
        <ul className="calls">
          {pages.nodes.map((call) => (
            <CallRow key={call.id} call={call} />
          ))}
        </ul>
      )}
      {pages.hasMore && (
        <button type="button" onClick={pages.showMore}>
          Show more
        </button>
      )}
    </>
  )
}

function CallRow({ call }: { call: Call }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <li className="call">
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <span className="call-line">
            <Badge status={call.status} />
            <span className="mono small mute cut">
              {call.action && `${call.action} `}
              <Foreign text={JSON.stringify(call.arguments ?? call.rawArguments)} max={160} />
            </span>
            <span className="small mute">
              {call.startedAt && call.settledAt
                ? durationText(Date.parse(call.settledAt) - Date.parse(call.startedAt))
                : ''}
            </span>
            <span className="small nowrap">
              <Ago at={call.createdAt} />
            </span>
          </span>
        </summary>
        {isOpen && <CallDetail call={call} />}
      </details>
    </li>
  )
}

function CallDetail({ call }: { call: Call }) {
  return (
    <div className="call-detail">
      <div className="row small">
        <CopyId id={call.id} />
        <span className="mute">
          {wordsOf(call.source)}, version {call.toolVersion ?? 'unknown'}
        </span>
        {call.generation && <Link href={`/runs/${call.generation.id}?call=${call.id}`}>Show the run</Link>}
        {call.approval && <Link href={`/approvals/${call.approval.id}`}>Show its question</Link>}
        {call.errorCode && <span className="mono tone-bad">{call.errorCode}</span>}
      </div>
      {call.arguments ? (
        <Arguments value={call.arguments} />
      ) : (
        call.rawArguments && <LongText text={call.rawArguments} mono />
      )}
      {call.editedArguments.length > 0 && (
        <p className="small">
          An approver changed <span className="mono">{call.editedArguments.join(', ')}</span>.
        </p>
      )}
      {call.attempts.length > 0 && (
        <div className="table-scroll" tabIndex={0} role="region" aria-label="Attempts">
          <table>
            <thead>
              <tr>
                <th scope="col">Attempt</th>
                <th scope="col">Outcome</th>
                <th scope="col">Sent</th>
                <th scope="col">Took</th>
                <th scope="col">Idempotency-Key</th>
              </tr>
            </thead>
            <tbody>
              {call.attempts.map((one) => (
                <tr key={one.attempt}>
                  <td>{one.attempt}</td>
                  <td>
                    {one.outcome ? <Badge status={one.outcome} /> : <span className="mute">open</span>}
                    {one.errorCode && <span className="mono small"> {one.errorCode}</span>}
                  </td>
                  <td className="nowrap">
                    <Moment at={one.startedAt} />
                  </td>
                  <td className="nowrap">
                    {one.endedAt && durationText(Date.parse(one.endedAt) - Date.parse(one.startedAt))}
                  </td>
                  <td>
                    <CopyId id={one.idempotencyKey} label="key" />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <Content content={call.content} structured={call.structuredContent} />
    </div>
  )
}
