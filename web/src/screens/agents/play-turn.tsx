/** One turn of a trial: the run that a message started, with what it waits for to be answered in place. */
import { useEffect } from 'react'
import { Link, useLocation } from 'wouter'
import { command } from '../../api/command.ts'
import { useStore } from '../../api/store.ts'
import { ActionButton } from '../../parts/confirm.tsx'
import { Badge } from '../../parts/badge.tsx'
import { Icon } from '../../parts/icons.tsx'
import { QuestionHere } from '../../parts/question/question-here.tsx'
import { runHref } from '../../parts/run/choice.ts'
import { Conversation } from '../../parts/run/conversation.tsx'
import type { Run } from '../../parts/run/run-feed.ts'
import { isEnded } from '../../parts/run/status.ts'
import { SubmitOutput } from '../../parts/run/submit-output.tsx'
import { useCall } from '../../parts/run/use-call.ts'
import { useRunFeed } from '../../parts/run/use-run-feed.ts'
import { Failure, Skeleton } from '../../parts/states.tsx'
import { Foreign, LongText } from '../../parts/text.tsx'
import { useAction } from '../../parts/use-action.ts'
import { t, T } from '../../texts/texts.tsx'

const cancelMutation = command('cancelGeneration')

interface Props {
  id: string
  isFirst: boolean
  /** Called when the run has ended: the next message may come. */
  onEnd(): void
}

export function PlayTurn({ id, isFirst, onEnd }: Props) {
  const [, go] = useLocation()
  const feed = useRunFeed(id)
  const { run, error } = useStore(feed.read)
  const isOver = run === null || (run !== undefined && isEnded(run.status))
  useEffect(() => {
    if (isOver) onEnd()
    // Once for each end: the callback is another one with each drawing.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [isOver])
  if (!run) return error === null ? <Skeleton /> : <Failure error={error} retry={feed.reload} />
  return (
    <article className="stack play-turn" aria-label={t('Run')}>
      <Conversation
        run={run}
        writing={feed.writing}
        isPart={!isFirst}
        onChoose={(choice) => go(runHref(id, 'timeline', choice))}
      />
      <Open run={run} />
      {run.error && (
        <div className="tone-bad">
          <p className="mono">{run.error.code}</p>
          <LongText text={run.error.message} />
        </div>
      )}
      <footer className="row small mute">
        <span role="status">
          <Badge status={run.status} />
        </span>
        <Link href={`/runs/${id}`}>{t('The run')}</Link>
        {!isOver && <Stop run={run} />}
      </footer>
    </article>
  )
}

function Stop({ run: { id, cancelRequestedAt } }: { run: Run }) {
  const { act, isRunning } = useAction(cancelMutation)
  const isStopping = isRunning || cancelRequestedAt !== null
  const stop = () =>
    void act({ input: { generationId: id, reason: t('Stopped in a trial.') } }, t('It is being stopped.'))
  return (
    <ActionButton needs="generations:Cancel" className="danger spread" disabled={isStopping} onClick={stop}>
      <Icon name="pause" /> {isStopping ? t('Stopping …') : t('Stop')}
    </ActionButton>
  )
}

/** One question at a time, so that a key decides about the one that is on the screen; and every client call. */
function Open({ run }: { run: Run }) {
  const { approvals = [], toolCalls = [] } = run.requiredAction ?? {}
  const [question] = approvals
  return (
    <>
      {toolCalls.map(({ id, name }) => (
        <section key={id} aria-label={t('Output of {name}', { name })}>
          <h3>
            <T text="The agent waits for {name}" name={<Foreign text={name} max={80} />} />
          </h3>
          <ClientCall id={id} run={run} />
        </section>
      ))}
      {question && (
        <section aria-label={t('The agent asks')}>
          <QuestionHere key={question.id} id={question.id} />
          {approvals.length > 1 && (
            <p className="small mute">{t('{count} more will follow.', { count: approvals.length - 1 })}</p>
          )}
        </section>
      )}
    </>
  )
}

function ClientCall({ id, run }: { id: string; run: Run }) {
  const read = useCall(
    id,
    run.toolCalls.find((call) => call.id === id),
  )
  const call = read.data?.toolCall
  if (!call?.generation)
    return read.error === null ? null : <Failure error={read.error} retry={read.reload} />
  return <SubmitOutput call={call} generationId={call.generation.id} onDone={read.reload} />
}
