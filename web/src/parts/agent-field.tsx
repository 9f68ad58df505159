/** A choice of one agent, by name. */
import { graphql } from '../api/document.ts'
import { list } from '../api/reads.ts'
import { usePages, useWhole } from '../api/pages.ts'
import { ChoiceField } from './filters.tsx'
import { t } from '../texts/texts.tsx'

const agentName = graphql(`
  fragment AgentName on Agent {
    id
    name
  }
`)
const agentNamesQuery = list('agents', agentName)

/** The names of the agents; those of the first page, unless more are asked for. */
export const useAgentNames = () => usePages(agentNamesQuery, { first: 100 }, agentTypes)

const agentTypes = ['AGENT_CREATED', 'AGENT_UPDATED', 'AGENT_DELETED'] as const

interface Props {
  value: string | null
  onChange(value: string | null): void
}

export function AgentField({ value, onChange }: Props) {
  const agents = useWhole(agentNamesQuery, { first: 100 }, agentTypes)
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
