/** Two runs beside each other: what they were started with, what became of each, and what was said in both. */
import './compare.css'
import type { ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import { useQuery } from '../../api/query.ts'
import { useStore } from '../../api/store.ts'
import { Badge } from '../../parts/badge.tsx'
import { Changes } from '../../parts/changes.tsx'
import { Icon } from '../../parts/icons.tsx'
import { useKeys } from '../../parts/keys.ts'
import { Ago } from '../../parts/moments.tsx'
import { runHref, views } from '../../parts/run/choice.ts'
import { Conversation } from '../../parts/run/conversation.tsx'
import { ModelName } from '../../parts/run/model-name.tsx'
import type { Run } from '../../parts/run/run-feed.ts'
import { useRunFeed } from '../../parts/run/use-run-feed.ts'
import { Failure, Skeleton } from '../../parts/states.tsx'
import { Foreign } from '../../parts/text.tsx'
import { differences } from '../../parts/version-diff.ts'
import { NoRun } from './no-run.tsx'
import { Cost, None, Took } from './spent.tsx'
import { againQuery, startOf, type Again } from './start-input.ts'
import { t, numberText } from '../../texts/texts.tsx'

interface Side {
  name: string
  run: Run
  given: Again
}

export function CompareRuns({ id, other }: { id: string; other: string }) {
  const [, go] = useLocation()
  const sides = [useSide(t('First run'), id), useSide(t('Second run'), other)]
  useKeys({ Escape: () => go(`/runs/${id}`) })
  const missing = sides.find(({ run }) => run === null)
  if (missing) return <NoRun id={missing.id} />
  const failed = sides.find(({ run, given, error }) => error !== null && !(run && given))
  if (failed) return <Failure error={failed.error} retry={failed.reload} />
  const pair = sides.flatMap(({ run, given, ...side }) => (run && given ? { ...side, run, given } : []))
  if (pair.length < 2) return <Skeleton lines={10} />
  return (
    <>
      <header className="screen-head">
        <Link
          href={`/runs/${id}`}
          className="run-home"
          aria-label={t('Back to the run')}
          title={t('Back to the run (Esc)')}
        >
          <Icon name="back" />
        </Link>
        <h1>{t('Two runs compared')}</h1>
      </header>
      <div className="stack compare">
        <Differences pair={pair} />
        <Facts pair={pair} />
        <div className="compare-pair">
          {pair.map(({ name, run, writing }) => (
            <section key={name} aria-label={name}>
              <h2>{name}</h2>
              <Conversation
                run={run}
                writing={writing}
                onChoose={(choice) => go(runHref(run.id, views[0].view, choice))}
              />
            </section>
          ))}
        </div>
      </div>
    </>
  )
}

/** One of the two: as it is now, and what it was started with. */
function useSide(name: string, id: string) {
  const feed = useRunFeed(id)
  const { run, error } = useStore(feed.read)
  const start = useQuery(againQuery, { id })
  return {
    name,
    id,
    run,
    writing: feed.writing,
    given: start.data?.generation,
    error: error ?? start.error,
    reload() {
      feed.reload()
      start.reload()
    },
  }
}

function Differences({ pair }: { pair: readonly Side[] }) {
  const versions = pair.map(({ given }, version) => ({ version, definition: startOf(given), changes: [] }))
  const changes = differences(versions, 0, 1)
  return (
    <section className="stack" aria-label={t('What differs at the start')}>
      <h2>{t('What differs at the start')}</h2>
      {changes.length === 0 ? (
        <p className="mute">{t('Both started with the same agent, settings and messages.')}</p>
      ) : (
        <Changes changes={changes} label={t('Differences')} />
      )}
    </section>
  )
}

/** What became of a run, row by row. */
const facts: readonly { name: string; render(side: Side): ReactNode }[] = [
  {
    name: t('Outcome'),
    render: ({ run: { status, error } }) => (
      <>
        <Badge status={status} /> {error && <span className="mono small">{error.code}</span>}
      </>
    ),
  },
  {
    name: t('Agent'),
    render: ({ run: { agent }, given }) => (
      <>
        {agent ? <Foreign text={agent.name} max={80} /> : t('deleted agent')}{' '}
        <span className="mute">{t('version {version}', { version: given.input.agentVersion })}</span>
      </>
    ),
  },
  { name: t('Model'), render: ({ run: { model } }) => (model ? <ModelName model={model} /> : <None />) },
  { name: t('Duration'), render: ({ run }) => <Took run={run} /> },
  { name: t('Steps'), render: ({ run }) => run.stepCount },
  { name: t('Tokens'), render: ({ run }) => numberText(run.totalUsage.totalTokens) },
  { name: t('Cost'), render: ({ run }) => <Cost of={run.totalCost} /> },
  {
    name: t('Calls'),
    render: ({ run: { toolCalls } }) =>
      toolCalls.length === 0 ? (
        <None />
      ) : (
        <ul>
          {toolCalls.map(({ id, name, status }) => (
            <li key={id}>
              <Foreign className="mono" text={name} max={80} /> <Badge status={status} />
            </li>
          ))}
        </ul>
      ),
  },
]

function Facts({ pair }: { pair: readonly Side[] }) {
  return (
    <table className="compare-facts">
      <caption className="sr-only">{t('What became of both')}</caption>
      <thead>
        <tr>
          <th scope="col">
            <span className="sr-only">{t('Fact')}</span>
          </th>
          {pair.map(({ name, run }) => (
            <th key={name} scope="col">
              <Link href={`/runs/${run.id}`}>{name}</Link> <Ago at={run.createdAt} />
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {facts.map(({ name, render }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            {pair.map((side) => (
              <td key={side.name}>{render(side)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
