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

const noAgents = {
  title: 'No agents yet',
  text: 'An agent is a model with instructions and tools. Programs start its runs, and MCP clients use its tools.',
}
const noneLikeThis = { title: 'No agent is like this', text: 'Change the word above.' }

export function Agents() {
  const [params] = useSearchParams()
  const name = nameIn(params)
  const pages = usePages(agentsQuery, { name }, (data) => data.agents, { eventTypes: agentTypes })
  return (
    <ListPage
      title="Agents"
      list="/agents"
      kind="agent"
      bodyClass="agent-list"
      pages={pages}
      label="Agents"
      columns={['Agent', 'May call', 'Gate', 'Changed']}
      empty={name === null ? noAgents : noneLikeThis}
      renderRow={(agent) => <Row key={agent.id} agent={agent} />}
    />
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
