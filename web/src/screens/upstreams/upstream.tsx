/** One upstream: its state, its tools, what changed while one looked, and the ways to mend it. */
import { useEffect, useState } from 'react'
import { Link } from 'wouter'
import type { ResultOf } from '../../api/document.ts'
import { useQuery } from '../../api/query.ts'
import { ActionButton, ConfirmAction } from '../../parts/confirm.tsx'
import { DetailPage } from '../../parts/detail-page.tsx'
import { Fact } from '../../parts/fact.tsx'
import { GateBadge } from '../../parts/gate-words.tsx'
import { JsonText } from '../../parts/json-view.tsx'
import { Ago } from '../../parts/moments.tsx'
import { Foreign, LongText } from '../../parts/text.tsx'
import { useAction } from '../../parts/use-action.ts'
import { catalogChanges } from './changes.ts'
import {
  callsQuery,
  connectMutation,
  disconnectMutation,
  logOutMutation,
  refreshMutation,
  upstreamQuery,
  upstreamTypes,
  type UpstreamRow,
} from './documents.ts'
import { LogInButton } from '../../parts/own-login.tsx'
import { UpstreamStatus } from '../../parts/upstream-status.tsx'
import { wordsOf } from '../../parts/badge.tsx'
import { plural, t, T } from '../../texts/texts.tsx'

export function UpstreamScreen({ id }: { id: string }) {
  const read = useQuery(upstreamQuery, { id }, { eventTypes: upstreamTypes })
  const tool = read.data?.tool
  return (
    <DetailPage
      kind="upstream"
      list="/tools"
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
          {one.login === 'PER_PERSON' && <Logins tool={one} reload={read.reload} />}
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
  const input = { toolId: tool.id }
  const signIn = async () => {
    const asked = await connect.act({ input })
    // The server asks for a confirmation first; its answer comes over the feed.
    if (asked) window.open(asked.url, '_blank', 'noopener')
    else reload()
  }
  return (
    <div className="row spread">
      <ActionButton
        needs="tools:Connect"
        disabled={refresh.isRunning}
        onClick={() => void refresh.act({ input }, t('Refreshed.')).then(reload)}
      >
        {refresh.isRunning ? t('Reading …') : t('Refresh')}
      </ActionButton>
      <ActionButton needs="tools:Connect" disabled={connect.isRunning} onClick={() => void signIn()}>
        {t('Sign in there')}
      </ActionButton>
      <ConfirmAction
        needs="tools:Connect"
        word={t('Disconnect')}
        question={t('Disconnect {name}?', { name: tool.name })}
        mutation={disconnectMutation}
        variables={{ input }}
        done={t('Its tokens are deleted.')}
        onEnd={reload}
      >
        <p>{t('Tokens, client registration and pending sign-ins of this server are deleted.')}</p>
      </ConfirmAction>
    </div>
  )
}

/** Who has logged in, and the reader's own login. */
function Logins({ tool, reload }: { tool: UpstreamRow; reload(): void }) {
  const { loginCount = 0, ownLoginAt = null } = tool.upstream ?? {}
  // The login ends in another window.
  useEffect(() => {
    window.addEventListener('focus', reload)
    return () => window.removeEventListener('focus', reload)
  }, [reload])
  return (
    <section aria-label={t('Logins')}>
      <h2>{t('Logins')}</h2>
      <p>
        {t('Each call runs with the login of the person for whom it is made.')}{' '}
        {plural(loginCount, '1 person is logged in.', '{count} people are logged in.')}
      </p>
      <div className="row spread">
        {ownLoginAt === null ? (
          <span className="mute">{t('You are not logged in.')}</span>
        ) : (
          <span>
            <T text="You logged in {time}." time={<Ago at={ownLoginAt} />} />
          </span>
        )}
        <LogInButton
          toolId={tool.id}
          label={ownLoginAt === null ? t('Log in') : t('Log in again')}
          onEnd={reload}
        />
        {ownLoginAt !== null && (
          <ConfirmAction
            needs="tools:Call"
            word={t('End my login')}
            question={t('End your login at {name}?', { name: tool.name })}
            mutation={logOutMutation}
            variables={{ input: { toolId: tool.id } }}
            done={t('Your login has ended.')}
            onEnd={reload}
          >
            <p>{t('Your tokens for this server are deleted. Later calls for you ask for a new login.')}</p>
          </ConfirmAction>
        )}
      </div>
    </section>
  )
}

function Diagnosis({ tool }: { tool: UpstreamRow }) {
  const { upstream } = tool
  return (
    <section aria-label={t('State')}>
      {upstream?.error && (
        <div className="failure" role="status">
          <p>
            <span className="mono">{upstream.error.code}</span>{' '}
            <Foreign text={upstream.error.message} max={1000} />
          </p>
        </div>
      )}
      <dl className="facts">
        <Fact name={t('Address')}>
          <Foreign className="mono" text={tool.url} max={300} />
        </Fact>
        <Fact name={t('Server')}>
          {upstream?.serverName ? (
            <Foreign text={`${upstream.serverName} ${upstream.serverVersion ?? ''}`} max={120} />
          ) : (
            <span className="mute">{t('not known')}</span>
          )}
        </Fact>
        <Fact name={t('Protocol')}>
          {upstream?.era ? wordsOf(upstream.era) : <span className="mute">{t('not known')}</span>}
          {upstream?.transport && `, ${upstream.transport.toLowerCase().replaceAll('_', ' ')}`}
        </Fact>
        <Fact name={t('Signs in')}>
          {tool.auth ? tool.auth.kind.toLowerCase().replaceAll('_', ' ') : t('by a person, or not at all')}
        </Fact>
        <Fact name={t('Last answered')}>
          {upstream?.lastSeenAt ? (
            <Ago at={upstream.lastSeenAt} />
          ) : (
            <span className="mute">{t('never')}</span>
          )}
        </Fact>
        <Fact name={t('Offers')}>
          {t('{tools} tools, {resources} resources, {prompts} prompts', {
            tools: upstream?.tools.length ?? 0,
            resources: upstream?.resourceCount ?? 0,
            prompts: upstream?.promptCount ?? 0,
          })}
        </Fact>
      </dl>
      {upstream?.instructions && (
        <details>
          <summary>{t('What the server tells its clients')}</summary>
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
  const mark = (name: string) =>
    added.includes(name) ? t('new') : changed.includes(name) ? t('changed') : null
  const [from] = useState(() => new Date(Date.now() - 7 * 86_400_000).toISOString())
  const calls = useQuery(callsQuery, { toolId: tool.id, from }).data
  if (tools.length === 0) return null
  return (
    <section aria-label={t('Tools of the server')}>
      <h2>{t('Tools')}</h2>
      {removed.length > 0 && (
        <p className="tone-bad">
          <T text="Removed: {tools}" tools={<Foreign text={removed.join(', ')} max={500} />} />
        </p>
      )}
      <ul className="catalog">
        {tools.map((one) => (
          <CatalogTool key={one.name} tool={tool} shown={one} mark={mark(one.name)} calls={calls} />
        ))}
      </ul>
    </section>
  )
}

interface CatalogToolProps {
  tool: UpstreamRow
  shown: NonNullable<UpstreamRow['upstream']>['tools'][number]
  mark: string | null
  calls: ResultOf<typeof callsQuery> | undefined
}

/** One tool of the server: its gate, which leads to where it is set, what became of its calls, and its schema. */
function CatalogTool({ tool, shown: { name, title, description }, mark, calls }: CatalogToolProps) {
  const action = tool.actions.find((one) => one.action === name)
  const last = calls?.toolCalls.nodes.find((call) => call.name === action?.runtimeName)
  const counts = calls?.statistics.tools.find((one) => one.name === action?.runtimeName)
  const failed = counts ? counts.errors + counts.unknown : 0
  return (
    <li aria-label={name}>
      <Foreign className="mono" text={name} max={80} />
      {mark && <span className="tone-warn small">{mark}</span>}
      {action ? (
        <Link href={`/tools/${tool.id}?tab=gate&action=${encodeURIComponent(name)}`}>
          <GateBadge gate={action.gate} />
        </Link>
      ) : (
        <span className="small mute">{t('not served')}</span>
      )}
      <Foreign className="mute" text={title ?? description} max={200} />
      {last && (
        <span className="small mute">
          <T text="last call {time}" time={<Ago at={last.createdAt} />} />
        </span>
      )}
      {failed > 0 && (
        <span className="small tone-bad">
          {plural(
            counts!.calls,
            '{failed} of 1 call failed in 7 days',
            '{failed} of {count} calls failed in 7 days',
            { failed },
          )}
        </span>
      )}
      {action && (
        <details>
          <summary className="small">{t('Schema')}</summary>
          <JsonText value={action.inputSchema} />
        </details>
      )}
    </li>
  )
}
