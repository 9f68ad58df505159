/** The agents of the project. */
import '../../parts/forms.css'
import './agents.css'
import { Link, useLocation } from 'wouter'
import { usePages } from '../../api/pages.ts'
import { useAddress } from '../../parts/address.ts'
import { SearchField } from '../../parts/filters.tsx'
import { GateBadge } from '../../parts/gate-words.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Listing } from '../../parts/listing.tsx'
import { Ago } from '../../parts/moments.tsx'
import { usePlace } from '../../parts/place.ts'
import { useRowKeys } from '../../parts/row-keys.ts'
import { Foreign } from '../../parts/text.tsx'
import { agentsQuery, agentTypes, type AgentRow } from './documents.ts'

const noAgents = {
  title: 'No agents yet',
  text: 'An agent is a model with instructions and tools. Programs start its runs, and MCP clients use its tools.',
}
const noneLikeThis = { title: 'No agent is like this', text: 'Change the word above.' }

export function Agents() {
  const { params, replace } = useAddress()
  const [, open] = useLocation()
  const text = params.get('q') ?? ''
  const pages = usePages(agentsQuery, { name: text.trim() || null }, (data) => data.agents, {
    hears: agentTypes,
  })
  usePlace(`/agents?${params}`, pages.nodes.length, pages)
  useRowKeys()
  return (
    <>
      <header className="screen-head">
        <h1>Agents</h1>
        <button type="button" className="primary spread" onClick={() => open('/agents/new')}>
          <Icon name="plus" /> New agent
        </button>
      </header>
      <div className="screen-body agent-list">
        <SearchField label="Filter by name" value={text} isFirst onChange={(q) => replace({ q })} />
        <Listing
          pages={pages}
          label="Agents"
          columns={['Agent', 'May call', 'Gate', 'Changed']}
          empty={text === '' ? noAgents : noneLikeThis}
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
