/** The tools of the project, by kind and name, with their gates; and the changes of gates that wait for a second person. */
import './tools.css'
import { Link } from 'wouter'
import { usePages } from '../../api/pages.ts'
import { useAddress } from '../../parts/address.ts'
import { GateBadge } from '../../parts/gate-words.tsx'
import { Icon } from '../../parts/icons.tsx'
import { ListPage, nameIn } from '../../parts/list-page.tsx'
import { Ago } from '../../parts/moments.tsx'
import { Segments } from '../../parts/segments.tsx'
import { Foreign } from '../../parts/text.tsx'
import { UpstreamStatus } from '../../parts/upstream-status.tsx'
import { toolsQuery, toolTypes, kinds, kindWords, type ToolRow } from './documents.ts'
import { PendingGateChanges } from './gate-changes.tsx'
import { t, plural } from '../../texts/texts.tsx'

const filters = [
  { value: null, name: t('All') },
  { value: 'HTTP', name: 'http' },
  { value: 'CLIENT', name: t('client') },
  { value: 'MCP', name: 'mcp' },
  { value: 'PLATFORM', name: t('platform') },
] as const

const noTools = {
  title: t('No tools yet'),
  text: t(
    'A tool is an HTTP endpoint, a foreign MCP server, a function of your program, or an operation of Gatehouse.',
  ),
}
const noneLikeThis = { title: t('No matching tools'), text: t('Change the filter above.') }

export function Tools() {
  const { params, go } = useAddress()
  const kind = filters.find(({ value }) => value === params.get('kind'))?.value ?? null
  const name = nameIn(params)
  const pages = usePages(toolsQuery, { kind, name, first: 100 }, toolTypes)
  return (
    <ListPage
      title={t('Tools')}
      list="/tools"
      kind="tool"
      bodyClass="tool-list"
      head={
        <>
          <Segments
            label={t('Kind')}
            value={kind}
            options={filters}
            onChange={(value) => go({ kind: value })}
          />
          <Link href="/tools/import" className="button">
            {t('From OpenAPI')}
          </Link>
          <Link href="/upstreams/new" className="button">
            {t('From an MCP server')}
          </Link>
        </>
      }
      pages={pages}
      label={t('Tools')}
      columns={[t('Tool'), t('Kind'), t('Gate'), t('Changed')]}
      empty={kind === null && name === null ? noTools : noneLikeThis}
      renderRow={(tool) => <Row key={tool.id} tool={tool} />}
    >
      <PendingGateChanges />
    </ListPage>
  )
}

function Row({ tool }: { tool: ToolRow }) {
  const where = tool.__typename === 'HttpTool' || tool.__typename === 'McpTool' ? tool.url : null
  const own = tool.__typename === 'McpTool' ? tool.gates.length : 0
  return (
    <tr>
      <td>
        <Link href={`/tools/${tool.id}`}>
          <Foreign text={tool.title ?? tool.name} max={80} />
        </Link>
        {tool.title && (
          <span className="mono small mute">
            {' '}
            <Foreign text={tool.name} max={64} />
          </span>
        )}
        {tool.annotations.destructiveHint && (
          <span className="badge tone-bad small">
            <Icon name="warn" /> {t('destructive')}
          </span>
        )}
        <div className="small mute tool-gist">
          <Foreign text={tool.description ?? t('No description.')} max={140} />
        </div>
      </td>
      <td>
        {kindWords[kinds[tool.__typename]]}
        {where && (
          <div className="mono small mute tool-where" title={where}>
            {tool.__typename === 'HttpTool' && `${tool.method} `}
            <Foreign text={where} max={60} />
          </div>
        )}
        {tool.__typename === 'McpTool' && (
          <Link href={`/upstreams/${tool.id}`} className="cell-link">
            <UpstreamStatus status={tool.upstream?.status ?? 'PENDING'} />
            <span className="sr-only">{t('Server')}</span>
          </Link>
        )}
        {tool.__typename === 'McpTool' && tool.upstream?.error && (
          <div className="small tone-bad">
            <Foreign text={tool.upstream.error.message} max={160} />
          </div>
        )}
      </td>
      <td>
        <GateBadge gate={tool.__typename === 'McpTool' ? tool.strictestGate : tool.gate} />
        {own > 0 && (
          <div className="small mute">
            {plural(own, '1 action has its own', '{count} actions have their own')}
          </div>
        )}
        {tool.agentsOnly && <div className="small mute">{t('only agents may call it')}</div>}
      </td>
      <td className="nowrap">
        <Ago at={tool.updatedAt} />
        <div className="small mute">{t('version {version}', { version: tool.version })}</div>
      </td>
    </tr>
  )
}
