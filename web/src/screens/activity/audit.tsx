/** Who did what, and what was refused. */
import { useId, useMemo, useState } from 'react'
import { serverNow } from '../../api/clock.ts'
import { graphql } from '../../api/document.ts'
import { readAll } from '../../api/all-pages.ts'
import { usePages } from '../../api/pages.ts'
import { useQuery } from '../../api/query.ts'
import { useThings } from '../../api/things.ts'
import { useAddress } from '../../parts/address.ts'
import { Export } from '../../parts/export.tsx'
import { ChoiceField, Filters, SearchField, TimeField } from '../../parts/filters.tsx'
import { Listing } from '../../parts/listing.tsx'
import { usePlace } from '../../parts/place.ts'
import { PrincipalField } from '../../parts/principal-field.tsx'
import { boundsOf, membersOf, rangeOf } from '../../parts/time-range.ts'
import { auditQuery, type Entry } from './audit-documents.ts'
import { AuditRow, idsOf } from './audit-row.tsx'
import { wordsOf } from '../../parts/badge.tsx'
import { t } from '../../texts/texts.tsx'

const ownActionsQuery = graphql(`
  query OwnActions {
    viewer {
      permissions {
        action
      }
    }
  }
`)

const outcomes = ['ALLOWED', 'DENIED', 'EXECUTED'] as const

const nothing = { action: null, outcome: null, by: null, on: null, since: null, from: null, to: null }

/** The filter of the address, as the API takes it. */
function filterOf(search: string) {
  const given = new URLSearchParams(search)
  const word = (name: string) => given.get(name)?.trim() || null
  return {
    action: word('action'),
    outcome: outcomes.find((one) => one === given.get('outcome')) ?? null,
    principalId: word('by'),
    resource: word('on'),
    ...boundsOf(rangeOf(given), serverNow()),
  }
}

/** The columns of a file. */
const exported: { name: string; of(entry: Entry): unknown }[] = [
  { name: 'id', of: ({ id }) => id },
  { name: 'when', of: ({ createdAt }) => createdAt },
  { name: 'action', of: ({ action }) => action },
  { name: 'outcome', of: ({ outcome }) => outcome },
  { name: 'by', of: ({ principal }) => principal.name ?? principal.id },
  { name: 'by id', of: ({ principal }) => principal.id },
  { name: 'resource', of: ({ resource }) => resource },
  { name: 'details', of: ({ details }) => details },
]

export function Audit() {
  const { params, go, replace } = useAddress()
  const search = params.toString()
  const filter = useMemo(() => filterOf(search), [search])
  const pages = usePages(auditQuery, { filter })
  usePlace(`/audit?${search}`, pages.nodes.length, pages)
  const [open, setOpen] = useState<string | null>(null)
  const { nodes } = pages
  const ids = useMemo(
    () => nodes.flatMap((entry) => Object.values(idsOf(entry)).filter((id) => id !== null)),
    [nodes],
  )
  const things = useThings(ids)
  return (
    <>
      <p className="row">
        <span className="mute">{t('Every change, refusal and execution, newest first.')}</span>
        <button type="button" className="spread" onClick={pages.reload}>
          {t('Refresh')}
        </button>
      </p>
      <Filters>
        <Actions value={params.get('action') ?? ''} onChange={(action) => replace({ action })} />
        <SearchField
          label={t('Resource')}
          value={params.get('on') ?? ''}
          most={200}
          onChange={(on) => replace({ on })}
        />
        <ChoiceField
          label={t('Outcome')}
          any={t('Any outcome')}
          value={filter.outcome}
          options={outcomes.map((value) => ({ value, name: wordsOf(value) }))}
          onChange={(outcome) => go({ outcome })}
        />
        <PrincipalField
          label={t('By')}
          value={filter.principalId}
          shown={pages.nodes.map((entry) => entry.principal)}
          hasSystem
          onChange={(by) => go({ by })}
        />
        <TimeField range={rangeOf(params)} onChange={(range) => go(membersOf(range))} />
        {search !== '' && (
          <button type="button" className="quiet" onClick={() => go(nothing)}>
            {t('Clear')}
          </button>
        )}
      </Filters>
      <Export name="audit" columns={exported} read={(reading) => readAll(auditQuery, { filter }, reading)} />
      <Listing
        pages={pages}
        label={t('Audit entries')}
        columns={[t('Action'), t('Outcome'), t('By'), t('On'), t('When'), '']}
        empty={
          search === ''
            ? { title: t('Nothing yet'), text: t('What people and programs do appears here.') }
            : { title: t('No matching entries'), text: t('Actions and resources are compared as a whole.') }
        }
        renderRow={(entry) => (
          <AuditRow
            key={entry.id}
            entry={entry}
            things={things}
            isOpen={open === entry.id}
            onToggle={() => setOpen(open === entry.id ? null : entry.id)}
            onNarrow={go}
          />
        )}
      />
    </>
  )
}

interface ActionsProps {
  value: string
  onChange(value: string): void
}

/** The action; those that one may do oneself are suggested. */
function Actions({ value, onChange }: ActionsProps) {
  const id = useId()
  const actions = useQuery(ownActionsQuery, {}).data?.viewer.permissions ?? []
  return (
    <>
      <SearchField label={t('Action')} value={value} suggestions={id} isFirst onChange={onChange} />
      <datalist id={id}>
        {actions.map(({ action }) => (
          <option key={action} value={action} />
        ))}
      </datalist>
    </>
  )
}
