/** What an agent may call: the names that its model and MCP clients see, each with the gate that its calls pass. */
import { useState } from 'react'
import { Link } from 'wouter'
import type { ResultOf } from '../../api/document.ts'
import { useQuery } from '../../api/query.ts'
import { GateBadge } from '../../parts/gate-words.tsx'
import { Icon } from '../../parts/icons.tsx'
import { OmittedTools } from '../../parts/left-out.tsx'
import { Empty, Failure, Skeleton } from '../../parts/states.tsx'
import { ToolSizeText } from '../../parts/tool-size.tsx'
import { Foreign } from '../../parts/text.tsx'
import { agentTypes } from './documents.ts'
import { actionsQuery, surfaceQuery } from './surface-documents.ts'
import { t, T } from '../../texts/texts.tsx'

type Agent = NonNullable<ResultOf<typeof surfaceQuery>['agent']>
type Tool = NonNullable<Agent['tools'][number]>

export function Surface({ id }: { id: string }) {
  const { data, error, reload } = useQuery(surfaceQuery, { id }, { eventTypes: agentTypes })
  const agent = data?.agent
  if (error && !agent) return <Failure error={error} retry={reload} />
  if (!agent) return <Skeleton lines={6} />
  const isSeen = (one: string) => agent.activeToolIds === null || agent.activeToolIds.includes(one)
  const lost = [...agent.tools, ...agent.agents].filter((one) => one === null).length
  if (agent.tools.length + agent.agents.length === 0)
    return <Empty title={t('It may call nothing')}>{t('Choose its tools in its definition.')}</Empty>
  return (
    <section className="stack" aria-label={t('Visible tools')}>
      {agent.collidingNames.length > 0 && (
        <div className="failure" role="alert">
          <p>
            <T
              text="Several of its tools have the name {names} since an upstream changed. The first of them is called."
              names={<span className="mono">{agent.collidingNames.join(', ')}</span>}
            />
          </p>
        </div>
      )}
      {agent.leftOut.length > 0 && (
        <div className="failure" role="alert">
          <p>
            {t(
              'In its newest run its model did not get these tools. Direct calls and MCP clients use them as before.',
            )}
          </p>
          <OmittedTools tools={agent.leftOut} />
        </div>
      )}
      <p className="mute">
        <T text="In the first request of a run: {sent}." sent={<ToolSizeText of={agent.toolSize.first} />} />{' '}
        {agent.toolLoading === 'SEARCH' && (
          <T text="With all tools: {all}." all={<ToolSizeText of={agent.toolSize.all} />} />
        )}
      </p>
      {agent.gate && agent.gate.mode !== 'NEVER' && (
        <p className="mute">{t('The agent has a gate of its own: the stricter of both counts.')}</p>
      )}
      {lost > 0 && (
        <p className="mute">{t('{count} more were deleted, or are hidden from you.', { count: lost })}</p>
      )}
      <div className="table-scroll surface" role="region" aria-label={t('What it may call')} tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">{t('Name that the model sees')}</th>
              <th scope="col">{t('Runs|verb')}</th>
              <th scope="col">{t('Gate')}</th>
            </tr>
          </thead>
          {agent.tools.map((tool) => tool && <ToolRows key={tool.id} tool={tool} isSeen={isSeen(tool.id)} />)}
          <tbody>
            {agent.agents.map(
              (child) =>
                child && (
                  <tr key={child.id}>
                    <td>
                      <Link href={`/agents/${child.id}`}>
                        <Foreign text={child.name} max={100} />
                      </Link>
                      <Hidden isSeen={isSeen(child.id)} />
                    </td>
                    <td>{t('an agent')}</td>
                    <td>
                      {child.gate ? (
                        <GateBadge gate={child.gate} />
                      ) : (
                        <span className="mute">{t('its tools’ own')}</span>
                      )}
                    </td>
                  </tr>
                ),
            )}
          </tbody>
        </table>
      </div>
    </section>
  )
}

const Hidden = ({ isSeen }: { isSeen: boolean }) =>
  isSeen ? null : <span className="small mute"> {t('hidden from the model')}</span>

const where = {
  HttpTool: t('an HTTP endpoint'),
  ClientTool: t('in your program; MCP clients do not see it'),
  McpTool: t('a foreign MCP server'),
  PlatformTool: 'Gatehouse',
} as const

function ToolRows({ tool, isSeen }: { tool: Tool; isSeen: boolean }) {
  const hasActions = tool.__typename === 'McpTool' || tool.__typename === 'PlatformTool'
  const [isOpen, setOpen] = useState(false)
  const actions = useQuery(actionsQuery, { id: tool.id }, { skip: !isOpen, eventTypes: agentTypes })
  const read = actions.data?.tool
  const rows = read && 'actions' in read ? read.actions : []
  return (
    <tbody>
      <tr>
        <td>
          {hasActions && (
            <button
              type="button"
              className="quiet fold"
              aria-expanded={isOpen}
              aria-label={t('Actions of {name}', { name: tool.name })}
              onClick={() => setOpen(!isOpen)}
            >
              <Icon name="chevron" />
            </button>
          )}
          <Link href={`/tools/${tool.id}?tab=gate`}>
            <Foreign text={hasActions ? `${tool.name}_…` : tool.name} max={100} />
          </Link>
          <Hidden isSeen={isSeen} />
        </td>
        <td>{where[tool.__typename]}</td>
        <td>
          <GateBadge gate={tool.gate} />
        </td>
      </tr>
      {isOpen && actions.error !== null && (
        <tr>
          <td colSpan={3}>
            <Failure error={actions.error} retry={actions.reload} />
          </td>
        </tr>
      )}
      {isOpen && read && rows.length === 0 && (
        <tr>
          <td colSpan={3} className="mute action-name">
            {t('It serves no actions now.')}
          </td>
        </tr>
      )}
      {isOpen &&
        rows.map((one) => (
          <tr key={one.runtimeName}>
            <td className="mono action-name">
              <Foreign text={one.runtimeName} max={100} />
            </td>
            <td />
            <td>
              <GateBadge gate={one.gate} />
            </td>
          </tr>
        ))}
    </tbody>
  )
}
