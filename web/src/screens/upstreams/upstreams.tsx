/** The servers behind mcp tools: whether they answer, what they offer, and how to mend what is wrong. */
import './upstreams.css'
import { Link } from 'wouter'
import { usePages } from '../../api/pages.ts'
import { useAddress } from '../../parts/address.ts'
import { ListPage, nameIn } from '../../parts/list-page.tsx'
import { Ago } from '../../parts/moments.tsx'
import { Foreign } from '../../parts/text.tsx'
import { upstreamsQuery, upstreamTypes } from './documents.ts'
import { UpstreamStatus } from '../../parts/upstream-status.tsx'
import { t } from '../../texts/texts.tsx'

const noUpstreams = {
  title: t('No upstream servers'),
  text: t('Add a foreign MCP server: its tools become tools of your agents.'),
}
const noneLikeThis = { title: t('No matching upstreams'), text: t('Change the search above.') }

export function Upstreams() {
  const { params } = useAddress()
  const name = nameIn(params)
  const pages = usePages(upstreamsQuery, { name }, (data) => data.tools, { eventTypes: upstreamTypes })
  return (
    <ListPage
      title={t('Upstreams')}
      list="/upstreams"
      kind="upstream"
      pages={pages}
      label={t('Upstream MCP servers')}
      columns={[t('Tool'), t('Server'), t('Status'), t('Last answered')]}
      empty={name === null ? noUpstreams : noneLikeThis}
      renderRow={(tool) =>
        tool.__typename === 'McpTool' && (
          <tr key={tool.id}>
            <td>
              <Link href={`/upstreams/${tool.id}`}>
                <Foreign text={tool.title ?? tool.name} max={80} />
              </Link>
            </td>
            <td>
              {tool.upstream?.serverName && (
                <Foreign text={`${tool.upstream.serverName} ${tool.upstream.serverVersion ?? ''}`} max={80} />
              )}
              <div className="mono small mute">
                <Foreign text={tool.url} max={100} />
              </div>
            </td>
            <td>
              <UpstreamStatus status={tool.upstream?.status ?? 'PENDING'} />
              {tool.upstream?.error && (
                <div className="small tone-bad">
                  <Foreign text={tool.upstream.error.message} max={160} />
                </div>
              )}
            </td>
            <td>
              {tool.upstream?.lastSeenAt ? (
                <Ago at={tool.upstream.lastSeenAt} />
              ) : (
                <span className="mute">{t('never')}</span>
              )}
            </td>
          </tr>
        )
      }
    />
  )
}
