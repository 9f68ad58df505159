/** A choice of one agent, by name. */
import { graphql } from '../api/document.ts'
import { usePages, useWhole } from '../api/pages.ts'
import { ChoiceField } from './filters.tsx'
import { t } from '../texts/texts.tsx'

const agentNamesQuery = graphql(`
  query AgentNames($projectId: ID, $after: String) {
    agents(projectId: $projectId, first: 100, after: $after) {
      nodes {
        id
        name
      }
      pageInfo {
        endCursor
        hasNextPage
      }
    }
  }
`)

/** The names of the agents; those of the first page, unless more are asked for. */
export const useAgentNames = () =>
  usePages(agentNamesQuery, {}, (data) => data.agents, { eventTypes: agentTypes })

const agentTypes = ['AGENT_CREATED', 'AGENT_UPDATED', 'AGENT_DELETED'] as const

interface Props {
  value: string | null
  onChange(value: string | null): void
}

export function AgentField({ value, onChange }: Props) {
  const agents = useWhole(agentNamesQuery, {}, (data) => data.agents, { eventTypes: agentTypes })
  return (
    <ChoiceField
      label={t('Agent')}
      any={t('Any agent')}
      value={value}
      options={agents.map(({ id, name }) => ({ value: id, name }))}
      onChange={onChange}
    />
  )
}
