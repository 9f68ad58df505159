/** What the list is narrowed to. */
import type { RefObject } from 'react'
import { usePages } from '../../api/pages.ts'
import { wordsOf } from '../../parts/badge.tsx'
import { Icon } from '../../parts/icons.tsx'
import { agentNamesQuery } from './documents.ts'
import { runStatuses, type RunFilter, type RunStatus } from './rows.ts'

interface Props {
  filter: RunFilter
  field: RefObject<HTMLSelectElement | null>
  onChange(filter: RunFilter): void
}

export function RunFilters({ filter, field, onChange }: Props) {
  const agents = usePages(agentNamesQuery, {}, (data) => data.agents, { hears: agentTypes })
  // An agent that is not on the first page, or was deleted, is still what the list is narrowed to.
  const isKnown = filter.agentId === null || agents.nodes.some(({ id }) => id === filter.agentId)
  return (
    <div className="runs-filters" role="group" aria-label="Filter">
      <select
        ref={field}
        aria-label="Status"
        value={filter.status ?? ''}
        onChange={(event) =>
          onChange({ ...filter, status: (event.target.value || null) as RunStatus | null })
        }
      >
        <option value="">Any status</option>
        {runStatuses.map((status) => (
          <option key={status} value={status}>
            {statusWords[status] ?? wordsOf(status)}
          </option>
        ))}
      </select>
      <select
        aria-label="Agent"
        value={filter.agentId ?? ''}
        onChange={(event) => onChange({ ...filter, agentId: event.target.value || null })}
      >
        <option value="">Any agent</option>
        {!isKnown && <option value={filter.agentId!}>{filter.agentId}</option>}
        {agents.nodes.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
      {filter.threadId !== null && (
        <button
          type="button"
          title={filter.threadId}
          aria-label="Runs of all threads"
          onClick={() => onChange({ ...filter, threadId: null })}
        >
          One thread <Icon name="cross" />
        </button>
      )}
    </div>
  )
}

export const agentTypes = ['AGENT_CREATED', 'AGENT_UPDATED', 'AGENT_DELETED'] as const

const statusWords: Partial<Record<RunStatus, string>> = {
  AWAITING_APPROVAL: 'waits for approval',
  REQUIRES_ACTION: 'waits for a client',
}
