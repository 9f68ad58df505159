/** One upstream: its state, its tools, what changed while one looked, and the ways to mend it. */
import { useState } from 'react'
import { Link } from 'wouter'
import { refusalOf } from '../../api/outcome.ts'
import { useMutation, useQuery } from '../../api/query.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Ago } from '../../parts/moments.tsx'
import { Empty, Failure, Skeleton } from '../../parts/states.tsx'
import { Foreign, LongText } from '../../parts/text.tsx'
import { toast } from '../../parts/toasts.tsx'
import { catalogChanges } from './changes.ts'
import {
  connectMutation,
  disconnectMutation,
  refreshMutation,
  upstreamQuery,
  upstreamTypes,
  type UpstreamRow,
} from './documents.ts'
import { UpstreamStatus } from './upstream-status.tsx'

export function UpstreamScreen({ id }: { id: string }) {
  const { data, error, reload } = useQuery(upstreamQuery, { id }, { hears: upstreamTypes })
  const tool = data?.tool
  if (error && !tool) return <Failure error={error} retry={reload} />
  if (!data) return <Skeleton lines={6} />
  if (tool?.__typename !== 'McpTool')
    return (
      <Empty title="This upstream does not exist any more">
        <Link href="/upstreams">All upstreams</Link>
      </Empty>
    )
  return (
    <>
      <header className="screen-head">
        <Link href="/upstreams" className="mute" aria-label="All upstreams">
          <Icon name="back" />
        </Link>
        <h1>
          <Foreign text={tool.title ?? tool.name} max={80} />
        </h1>
        <UpstreamStatus status={tool.upstream?.status ?? 'PENDING'} />
        <Ways tool={tool} reload={reload} />
      </header>
      <div className="screen-body upstream">
        <Diagnosis tool={tool} />
        <Catalog key={tool.id} tool={tool} />
      </div>
    </>
  )
}

function Ways({ tool, reload }: { tool: UpstreamRow; reload(): void }) {
  const refresh = useMutation(refreshMutation)
  const connect = useMutation(connectMutation)
  const disconnect = useMutation(disconnectMutation)
  const input = { toolId: tool.id }
  const report = (result: object | null | undefined, failure: unknown, done: string) => {
    const refused = refusalOf(result, failure)
    toast(refused ? refused.message : done, { tone: refused ? 'bad' : 'plain' })
    reload()
  }
  const signIn = async () => {
    const result = (await connect.mutate({ input }))?.connectUpstream
    // The server asks for a confirmation first; its answer comes over the feed.
    if (result?.__typename === 'ConnectUpstreamPayload') window.open(result.url, '_blank', 'noopener')
    else report(result, connect.error, '')
  }
  return (
    <div className="row spread">
      <button
        type="button"
        disabled={refresh.isRunning}
        onClick={() =>
          void refresh
            .mutate({ input })
            .then((result) => report(result?.refreshUpstream, refresh.error, 'The lists were read.'))
        }
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
        onConfirm={() =>
          void disconnect
            .mutate({ input })
            .then((result) => report(result?.disconnectUpstream, disconnect.error, 'Its tokens are deleted.'))
        }
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
        <div>
          <dt>Address</dt>
          <dd className="mono">
            <Foreign text={tool.url} max={300} />
          </dd>
        </div>
        <div>
          <dt>Server</dt>
          <dd>
            {upstream?.serverName ? (
              <Foreign text={`${upstream.serverName} ${upstream.serverVersion ?? ''}`} max={120} />
            ) : (
              <span className="mute">not known</span>
            )}
          </dd>
        </div>
        <div>
          <dt>Protocol</dt>
          <dd>
            {upstream?.era ? upstream.era.toLowerCase() : <span className="mute">not known</span>}
            {upstream?.transport && `, ${upstream.transport.toLowerCase().replaceAll('_', ' ')}`}
          </dd>
        </div>
        <div>
          <dt>Signs in</dt>
          <dd>
            {tool.auth ? tool.auth.kind.toLowerCase().replaceAll('_', ' ') : 'by a person, or not at all'}
          </dd>
        </div>
        <div>
          <dt>Last answered</dt>
          <dd>
            {upstream?.lastSeenAt ? <Ago at={upstream.lastSeenAt} /> : <span className="mute">never</span>}
          </dd>
        </div>
        <div>
          <dt>Offers</dt>
          <dd>
            {upstream?.tools.length ?? 0} tools, {upstream?.resourceCount ?? 0} resources,{' '}
            {upstream?.promptCount ?? 0} prompts
          </dd>
        </div>
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
