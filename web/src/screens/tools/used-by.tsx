/** The agents that have a tool. */
import { Link } from 'wouter'
import { usePages } from '../../api/pages.ts'
import { Empty, Failure, Skeleton } from '../../parts/states.tsx'
import { Foreign } from '../../parts/text.tsx'
import type { ToolDetail } from './documents.ts'
import { usersQuery } from './call-documents.ts'
import { t } from '../../texts/texts.tsx'

const agentTypes = ['AGENT_CREATED', 'AGENT_UPDATED', 'AGENT_DELETED'] as const

export function ToolUsers({ tool }: { tool: ToolDetail }) {
  const pages = usePages(usersQuery, { first: 100 }, agentTypes)
  const users = pages.nodes.filter(({ toolIds }) => toolIds.includes(tool.id))
  if (pages.error !== null && pages.nodes.length === 0)
    return <Failure error={pages.error} retry={pages.reload} />
  if (pages.isLoading) return <Skeleton lines={4} />
  return (
    <>
      {users.length === 0 ? (
        <Empty title={t('No agent has this tool')}>
          {pages.hasMore ? (
            t('Searched {count} agents.', { count: pages.nodes.length })
          ) : (
            <Link href="/agents">{t('Choose an agent')}</Link>
          )}
        </Empty>
      ) : (
        <ul className="users">
          {users.map((agent) => (
            <li key={agent.id}>
              <Link href={`/agents/${agent.id}`}>
                <Foreign text={agent.name} max={100} />
              </Link>
              <span className="mute small">
                {agent.model ?? t('default model')}
                {agent.activeToolIds &&
                  !agent.activeToolIds.includes(tool.id) &&
                  t(', hidden from its model')}
                {agent.gate && agent.gate.mode !== 'NEVER' && t(', with a gate of its own')}
                {agent.mcp.enabled && t(', served to MCP clients')}
              </span>
            </li>
          ))}
        </ul>
      )}
      {pages.hasMore && (
        <button type="button" onClick={pages.showMore}>
          {t('Search more agents')}
        </button>
      )}
    </>
  )
}
