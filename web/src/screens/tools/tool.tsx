/** One tool: trying it, its gate, its fixed arguments, its calls, its agents and its definition. */
import './tools.css'
import type { ReactNode } from 'react'
import { Link, useSearchParams } from 'wouter'
import { useQuery } from '../../api/query.ts'
import { CopyId } from '../../parts/copy-id.tsx'
import { Choice } from '../../parts/fields.tsx'
import { GateBadge } from '../../parts/gate-words.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Empty, Failure, Skeleton } from '../../parts/states.tsx'
import { Foreign } from '../../parts/text.tsx'
import { Versions } from '../../parts/versions.tsx'
import { Calls } from './calls.tsx'
import { Definition } from './definition.tsx'
import { kinds, toolQuery, toolTypes, type Action, type ToolDetail } from './documents.ts'
import { GateTab } from './gate.tsx'
import { Presets } from './presets.tsx'
import { TryTool } from './try.tsx'
import { UsedBy } from './used-by.tsx'

const tabs = [
  { tab: 'try', name: 'Try' },
  { tab: 'gate', name: 'Gate' },
  { tab: 'presets', name: 'Presets' },
  { tab: 'calls', name: 'Calls' },
  { tab: 'agents', name: 'Used by' },
  { tab: 'definition', name: 'Definition' },
  { tab: 'versions', name: 'Versions' },
] as const
type Tab = (typeof tabs)[number]['tab']

export function ToolScreen({ id }: { id: string }) {
  const { data, error, reload } = useQuery(toolQuery, { id }, { hears: toolTypes })
  const [params] = useSearchParams()
  const tab = tabs.find((one) => one.tab === params.get('tab'))?.tab ?? 'try'
  if (error && !data) return <Failure error={error} retry={reload} />
  if (!data) return <Skeleton lines={8} />
  const { tool } = data
  if (!tool)
    return (
      <Empty title="This tool does not exist any more">
        <Link href="/tools">All tools</Link>
      </Empty>
    )
  return (
    <>
      <header className="screen-head">
        <Link href="/tools" className="mute" aria-label="All tools">
          <Icon name="back" />
        </Link>
        <h1>
          <Foreign text={tool.title ?? tool.name} max={80} />
        </h1>
        <span className="mute">{kinds[tool.__typename]}</span>
        <GateBadge gate={tool.gate} />
        {tool.annotations.destructiveHint && (
          <span className="badge tone-bad">
            <Icon name="warn" /> destructive
          </span>
        )}
        <span className="spread small mute row">
          version {tool.version} <CopyId id={tool.id} />
        </span>
      </header>
      <div className="screen-body tool-page">
        <nav className="segments" aria-label="Parts of the tool">
          {tabs.map((one) => (
            <Link
              key={one.tab}
              href={`/tools/${id}${one.tab === 'try' ? '' : `?tab=${one.tab}`}`}
              className="button"
              aria-current={one.tab === tab ? 'page' : undefined}
            >
              {one.name}
            </Link>
          ))}
        </nav>
        {error !== null && <Failure error={error} retry={reload} />}
        <Part key={tool.id} tab={tab} tool={tool} reload={reload} />
      </div>
    </>
  )
}

function Part({ tab, tool, reload }: { tab: Tab; tool: ToolDetail; reload(): void }) {
  switch (tab) {
    case 'try':
      return <WithAction tool={tool} render={(action) => <TryTool tool={tool} action={action} />} />
    case 'gate':
      return <GateTab tool={tool} reload={reload} />
    case 'presets':
      return <Presets tool={tool} reload={reload} />
    case 'calls':
      return <Calls toolId={tool.id} />
    case 'agents':
      return <UsedBy tool={tool} />
    case 'definition':
      return <Definition tool={tool} reload={reload} />
    case 'versions':
      return <Versions id={tool.id} />
  }
}

interface WithActionProps {
  tool: ToolDetail
  render(action: Action | null): ReactNode
}

/** A choice of the action, for tools that have several. It is in the address. */
function WithAction({ tool, render }: WithActionProps) {
  const [params, setParams] = useSearchParams()
  if (tool.__typename !== 'McpTool' && tool.__typename !== 'PlatformTool') return render(null)
  const [first] = tool.actions
  if (!first)
    return (
      <Empty title="This tool serves no actions">
        {tool.__typename === 'McpTool' ? (
          <Link href={`/upstreams/${tool.id}`}>See what its server says</Link>
        ) : (
          'Choose its actions in its definition.'
        )}
      </Empty>
    )
  const chosen = tool.actions.find(({ action }) => action === params.get('action')) ?? first
  return (
    <>
      <div className="action-choice">
        <Choice
          label="Action"
          value={chosen.action}
          options={tool.actions.map(({ action, title }) => ({
            value: action,
            name: title ? `${action} (${title})` : action,
          }))}
          onChange={(action) =>
            setParams(
              (before) => {
                const next = new URLSearchParams(before)
                next.set('action', action)
                return next
              },
              { replace: true },
            )
          }
        />
      </div>
      {render(chosen)}
    </>
  )
}
