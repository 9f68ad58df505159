/** One tool: trying it, its gate, its fixed arguments, its calls, its agents and its definition. */
import './tools.css'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useQuery } from '../../api/query.ts'
import { useAddress } from '../../parts/address.ts'
import { CopyId } from '../../parts/copy-id.tsx'
import { DetailPage, type Tabs } from '../../parts/detail-page.tsx'
import { Choice } from '../../parts/fields.tsx'
import { GateBadge } from '../../parts/gate-words.tsx'
import { Icon } from '../../parts/icons.tsx'
import { PauseButton } from '../../parts/pause.tsx'
import { Empty } from '../../parts/states.tsx'
import { Versions } from '../../parts/versions.tsx'
import { Calls } from './calls.tsx'
import { Definition } from './definition.tsx'
import { kinds, kindWords, toolQuery, toolTypes, type Action, type ToolDetail } from './documents.ts'
import { GateTab } from './gate.tsx'
import { Presets } from './presets.tsx'
import { TryTool } from './try.tsx'
import { ToolUsers } from './used-by.tsx'
import { t, T } from '../../texts/texts.tsx'

const tabs: Tabs<ToolDetail> = [
  {
    tab: 'try',
    name: t('Try'),
    render: (tool) => <WithAction tool={tool} render={(action) => <TryTool tool={tool} action={action} />} />,
  },
  { tab: 'gate', name: t('Gate'), render: (tool, reload) => <GateTab tool={tool} reload={reload} /> },
  { tab: 'presets', name: t('Presets'), render: (tool, reload) => <Presets tool={tool} reload={reload} /> },
  { tab: 'calls', name: t('Calls'), render: ({ id }) => <Calls toolId={id} /> },
  { tab: 'agents', name: t('Used by'), render: (tool) => <ToolUsers tool={tool} /> },
  {
    tab: 'definition',
    name: t('Definition'),
    render: (tool, reload) => <Definition tool={tool} reload={reload} />,
  },
  { tab: 'versions', name: t('Versions'), render: ({ id }) => <Versions id={id} /> },
]

export function ToolScreen({ id }: { id: string }) {
  const read = useQuery(toolQuery, { id }, { eventTypes: toolTypes })
  return (
    <DetailPage
      kind="tool"
      list="/tools"
      read={read}
      thing={read.data?.tool}
      title={({ title, name }) => title ?? name}
      bodyClass="stack tool-page"
      tabs={tabs}
      renderHead={(tool) => (
        <>
          <span className="mute">{kindWords[kinds[tool.__typename]]}</span>
          <GateBadge gate={tool.gate} />
          {tool.annotations.destructiveHint && (
            <span className="badge tone-bad">
              <Icon name="warn" /> {t('destructive')}
            </span>
          )}
          <PauseButton
            target={{ toolId: tool.id }}
            word={t('Pause this tool')}
            effect={t('No agent or caller can send a call of this tool.')}
          />
          <span className="spread small mute row">
            <T text="version {version} {id}" version={tool.version} id={<CopyId id={tool.id} />} />
          </span>
        </>
      )}
    />
  )
}

interface WithActionProps {
  tool: ToolDetail
  render(action: Action | null): ReactNode
}

/** A choice of the action, for tools that have several. It is in the address. */
function WithAction({ tool, render }: WithActionProps) {
  const { params, replace } = useAddress()
  if (tool.__typename !== 'McpTool' && tool.__typename !== 'PlatformTool') return render(null)
  const [first] = tool.actions
  if (!first)
    return (
      <Empty title={t('This tool serves no actions')}>
        {tool.__typename === 'McpTool' ? (
          <Link href={`/upstreams/${tool.id}`}>{t('View the new definition')}</Link>
        ) : (
          t('Choose its actions in its definition.')
        )}
      </Empty>
    )
  const chosen = tool.actions.find(({ action }) => action === params.get('action')) ?? first
  return (
    <>
      <div className="action-choice">
        <Choice
          label={t('Action')}
          value={chosen.action}
          options={tool.actions.map(({ action, title }) => ({
            value: action,
            name: title ? `${action} (${title})` : action,
          }))}
          onChange={(action) => replace({ action })}
        />
      </div>
      {render(chosen)}
    </>
  )
}
