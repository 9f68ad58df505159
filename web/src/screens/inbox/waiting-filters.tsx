/** What the list of waiting requests is narrowed to, sorted and grouped by; and the box that selects all of it. */
import { useMemo } from 'react'
import { graphql } from '../../api/document.ts'
import { useQuery } from '../../api/query.ts'
import { useAddress } from '../../parts/address.ts'
import { ChoiceField, Filters, SearchField } from '../../parts/filters.tsx'
import { questionTypes } from '../../parts/question/documents.ts'
import { numberText, t } from '../../texts/texts.tsx'
import type { PendingRow } from './pending.ts'
import type { Questions } from './use-questions.ts'
import {
  isNarrowed,
  noFilter,
  numberNames,
  partOptions,
  repeatedNames,
  viewOf,
  type Option,
  type Part,
} from './waiting-view.ts'

const schemaQuery = graphql(`
  query AskedSchema($id: ID!) {
    approval(id: $id) {
      question {
        inputSchema
      }
    }
  }
`)

/** What the arguments of the call are called, by their titles. */
function useTitles(first: PendingRow | undefined): (name: string) => string {
  const { data } = useQuery(schemaQuery, { id: first?.id ?? '' }, { skip: !first })
  const properties = data?.approval?.question?.inputSchema?.['properties']
  return (name) => {
    const title = (properties as Record<string, { title?: unknown } | undefined> | undefined)?.[name]?.title
    return typeof title === 'string' ? title : name
  }
}

const parts: { part: Part; label: string; any: string }[] = [
  { part: 'tool', label: t('Tool'), any: t('Any tool') },
  { part: 'agent', label: t('Agent'), any: t('Any agent') },
  { part: 'requester', label: t('Requested by'), any: t('Anybody') },
]

export function WaitingFilters({ questions: { all, rows } }: { questions: Questions }) {
  const { params, go, replace } = useAddress()
  const view = viewOf(params)
  const options = useMemo(() => {
    const waiting = [...all.values()]
    return new Map(parts.map(({ part }) => [part, partOptions(waiting, part)]))
  }, [all])
  const [numbers, texts] = useMemo(() => [numberNames(rows), repeatedNames(rows)], [rows])
  const titleOf = useTitles(numbers.length > 0 || texts.length > 0 ? rows[0] : undefined)
  const sorts: Option[] = [
    { value: 'newest', name: t('Newest request first') },
    ...numbers.flatMap((name) => [
      { value: `most:${name}`, name: t('{field}, largest first', { field: titleOf(name) }) },
      { value: `least:${name}`, name: t('{field}, smallest first', { field: titleOf(name) }) },
    ]),
  ]
  const groups: Option[] = [
    { value: 'tool', name: t('By tool') },
    { value: 'agent', name: t('By agent') },
    { value: 'requester', name: t('By requester') },
    { value: 'sentence', name: t('Same sentence') },
    ...texts.map((name) => ({ value: `value:${name}`, name: t('Same {field}', { field: titleOf(name) }) })),
  ]
  const isSet = view.tool ?? view.agent ?? view.requester ?? view.sort ?? view.group
  return (
    <div className="inbox-search">
      <SearchField
        label={t('Search or paste an id')}
        value={view.search}
        most={200}
        isFirst
        onChange={(q) => replace({ q })}
      />
      {(all.size > 1 || isSet !== null) && (
        <details open={isSet !== null || undefined}>
          <summary className="small mute">{t('Filter, sort and group')}</summary>
          <Filters>
            {parts.map(({ part, label, any }) => (
              <ChoiceField
                key={part}
                label={label}
                any={any}
                value={view[part]}
                options={options.get(part)!}
                onChange={(value) => go({ [part]: value })}
              />
            ))}
            <ChoiceField
              label={t('Order')}
              any={t('Time left')}
              value={view.sort}
              options={sorts}
              onChange={(sort) => go({ sort })}
            />
            <ChoiceField
              label={t('Groups')}
              any={t('Not grouped')}
              value={view.group}
              options={groups}
              onChange={(group) => go({ group })}
            />
            {isNarrowed(view) && (
              <button type="button" className="quiet" onClick={() => go(noFilter)}>
                {t('Clear the filter')}
              </button>
            )}
          </Filters>
        </details>
      )}
    </div>
  )
}

const countQuery = graphql(`
  query PendingCount($projectId: ID) {
    approvalTally(projectId: $projectId, filter: { statuses: [PENDING] }) {
      isComplete
      total {
        pending
      }
    }
  }
`)

interface ChooseProps {
  questions: Questions
  /** How many of the view wait. */
  waiting: number
  chosen: number
  onToggle(): void
}

export function ChooseAll({ questions: { all, isWhole, isCut }, waiting, chosen, onToggle }: ChooseProps) {
  const { data } = useQuery(countQuery, {}, { eventTypes: questionTypes, skip: isWhole && !isCut })
  if (waiting === 0) return null
  const total = numberText(waiting)
  const tally = data?.approvalTally
  const isAll = isWhole && !isCut
  const counted = tally && {
    count: all.size,
    total: tally.isComplete
      ? numberText(tally.total.pending)
      : t('more than {count}', { count: tally.total.pending }),
  }
  return (
    <>
      {!isAll && counted && (
        <p className="small mute inbox-reading" role="status">
          {isCut
            ? t('{count} of {total} are listed, those that expire first', counted)
            : t('Reading {count} of {total} …', counted)}
        </p>
      )}
      <label className="choose-all">
        <input
          type="checkbox"
          checked={chosen === waiting}
          ref={(box) => {
            if (box) box.indeterminate = chosen > 0 && chosen < waiting
          }}
          onChange={onToggle}
        />
        <span aria-live="polite">
          {chosen > 0
            ? t('{count} of {total} selected', { count: chosen, total })
            : t('Select all {total}', { total })}
        </span>
      </label>
    </>
  )
}
