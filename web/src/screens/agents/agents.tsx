/** The agents of the project. */
import '../../parts/forms.css'
import './agents.css'
import { Link, useLocation } from 'wouter'
import { usePages } from '../../api/pages.ts'
import { GateBadge } from '../../parts/gate-words.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Listing } from '../../parts/listing.tsx'
import { Ago } from '../../parts/moments.tsx'
import { Foreign } from '../../parts/text.tsx'
import { agentsQuery, agentTypes, type AgentRow } from './documents.ts'

export function Agents() {
  const [, go] = useLocation()
  const pages = usePages(agentsQuery, {}, (data) => data.agents, { hears: agentTypes })
  return (
    <>
      <header className="screen-head">
        <h1>Agents</h1>
        <button type="button" className="primary spread" onClick={() => go('/agents/new')}>
          <Icon name="plus" /> New agent
        </button>
      </header>
      <div className="screen-body agent-list">
        <Listing
          pages={pages}
          label="Agents"
          columns={['Agent', 'May call', 'Gate', 'Changed']}
          empty={{
            title: 'No agents yet',
            text: 'An agent is a model with instructions and tools. Programs start its runs, and MCP clients use its tools.',
          }}
          renderRow={(agent) => <Row key={agent.id} agent={agent} />}
        />
      </div>
    </>
  )
}

const countText = (count: number, one: string) => `${count} ${one}${count === 1 ? '' : 's'}`

function Row({ agent }: { agent: AgentRow }) {
  const { toolIds, agentIds, collidingNames } = agent
  return (
    <tr>
      <td>
        <Link href={`/agents/${agent.id}`}>
          <Foreign text={agent.name} max={100} />
        </Link>
        <div className="small mute">{agent.model ?? 'default model'}</div>
      </td>
      <td>
        {countText(toolIds.length, 'tool')}
        {agentIds.length > 0 && `, ${countText(agentIds.length, 'agent')}`}
        {collidingNames.length > 0 && (
          <div className="badge tone-warn small">
            <Icon name="warn" /> {countText(collidingNames.length, 'name')} twice
          </div>
        )}
        {agent.mcp.enabled && <div className="small mute">served to MCP clients</div>}
      </td>
      <td>
        {agent.gate ? <GateBadge gate={agent.gate} /> : <span className="mute">those of its tools</span>}
      </td>
      <td className="nowrap">
        <Ago at={agent.updatedAt} />
        <div className="small mute">version {agent.version}</div>
      </td>
    </tr>
  )
}
