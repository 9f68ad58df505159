/** What the list is narrowed to. */
import type { PrincipalParts } from '../../api/principal.ts'
import { AgentField } from '../../parts/agent-field.tsx'
import { Filters, NarrowingChip, SearchField, StatusMenu, TimeField } from '../../parts/filters.tsx'
import { PrincipalField } from '../../parts/principal-field.tsx'
import { ToolField } from '../../parts/tool-field.tsx'
import { isNarrowed, noFilter, runStatuses, type RunFilter } from './rows.ts'
import { t } from '../../texts/texts.tsx'

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
