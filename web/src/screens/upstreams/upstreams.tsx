/** The servers behind mcp tools: whether they answer, what they offer, and how to mend what is wrong. */
import './upstreams.css'
import { useState } from 'react'
import { Link } from 'wouter'
import { usePages } from '../../api/pages.ts'
import { Icon } from '../../parts/icons.tsx'
import { ListPage } from '../../parts/list-page.tsx'
import { Ago } from '../../parts/moments.tsx'
import { Foreign } from '../../parts/text.tsx'
import { upstreamsQuery, upstreamTypes } from './documents.ts'
import { TryServer } from './try-server.tsx'
import { UpstreamStatus } from './upstream-status.tsx'

export function Upstreams() {
  const [isOpen, setOpen] = useState(false)
  const pages = usePages(upstreamsQuery, {}, (data) => data.tools, { eventTypes: upstreamTypes })
  return (
    <>
      <ListPage
        title="Upstreams"
        list="/upstreams"
        head={
          <button type="button" className="spread" onClick={() => setOpen(true)}>
            <Icon name="play" /> Try a server
          </button>
        }
        pages={pages}
        label="Upstream MCP servers"
        columns={['Tool', 'Server', 'Status', 'Last answered']}
        empty={{
          title: 'No upstream servers',
          text: 'A tool of the kind mcp makes the tools of a foreign MCP server tools of your agents.',
        }}
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
                  <Foreign
                    text={`${tool.upstream.serverName} ${tool.upstream.serverVersion ?? ''}`}
                    max={80}
                  />
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
                  <span className="mute">never</span>
                )}
              </td>
            </tr>
          )
        }
      />
      {isOpen && <TryServer onClose={() => setOpen(false)} />}
    </>
  )
}
