/** The agents of the project. */
import './agents.css'
import { Link, useSearchParams } from 'wouter'
import { usePages } from '../../api/pages.ts'
import { GateBadge } from '../../parts/gate-words.tsx'
import { Icon } from '../../parts/icons.tsx'
import { ListPage, nameIn } from '../../parts/list-page.tsx'
import { Ago } from '../../parts/moments.tsx'
import { Foreign } from '../../parts/text.tsx'
import { agentsQuery, agentTypes, type AgentRow } from './documents.ts'
import { t, plural } from '../../texts/texts.tsx'

const noAgents = {
  title: t('No agents yet'),
  text: t(
    'An agent is a model with instructions and tools. Programs start its runs, and MCP clients use its tools.',
  ),
}
const noneLikeThis = { title: t('No matching agents'), text: t('Change the search above.') }

export function Agents() {
  const [params] = useSearchParams()
  const name = nameIn(params)
  const pages = usePages(agentsQuery, { name }, agentTypes)
  return (
    <ListPage
      title={t('Agents')}
      list="/agents"
      kind="agent"
      bodyClass="agent-list"
      pages={pages}
      label={t('Agents')}
      columns={[t('Agent'), t('May call'), t('Gate'), t('Changed')]}
      empty={name === null ? noAgents : noneLikeThis}
      renderRow={(agent) => <Row key={agent.id} agent={agent} />}
    />
  )
}

function Row({ agent }: { agent: AgentRow }) {
  const { toolIds, agentIds, collidingNames } = agent
  return (
    <tr>
      <td>
        <Link href={`/agents/${agent.id}`}>
          <Foreign text={agent.name} max={100} />
        </Link>
        <div className="small mute">{agent.model ?? t('default model')}</div>
      </td>
      <td>
        {plural(toolIds.length, '1 tool', '{count} tools')}
        {agentIds.length > 0 && `, ${plural(agentIds.length, '1 agent', '{count} agents')}`}
        {collidingNames.length > 0 && (
          <div className="badge tone-warn small">
            <Icon name="warn" /> {plural(collidingNames.length, '1 name twice', '{count} names twice')}
          </div>
        )}
        {agent.mcp.enabled && <div className="small mute">{t('served to MCP clients')}</div>}
      </td>
      <td>
        {agent.gate ? <GateBadge gate={agent.gate} /> : <span className="mute">{t('its tools’ own')}</span>}
      </td>
      <td className="nowrap">
        <Ago at={agent.updatedAt} />
        <div className="small mute">{t('version {version}', { version: agent.version })}</div>
      </td>
    </tr>
  )
}
