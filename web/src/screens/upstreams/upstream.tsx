/** One upstream: its state, its tools, what changed while one looked, and the ways to mend it. */
import { useState } from 'react'
import { useQuery } from '../../api/query.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { DetailPage } from '../../parts/detail-page.tsx'
import { Fact } from '../../parts/fact.tsx'
import { Ago } from '../../parts/moments.tsx'
import { Foreign, LongText } from '../../parts/text.tsx'
import { useAction } from '../../parts/use-action.ts'
import { catalogChanges } from './changes.ts'
import {
  connectMutation,
  disconnectMutation,
  refreshMutation,
  upstreamQuery,
  upstreamTypes,
  type UpstreamRow,
} from './documents.ts'
import { UpstreamStatus } from '../../parts/upstream-status.tsx'

export function UpstreamScreen({ id }: { id: string }) {
  const read = useQuery(upstreamQuery, { id }, { eventTypes: upstreamTypes })
  const tool = read.data?.tool
  return (
    <DetailPage
      kind="upstream"
      list="/upstreams"
      read={read}
      thing={tool?.__typename === 'McpTool' ? tool : null}
      title={({ title, name }) => title ?? name}
      bodyClass="upstream"
      renderHead={(one) => (
        <>
          <UpstreamStatus status={one.upstream?.status ?? 'PENDING'} />
          <Ways tool={one} reload={read.reload} />
        </>
      )}
      render={(one) => (
        <>
          <Diagnosis tool={one} />
          <Catalog key={one.id} tool={one} />
        </>
      )}
    />
  )
}

function Ways({ tool, reload }: { tool: UpstreamRow; reload(): void }) {
  const refresh = useAction(refreshMutation)
  const connect = useAction(connectMutation)
  const disconnect = useAction(disconnectMutation)
  const input = { toolId: tool.id }
  const signIn = async () => {
    const asked = await connect.act({ input })
    // The server asks for a confirmation first; its answer comes over the feed.
    if (asked) window.open(asked.url, '_blank', 'noopener')
    else reload()
  }
  return (
    <div className="row spread">
      <button
        type="button"
        disabled={refresh.isRunning}
        onClick={() => void refresh.act({ input }, 'The lists were read.').then(reload)}
      >
        {refresh.isRunning ? 'Reading …' : 'Read its lists now'}
      </button>
      <button type="button" disabled={connect.isRunning} onClick={() => void signIn()}>
        Sign in there
      </button>
      <Confirm
        word="Disconnect"
        question={`Disconnect ${tool.name}?`}
        isBusy={disconnect.isRunning}
        onConfirm={() => void disconnect.act({ input }, 'Its tokens are deleted.').then(reload)}
      >
        <p>Tokens, client registration and pending sign-ins of this server are deleted.</p>
      </Confirm>
    </div>
  )
}

function Diagnosis({ tool }: { tool: UpstreamRow }) {
  const { upstream } = tool
  return (
    <section aria-label="State">
      {upstream?.error && (
        <div className="failure" role="status">
          <p>
            <span className="mono">{upstream.error.code}</span>{' '}
            <Foreign text={upstream.error.message} max={1000} />
          </p>
        </div>
      )}
      <dl className="facts">
        <Fact name="Address">
          <span className="mono">
            <Foreign text={tool.url} max={300} />
          </span>
        </Fact>
        <Fact name="Server">
          {upstream?.serverName ? (
            <Foreign text={`${upstream.serverName} ${upstream.serverVersion ?? ''}`} max={120} />
          ) : (
            <span className="mute">not known</span>
          )}
        </Fact>
        <Fact name="Protocol">
          {upstream?.era ? upstream.era.toLowerCase() : <span className="mute">not known</span>}
          {upstream?.transport && `, ${upstream.transport.toLowerCase().replaceAll('_', ' ')}`}
        </Fact>
        <Fact name="Signs in">
          {tool.auth ? tool.auth.kind.toLowerCase().replaceAll('_', ' ') : 'by a person, or not at all'}
        </Fact>
        <Fact name="Last answered">
          {upstream?.lastSeenAt ? <Ago at={upstream.lastSeenAt} /> : <span className="mute">never</span>}
        </Fact>
        <Fact name="Offers">
          {upstream?.tools.length ?? 0} tools, {upstream?.resourceCount ?? 0} resources,{' '}
          {upstream?.promptCount ?? 0} prompts
        </Fact>
      </dl>
      {upstream?.instructions && (
        <details>
          <summary>What the server tells its clients</summary>
          <LongText text={upstream.instructions} />
        </details>
      )}
      {upstream && upstream.notes.length > 0 && (
        <ul className="notes tone-warn">
          {upstream.notes.map((note) => (
            <li key={note}>
              <Foreign text={note} max={300} />
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

/** The tools of the server, with what changed since this page was opened. */
function Catalog({ tool }: { tool: UpstreamRow }) {
  const tools = tool.upstream?.tools ?? []
  const [first] = useState(tools)
  const { added, changed, removed } = catalogChanges(first, tools)
  const mark = (name: string) => (added.includes(name) ? 'new' : changed.includes(name) ? 'changed' : null)
  if (tools.length === 0) return null
  return (
    <section aria-label="Tools of the server">
      <h2>Tools</h2>
      {removed.length > 0 && (
        <p className="tone-bad">
          Removed: <Foreign text={removed.join(', ')} max={500} />
        </p>
      )}
      <ul className="catalog">
        {tools.map(({ name, title, description }) => (
          <li key={name}>
            <span className="mono">
              <Foreign text={name} max={80} />
            </span>
            {mark(name) && <span className="tone-warn small">{mark(name)}</span>}
            <span className="mute">
              <Foreign text={title ?? description} max={200} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}
