/** One agent: trying it, its definition, what it may call, its gate and how MCP clients reach it. */
import './agents.css'
import { Link, useSearchParams } from 'wouter'
import { useQuery } from '../../api/query.ts'
import { CopyId } from '../../parts/copy-id.tsx'
import { GateBadge } from '../../parts/gate-words.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Empty, Failure, Skeleton } from '../../parts/states.tsx'
import { Foreign } from '../../parts/text.tsx'
import { Versions } from '../../parts/versions.tsx'
import { AgentGate } from './agent-gate.tsx'
import { Connect } from './connect.tsx'
import { Definition } from './definition.tsx'
import { agentQuery, agentTypes, type AgentDetail } from './documents.ts'
import { Surface } from './surface.tsx'
import { TryAgent } from './try.tsx'

const tabs = [
  { tab: 'definition', name: 'Definition' },
  { tab: 'surface', name: 'Surface' },
  { tab: 'gate', name: 'Gate' },
  { tab: 'mcp', name: 'MCP' },
  { tab: 'try', name: 'Try' },
  { tab: 'versions', name: 'Versions' },
] as const
type Tab = (typeof tabs)[number]['tab']

export function AgentScreen({ id }: { id: string }) {
  const { data, error, reload } = useQuery(agentQuery, { id }, { hears: agentTypes })
  const [params] = useSearchParams()
  const tab = tabs.find((one) => one.tab === params.get('tab'))?.tab ?? 'definition'
  if (error && !data) return <Failure error={error} retry={reload} />
  if (!data) return <Skeleton lines={8} />
  const { agent } = data
  if (!agent)
    return (
      <Empty title="This agent does not exist any more">
        <Link href="/agents">All agents</Link>
      </Empty>
    )
  return (
    <>
      <header className="screen-head">
        <Link href="/agents" className="mute" aria-label="All agents">
          <Icon name="back" />
        </Link>
        <h1>
          <Foreign text={agent.name} max={80} />
        </h1>
        <span className="mute">{agent.model ?? 'default model'}</span>
        {agent.gate && <GateBadge gate={agent.gate} />}
        <Link href={`/runs?agent=${agent.id}`}>Runs</Link>
        <span className="spread small mute row">
          version {agent.version} <CopyId id={agent.id} />
        </span>
      </header>
      <div className="screen-body agent-page">
        <nav className="segments" aria-label="Parts of the agent">
          {tabs.map((one) => (
            <Link
              key={one.tab}
              href={`/agents/${id}${one.tab === 'definition' ? '' : `?tab=${one.tab}`}`}
              className="button"
              aria-current={one.tab === tab ? 'page' : undefined}
            >
              {one.name}
            </Link>
          ))}
        </nav>
        {error !== null && <Failure error={error} retry={reload} />}
        <Part key={agent.id} tab={tab} agent={agent} reload={reload} />
      </div>
    </>
  )
}

function Part({ tab, agent, reload }: { tab: Tab; agent: AgentDetail; reload(): void }) {
  switch (tab) {
    case 'definition':
      return <Definition agent={agent} reload={reload} />
    case 'surface':
      return <Surface id={agent.id} />
    case 'gate':
      return <AgentGate agent={agent} reload={reload} />
    case 'mcp':
      return <Connect agent={agent} />
    case 'try':
      return <TryAgent agent={agent} />
    case 'versions':
      return <Versions id={agent.id} />
  }
}
