/** One run: its timeline, its conversation and its events, with what is chosen beside them. */
import './run.css'
import { useEffect, useState } from 'react'
import { Link, useLocation, useSearch } from 'wouter'
import { ActionButton } from '../../parts/confirm.tsx'
import { Badge } from '../../parts/badge.tsx'
import { Icon } from '../../parts/icons.tsx'
import { KeyHint } from '../../parts/key-hint.tsx'
import { Failure, Skeleton } from '../../parts/states.tsx'
import { Foreign } from '../../parts/text.tsx'
import { CallPane } from './call-pane.tsx'
import { CancelRun } from './cancel-run.tsx'
import { CompareWith } from './compare-with.tsx'
import { NoRun } from './no-run.tsx'
import { placeOf, runHref, views, type Choice } from '../../parts/run/choice.ts'
import { Conversation } from '../../parts/run/conversation.tsx'
import { RawEvents } from './raw-events.tsx'
import { isEnded } from '../../parts/run/status.ts'
import type { Run } from '../../parts/run/run-feed.ts'
import { RunFactsPane } from './run-facts.tsx'
import { RunAgain } from './run-again.tsx'
import { StartRun } from './start-run.tsx'
import { StepPane } from './step-pane.tsx'
import { Timeline } from './timeline.tsx'
import { useRunKeys } from './use-run-keys.ts'
import { lastList } from './use-run-list.ts'
import { useRuns, type RunsOnScreen } from './use-runs.tsx'
import { Waiting } from './waiting.tsx'
import { PauseNotice } from '../../parts/paused.tsx'
import { SegmentLinks } from '../../parts/segments.tsx'
import { WhyFailed } from './why-failed.tsx'
import { t } from '../../texts/texts.tsx'

export function RunScreen({ id }: { id: string }) {
  const runs = useRuns(id)
  useEffect(() => {
    // A block, because scrollTo returns a promise in newer browsers.
    void window.scrollTo(0, 0)
  }, [])
  const { run, error } = runs.top
  if (error !== null && !run) return <Failure error={error} retry={runs.reload} />
  if (run === undefined) return <Skeleton lines={10} />
  if (run === null) return <NoRun id={id} />
  return (
    <>
      {runs.followers}
      <OneRun run={run} runs={runs} />
    </>
  )
}

function OneRun({ run, runs }: { run: Run; runs: RunsOnScreen }) {
  const [, go] = useLocation()
  const { view, choice } = placeOf(useSearch())
  const choose = (next: Choice | null) =>
    // Moving from one choice to another leaves one entry in the history.
    go(runHref(run.id, view, next), { replace: choice !== null })
  useRunKeys(run, choice, () => (choice ? choose(null) : go(lastList().href)))
  return (
    <div className={choice ? 'run has-chosen' : 'run'}>
      <Head run={run} />
      <WhyFailed run={run} />
      {run.pause && (
        <section className="run-paused" aria-label={t('Why it waits')}>
          <PauseNotice pause={run.pause} />
        </section>
      )}
      <Waiting run={run} onChoose={(id) => choose({ kind: 'call', id })} />
      {runs.top.error !== null && <Failure error={runs.top.error} retry={runs.reload} />}
      <div className="run-body">
        <div className="run-main">
          <SegmentLinks
            label={t('Views')}
            links={views.map((one) => ({
              href: runHref(run.id, one.view, choice),
              name: one.name,
              isCurrent: one.view === view,
            }))}
          />
          {view === 'timeline' && <Timeline run={run} runs={runs} choice={choice} onChoose={choose} />}
          {view === 'conversation' && <Conversation run={run} writing={runs.writing} onChoose={choose} />}
          {view === 'events' && <RawEvents run={run} heard={runs.heard} />}
        </div>
        <aside className="run-pane" aria-label={choice ? t('Selection') : t('About the run')}>
          <div className="run-pane-body">
            {choice && (
              <button type="button" className="quiet run-back" onClick={() => choose(null)}>
                <Icon name="back" /> {t('About the run')}
              </button>
            )}
            {choice?.kind === 'call' ? (
              <CallPane key={choice.id} id={choice.id} run={run} runs={runs} />
            ) : choice ? (
              <StepPane
                key={choice.id}
                id={choice.id}
                runs={[run, ...runs.children.values()]}
                onChoose={choose}
              />
            ) : (
              <RunFactsPane run={run} />
            )}
          </div>
        </aside>
      </div>
    </div>
  )
}

function Head({ run }: { run: Run }) {
  const [dialog, setDialog] = useState<'cancel' | 'continue' | 'again' | 'compare' | null>(null)
  const { id, status, agent, threadId, cancelRequestedAt, parent, root } = run
  return (
    <header className="screen-head">
      <Link
        href={lastList().href}
        className="run-home"
        aria-label={t('All runs')}
        title={t('All runs (Esc)')}
      >
        <Icon name="back" />
      </Link>
      <h1 className="run-name">{agent ? <Foreign text={agent.name} max={80} /> : t('Run')}</h1>
      <span role="status">
        <Badge status={status} />
        {!isEnded(status) && cancelRequestedAt !== null && (
          <span className="mute"> {t('is being cancelled')}</span>
        )}
      </span>
      <span className="run-kin">
        {parent && (
          <Link href={`/runs/${parent.id}`} className="button">
            {t('Parent')} <KeyHint keys="p" />
          </Link>
        )}
        {root && root.id !== parent?.id && (
          <Link href={`/runs/${root.id}`} className="button">
            {t('Root')} <KeyHint keys="t" />
          </Link>
        )}
        {agent && (
          <ActionButton needs="generations:Start" onClick={() => setDialog('again')}>
            {t('Run again …')}
          </ActionButton>
        )}
        <ActionButton needs="generations:List" onClick={() => setDialog('compare')}>
          {t('Compare with …')}
        </ActionButton>
        {isEnded(status) && !parent && agent && (
          <ActionButton needs="generations:Start" onClick={() => setDialog('continue')}>
            {t('Continue …')}
          </ActionButton>
        )}
        {!isEnded(status) && cancelRequestedAt === null && (
          <ActionButton needs="generations:Cancel" className="danger" onClick={() => setDialog('cancel')}>
            {t('Cancel …')}
          </ActionButton>
        )}
      </span>
      {dialog === 'again' && <RunAgain id={id} onClose={() => setDialog(null)} />}
      {dialog === 'compare' && <CompareWith run={run} onClose={() => setDialog(null)} />}
      {dialog === 'cancel' && <CancelRun id={id} onClose={() => setDialog(null)} />}
      {dialog === 'continue' && (
        <StartRun agentId={agent?.id ?? null} threadId={threadId} onClose={() => setDialog(null)} />
      )}
    </header>
  )
}
