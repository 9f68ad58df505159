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
import { Triggers } from './triggers.tsx'
import { TryAgent } from './try.tsx'
import { t, T } from '../../texts/texts.tsx'

const tabs: Tabs<AgentDetail> = [
  {
    tab: 'definition',
    name: t('Definition'),
    render: (agent, reload) => <Definition agent={agent} reload={reload} />,
  },
  { tab: 'surface', name: t('Visible tools'), render: ({ id }) => <Surface id={id} /> },
  { tab: 'gate', name: t('Gate'), render: (agent, reload) => <AgentGate agent={agent} reload={reload} /> },
  { tab: 'mcp', name: t('MCP'), render: (agent) => <Connect agent={agent} /> },
  { tab: 'try', name: t('Try'), render: (agent) => <TryAgent agent={agent} /> },
  {
    tab: 'triggers',
    name: t('Triggers'),
    render: ({ id }) => <Triggers agentId={id} />,
  },
  { tab: 'versions', name: t('Versions'), render: ({ id }) => <Versions id={id} /> },
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
      bodyClass="stack agent-page"
      tabs={tabs}
      renderHead={({ id: agentId, model, gate, version }) => (
        <>
          <span className="mute">{model ?? t('default model')}</span>
          {gate && <GateBadge gate={gate} />}
          <Link href={`/runs?agent=${agentId}`}>{t('Runs')}</Link>
          <PauseButton
            target={{ agentId }}
            word={t('Pause this agent')}
            effect={t('Its runs, and the runs below them, take no further step and send no call.')}
          />
          <span className="spread small mute row">
            <T text="version {version} {id}" version={version} id={<CopyId id={agentId} />} />
          </span>
        </>
      )}
    />
  )
}
