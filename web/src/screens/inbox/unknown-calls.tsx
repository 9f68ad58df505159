/** Calls that were sent and never answered: only a person can find out what became of them. */
import { useMemo, useState } from 'react'
import { Link } from 'wouter'
import { serverNow } from '../../api/clock.ts'
import { usePages } from '../../api/pages.ts'
import { ActionButton } from '../../parts/confirm.tsx'
import { useAddress } from '../../parts/address.ts'
import { AgentField } from '../../parts/agent-field.tsx'
import { Filters, SearchField, TimeField } from '../../parts/filters.tsx'
import { Listing } from '../../parts/listing.tsx'
import { Ago } from '../../parts/moments.tsx'
import { usePlace } from '../../parts/place.ts'
import { ResolveCall } from '../../parts/resolve-call.tsx'
import { Sentence } from '../../parts/sentence.tsx'
import { Foreign } from '../../parts/text.tsx'
import { boundsOf, membersOf, rangeOf } from '../../parts/time-range.ts'
import { ToolField } from '../../parts/tool-field.tsx'
import { Votes } from '../../parts/votes.tsx'
import { unknownQuery, type UnknownRow } from './unknown-documents.ts'
import { t } from '../../texts/texts.tsx'

const nothing = { q: null, tool: null, agent: null, since: null, from: null, to: null }

/** The filter of the address, as the API takes it. */
function filterOf(given: URLSearchParams) {
  const word = (name: string) => given.get(name)?.trim() || null
  return {
    statuses: ['UNKNOWN' as const],
    search: word('q'),
    toolId: word('tool'),
    agentId: word('agent'),
    ...boundsOf(rangeOf(given), serverNow()),
  }
}

export function UnknownCalls() {
  const { params, go, replace } = useAddress()
  const search = params.toString()
  const filter = useMemo(() => filterOf(new URLSearchParams(search)), [search])
  const pages = usePages(unknownQuery, { filter }, ['TOOL_CALL_UNKNOWN', 'UNKNOWN_CALL_RESOLVED'])
  usePlace(`/unknown?${search}`, pages.nodes.length, pages)
  const [open, setOpen] = useState<UnknownRow | null>(null)
  return (
    <>
      <p className="mute">
        {t(
          'These calls were sent, but no answer came. They are never repeated automatically: check the tool, then record what happened.',
        )}
      </p>
      <Filters>
        <SearchField
          label={t('Search or paste an id')}
          value={params.get('q') ?? ''}
          most={200}
          isFirst
          onChange={(q) => replace({ q })}
        />
        <ToolField value={filter.toolId} onChange={(tool) => go({ tool })} />
        <AgentField value={filter.agentId} onChange={(agent) => go({ agent })} />
        <TimeField range={rangeOf(params)} onChange={(range) => go(membersOf(range))} />
        {search !== '' && (
          <button type="button" className="quiet" onClick={() => go(nothing)}>
            {t('Clear')}
          </button>
        )}
      </Filters>
      <Listing
        pages={pages}
        label={t('Calls with an unknown outcome')}
        columns={[t('Call'), t('Sent'), t('Why'), t('Approved by'), t('Run'), '']}
        empty={
          search === ''
            ? { title: t('No unknown calls'), text: t('Every call that was sent has been answered.') }
            : {
                title: t('No matching unknown calls'),
                text: t(
                  'Search matches whole words of the tool and the request; the last word may be incomplete.',
                ),
              }
        }
        renderRow={(call) => <Row key={call.id} call={call} onResolve={() => setOpen(call)} />}
      />
      {open && (
        <ResolveCall
          call={open}
          onClose={() => {
            setOpen(null)
            pages.reload()
          }}
        />
      )}
    </>
  )
}

function Row({ call, onResolve }: { call: UnknownRow; onResolve(): void }) {
  const { id, name, summary, approval, generation } = call
  return (
    <tr>
      <td>
        <Sentence of={approval?.summary ?? summary} />
        <div className="small mute mono">
          <Foreign text={name} max={80} />
        </div>
      </td>
      <td>
        <Ago at={call.startedAt ?? call.createdAt} />
      </td>
      <td className="mono small">{call.errorCode}</td>
      <td>
        {approval ? (
          <>
            <Votes votes={approval.votes} status={approval.status} />
            <Link href={`/approvals/${approval.id}`} className="cell-link">
              {t('open the request')}
            </Link>
          </>
        ) : (
          <span className="mute">{t('no request')}</span>
        )}
      </td>
      <td>
        {generation ? (
          <Link href={`/runs/${generation.id}?call=${id}`}>{t('open the run')}</Link>
        ) : (
          <span className="mute">{t('direct call')}</span>
        )}
      </td>
      <td className="actions">
        <ActionButton needs="toolCalls:Resolve" onClick={onResolve}>
          {t('Resolve …')}
        </ActionButton>
      </td>
    </tr>
  )
}
