/** What was decided, by whom, how and why, and what became of it. */
import './decided.css'
import { useMemo } from 'react'
import { serverNow } from '../../api/clock.ts'
import { readAll } from '../../api/all-pages.ts'
import { usePages } from '../../api/pages.ts'
import { useAddress } from '../../parts/address.ts'
import { AgentField } from '../../parts/agent-field.tsx'
import { Export } from '../../parts/export.tsx'
import { ChoiceField, Filters, SearchField, StatusMenu, TimeField } from '../../parts/filters.tsx'
import { Listing } from '../../parts/listing.tsx'
import { usePlace } from '../../parts/place.ts'
import { PrincipalField } from '../../parts/principal-field.tsx'
import { useRowKeys } from '../../parts/row-keys.ts'
import { membersOf } from '../../parts/time-range.ts'
import { ToolField } from '../../parts/tool-field.tsx'
import { decidedQuery, type DecidedRow } from './decided-documents.ts'
import { filterOf, inputOf, isNarrowed, noFilter, outcomes } from './decided-filter.ts'
import { DecidedTableRow } from './decided-row.tsx'
import { DecidedTally } from './decided-tally.tsx'
import { questionTypes } from '../../parts/question/documents.ts'
import { t } from '../../texts/texts.tsx'

const columns = [
  t('Call'),
  t('Outcome'),
  t('Decided by'),
  t('Changed'),
  t('Agent'),
  t('Run'),
  t('Result'),
  t('When'),
]

/** The columns of a file. */
const exported: { name: string; of(row: DecidedRow): unknown }[] = [
  { name: 'id', of: ({ id }) => id },
  { name: 'tool', of: ({ toolName }) => toolName },
  { name: 'summary', of: ({ summary }) => summary.text },
  { name: 'outcome', of: ({ status }) => status },
  { name: 'void reason', of: ({ voidReason }) => voidReason },
  { name: 'agent', of: ({ agent }) => agent?.name },
  { name: 'requested by', of: ({ requester }) => requester.name ?? requester.id },
  { name: 'asked at', of: ({ createdAt }) => createdAt },
  { name: 'settled at', of: ({ settledAt }) => settledAt },
  { name: 'decided by', of: ({ votes }) => votes.map(({ byName }) => byName).join('; ') },
  { name: 'how', of: ({ votes }) => votes.map(({ via }) => via ?? '').join('; ') },
  { name: 'reason', of: ({ votes }) => votes.flatMap(({ reason }) => reason ?? []).join('; ') },
  { name: 'arguments', of: (row) => row.arguments },
  { name: 'original arguments', of: ({ originalArguments }) => originalArguments },
  { name: 'run', of: ({ generation }) => generation?.id },
  { name: 'call', of: ({ toolCall }) => toolCall?.id },
  { name: 'call outcome', of: ({ toolCall }) => toolCall?.status },
]

export function DecisionList() {
  const { params, go } = useAddress()
  const search = params.toString()
  const { filter, input } = useMemo(() => {
    const read = filterOf(new URLSearchParams(search))
    return { filter: read, input: inputOf(read, serverNow()) }
  }, [search])
  const orderBy = filter.isByQuestion ? 'CREATED_AT' : 'SETTLED_AT'
  const pages = usePages(decidedQuery, { filter: input, orderBy }, questionTypes)
  usePlace(`/approvals?${search}`, pages.nodes.length, pages)
  useRowKeys()
  return (
    <div className="screen-body">
      <DecidedFilters shown={pages.nodes} />
      <DecidedTally
        filter={input}
        by={filter.by}
        onNarrow={(id) => go(filter.by === 'TOOL' ? { tool: id } : { agent: id })}
      />
      <Export
        name="decided"
        columns={exported}
        read={(reading) => readAll(decidedQuery, { filter: input, orderBy }, reading)}
      />
      <Listing
        pages={pages}
        label={t('Decided')}
        columns={columns}
        empty={
          isNarrowed(params)
            ? {
                title: t('No matches'),
                text: t('Search matches whole words; the last word may be incomplete.'),
              }
            : {
                title: t('None yet'),
                text: t('Decisions appear here, each with the call it led to.'),
              }
        }
        renderRow={(one) => <DecidedTableRow key={one.id} row={one} />}
      />
    </div>
  )
}

/** What the list is narrowed to, and its order. */
function DecidedFilters({ shown }: { shown: readonly DecidedRow[] }) {
  const { params, go, replace } = useAddress()
  const filter = filterOf(params)
  const voters = shown.flatMap(({ votes }) => votes.map(({ by, byName }) => ({ id: by, name: byName })))
  return (
    <Filters>
      <SearchField
        label={t('Search or paste an id')}
        value={filter.search}
        most={200}
        isFirst
        onChange={(q) => replace({ q })}
      />
      <StatusMenu
        statuses={outcomes}
        chosen={filter.statuses}
        onChange={(statuses) => go({ status: statuses })}
      />
      <ToolField value={filter.toolId} onChange={(tool) => go({ tool })} />
      <AgentField value={filter.agentId} onChange={(agent) => go({ agent })} />
      <PrincipalField
        label={t('Decided by')}
        value={filter.decidedBy}
        shown={voters}
        onChange={(by) => go({ by })}
      />
      <TimeField range={filter.range} onChange={(range) => go(membersOf(range))} />
      <ChoiceField
        label={t('Order')}
        any={t('Newest outcome first')}
        value={filter.isByQuestion ? 'asked' : null}
        options={[{ value: 'asked', name: t('Newest request first') }]}
        onChange={(sort) => go({ sort })}
      />
      {isNarrowed(params) && (
        <button type="button" className="quiet" onClick={() => go(noFilter)}>
          {t('Clear')}
        </button>
      )}
    </Filters>
  )
}
