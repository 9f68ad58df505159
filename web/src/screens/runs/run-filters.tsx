/** What the list is narrowed to. */
import type { PrincipalParts } from '../../api/principal.ts'
import { AgentField } from '../../parts/agent-field.tsx'
import { spanFrom, spanText } from '../../parts/durations.ts'
import {
  FilterMenu,
  Filters,
  NarrowingChip,
  SearchField,
  StatusMenu,
  TimeField,
} from '../../parts/filters.tsx'
import { PrincipalField } from '../../parts/principal-field.tsx'
import { ToolField } from '../../parts/tool-field.tsx'
import { BoundField } from './bound-field.tsx'
import { boundNames, isNarrowed, noFilter, runStatuses, type Bounds, type RunFilter } from './rows.ts'
import { t, numberText } from '../../texts/texts.tsx'

interface Props {
  filter: RunFilter
  /** Who started the runs that are shown. */
  shown: readonly PrincipalParts[]
  /** `isTyped`: somebody is still writing. */
  onChange(filter: RunFilter, isTyped?: boolean): void
}

export function RunFilters({ filter, shown, onChange }: Props) {
  return (
    <Filters>
      <SearchField
        label={t('Search or paste an id')}
        value={filter.text}
        most={200}
        isFirst
        onChange={(text) => onChange({ ...filter, text }, true)}
      />
      <StatusMenu
        statuses={runStatuses}
        chosen={filter.statuses}
        onChange={(statuses) => onChange({ ...filter, statuses })}
      />
      <AgentField value={filter.agentId} onChange={(agentId) => onChange({ ...filter, agentId })} />
      <PrincipalField
        label={t('Started by')}
        value={filter.requestedBy}
        shown={shown}
        onChange={(requestedBy) => onChange({ ...filter, requestedBy })}
      />
      <ToolField
        label={t('Failed tool')}
        any={t('Any failed tool')}
        value={filter.failedToolId}
        onChange={(failedToolId) => onChange({ ...filter, failedToolId })}
      />
      <BoundsMenu bounds={filter.bounds} onChange={(bounds) => onChange({ ...filter, bounds }, true)} />
      <TimeField range={filter.range} onChange={(range) => onChange({ ...filter, range })} />
      {filter.threadId !== null && (
        <NarrowingChip
          name={t('One thread')}
          id={filter.threadId}
          onClear={() => onChange({ ...filter, threadId: null })}
        />
      )}
      {isNarrowed(filter) && (
        <button type="button" className="quiet" onClick={() => onChange({ ...noFilter, by: filter.by })}>
          {t('Clear')}
        </button>
      )}
    </Filters>
  )
}

const duration = { placeholder: t('{min} min', { min: 5 }), textOf: spanText, valueOf: spanFrom }
const cost = {
  placeholder: numberText(0.5),
  textOf: numberText,
  valueOf: (text: string) =>
    /^\d+(?:[.,]\d+)?$/.test(text.trim()) ? Number(text.trim().replace(',', '.')) : NaN,
}
const fields = {
  minDurationSeconds: { ...duration, label: t('Duration, at least') },
  maxDurationSeconds: { ...duration, label: t('Duration, at most') },
  minCost: { ...cost, label: t('Cost in USD, at least') },
  maxCost: { ...cost, label: t('Cost in USD, at most') },
}

/** How long the runs took and what they cost. */
function BoundsMenu({ bounds, onChange }: { bounds: Bounds; onChange(bounds: Bounds): void }) {
  const given = boundNames.flatMap((name) => {
    const value = bounds[name]
    if (value === null) return []
    const text = name.endsWith('Cost') ? `${numberText(value)} USD` : spanText(value)
    return `${name.startsWith('min') ? '≥' : '≤'} ${text}`
  })
  const faultOf = (name: keyof Bounds) => (value: number) => {
    const {
      [name.replace('max', 'min') as keyof Bounds]: min,
      [name.replace('min', 'max') as keyof Bounds]: max,
    } = { ...bounds, [name]: value }
    return min !== null && max !== null && max < min ? t('The least is above the most.') : null
  }
  return (
    <FilterMenu summary={given.join(', ') || t('Any duration and cost')} legend={t('Duration and cost')}>
      {boundNames.map((name) => (
        <BoundField
          key={name}
          {...fields[name]}
          value={bounds[name]}
          faultOf={faultOf(name)}
          onChange={(value) => onChange({ ...bounds, [name]: value })}
        />
      ))}
    </FilterMenu>
  )
}
