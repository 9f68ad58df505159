/** The ledger of a tool: its calls, each with its attempts. */
import { useMemo, useState } from 'react'
import { Link } from 'wouter'
import { writeJson } from '../../../../src/core/exact-json.ts'
import { serverNow } from '../../api/clock.ts'
import { usePages } from '../../api/pages.ts'
import { useAddress } from '../../parts/address.ts'
import { AgentField } from '../../parts/agent-field.tsx'
import { Badge, wordsOf } from '../../parts/badge.tsx'
import { CopyId } from '../../parts/copy-id.tsx'
import { Content } from '../../parts/content.tsx'
import { durationText } from '../../parts/durations.ts'
import { Filters, NarrowingChip, StatusMenu, TimeField } from '../../parts/filters.tsx'
import { Arguments } from '../../parts/json-view.tsx'
import { Ago, Moment } from '../../parts/moments.tsx'
import { usePlace } from '../../parts/place.ts'
import { Empty, Failure, Skeleton } from '../../parts/states.tsx'
import { Foreign, LongText } from '../../parts/text.tsx'
import { boundsOf, membersOf, rangeOf } from '../../parts/time-range.ts'
import { callsQuery, callTypes, type Call } from './call-documents.ts'
import { t, T } from '../../texts/texts.tsx'

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

const nothing = { status: null, agent: null, run: null, since: null, from: null, to: null }

/** The filter of the address, as the API takes it. */
function filterOf(toolId: string, search: string) {
  const given = new URLSearchParams(search)
  const chosen = given.getAll('status')
  const of = statuses.filter((one) => chosen.includes(one))
  return {
    toolId,
    statuses: of.length === 0 ? null : of,
    agentId: given.get('agent'),
    generationId: given.get('run'),
    ...boundsOf(rangeOf(given), serverNow()),
  }
}

export function Calls({ toolId }: { toolId: string }) {
  const { params, go } = useAddress()
  const search = params.toString()
  const filter = useMemo(() => filterOf(toolId, search), [toolId, search])
  const pages = usePages(callsQuery, { filter, first: 30 }, callTypes)
  usePlace(`/tools/${toolId}?${search}`, pages.nodes.length, pages)
  const { statuses: chosen, agentId, generationId } = filter
  const isFiltered = [...params.keys()].some((name) => name !== 'tab')
  return (
    <>
      <div className="row calls-head">
        <Filters>
          <StatusMenu
            statuses={statuses}
            chosen={chosen ?? []}
            isFirst
            onChange={(status) => go({ status })}
          />
          <AgentField value={agentId} onChange={(agent) => go({ agent })} />
          <TimeField range={rangeOf(params)} onChange={(range) => go(membersOf(range))} />
          {generationId !== null && (
            <NarrowingChip name={t('One run')} id={generationId} onClear={() => go({ run: null })} />
          )}
          {isFiltered && (
            <button type="button" className="quiet" onClick={() => go(nothing)}>
              {t('Clear')}
            </button>
          )}
        </Filters>
        <button type="button" className="spread" onClick={pages.reload}>
          {t('Refresh')}
        </button>
      </div>
      {pages.error !== null && pages.nodes.length === 0 ? (
        <Failure error={pages.error} retry={pages.reload} />
      ) : pages.isLoading ? (
        <Skeleton lines={8} />
      ) : pages.nodes.length === 0 ? (
        <Empty title={t('No calls')}>
          {isFiltered
            ? t('No matching calls.')
            : t('Calls from agents, MCP clients and this dashboard appear here.')}
        </Empty>
      ) : (
        <ul className="calls">
          {pages.nodes.map((call) => (
            <CallRow key={call.id} call={call} onRun={(run) => go({ run })} />
          ))}
        </ul>
      )}
      {pages.hasMore && (
        <button type="button" onClick={pages.showMore}>
          {t('Show more')}
        </button>
      )}
    </>
  )
}

interface CallRowProps {
  call: Call
  /** Narrows the list to the calls of a run. */
  onRun(id: string): void
}

function CallRow({ call, onRun }: CallRowProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <li className="call">
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <span className="call-line">
            <Badge status={call.status} />
            <span className="mono small mute cut">
              {call.action && `${call.action} `}
              <Foreign text={writeJson(call.arguments ?? call.rawArguments)} max={160} />
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
        {isOpen && <CallDetail call={call} onRun={onRun} />}
      </details>
    </li>
  )
}

function CallDetail({ call, onRun }: CallRowProps) {
  return (
    <div className="stack call-detail">
      <div className="row small">
        <CopyId id={call.id} />
        <span className="mute">
          {t('{source}, version {version}', {
            source: wordsOf(call.source),
            version: call.toolVersion ?? t('unknown'),
          })}
        </span>
        {call.generation && <Link href={`/runs/${call.generation.id}?call=${call.id}`}>{t('Open run')}</Link>}
        {call.generation && (
          <button type="button" className="quiet" onClick={() => onRun(call.generation!.id)}>
            {t('Calls of this run')}
          </button>
        )}
        {call.approval && <Link href={`/approvals/${call.approval.id}`}>{t('Open its request')}</Link>}
        {call.errorCode && <span className="mono tone-bad">{call.errorCode}</span>}
      </div>
      {call.arguments ? (
        <Arguments value={call.arguments} />
      ) : (
        call.rawArguments && <LongText text={call.rawArguments} mono />
      )}
      {call.editedArguments.length > 0 && (
        <p className="small">
          <T
            text="An approver changed {places}."
            places={<span className="mono">{call.editedArguments.join(', ')}</span>}
          />
        </p>
      )}
      {call.attempts.length > 0 && (
        <div className="table-scroll" tabIndex={0} role="region" aria-label={t('Attempts')}>
          <table>
            <thead>
              <tr>
                <th scope="col">{t('Attempt')}</th>
                <th scope="col">{t('Outcome')}</th>
                <th scope="col">{t('Sent')}</th>
                <th scope="col">{t('Duration')}</th>
                <th scope="col">{t('Idempotency-Key')}</th>
              </tr>
            </thead>
            <tbody>
              {call.attempts.map((one) => (
                <tr key={one.attempt}>
                  <td>{one.attempt}</td>
                  <td>
                    {one.outcome ? <Badge status={one.outcome} /> : <span className="mute">{t('open')}</span>}
                    {one.errorCode && <span className="mono small"> {one.errorCode}</span>}
                  </td>
                  <td className="nowrap">
                    <Moment at={one.startedAt} />
                  </td>
                  <td className="nowrap">
                    {one.endedAt && durationText(Date.parse(one.endedAt) - Date.parse(one.startedAt))}
                  </td>
                  <td>
                    <CopyId id={one.idempotencyKey} label={t('key')} />
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
