/** One agent: trying it, its definition, what it may call, its gate and how MCP clients reach it. */
import './agents.css'
import { Link } from 'wouter'
import { useQuery } from '../../api/query.ts'
import { CopyId } from '../../parts/copy-id.tsx'
import { DetailPage, type Tabs } from '../../parts/detail-page.tsx'
import { GateBadge } from '../../parts/gate-words.tsx'
import { PauseButton } from '../../parts/pause.tsx'
import { Versions } from '../../parts/versions.tsx'
import { AgentGate } from './agent-gate.tsx'
import { Connect } from './connect.tsx'
import { Definition } from './definition.tsx'
import { agentQuery, agentTypes, type AgentDetail } from './documents.ts'
import { Surface } from './surface.tsx'
import { TryAgent } from './try.tsx'

const tabs: Tabs<AgentDetail> = [
  {
    tab: 'definition',
    name: 'Definition',
    render: (agent, reload) => <Definition agent={agent} reload={reload} />,
  },
  { tab: 'surface', name: 'Surface', render: ({ id }) => <Surface id={id} /> },
  { tab: 'gate', name: 'Gate', render: (agent, reload) => <AgentGate agent={agent} reload={reload} /> },
  { tab: 'mcp', name: 'MCP', render: (agent) => <Connect agent={agent} /> },
  { tab: 'try', name: 'Try', render: (agent) => <TryAgent agent={agent} /> },
  { tab: 'versions', name: 'Versions', render: ({ id }) => <Versions id={id} /> },
]

export function AgentScreen({ id }: { id: string }) {
  const read = useQuery(agentQuery, { id }, { eventTypes: agentTypes })
  return (
    <DetailPage
      kind="agent"
      list="/agents"
      read={read}
      thing={read.data?.agent}
      title={({ name }) => name}
      bodyClass="agent-page"
      tabs={tabs}
      renderHead={({ id: agentId, model, gate, version }) => (
        <>
          <span className="mute">{model ?? 'default model'}</span>
          {gate && <GateBadge gate={gate} />}
          <Link href={`/runs?agent=${agentId}`}>Runs</Link>
          <PauseButton
            target={{ agentId }}
            word="Pause this agent"
            effect="Its runs, and the runs below them, take no further step and send no call."
          />
          <span className="spread small mute row">
            version {version} <CopyId id={agentId} />
          </span>
        </>
      )}
    />
  )
}
