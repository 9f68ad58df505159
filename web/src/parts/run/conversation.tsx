/** A run as a conversation: what it was asked, what the model said, its calls and who decided about them; the text on its way at the end. */
import './conversation.css'
import { Fragment } from 'react'
import { useStore, type Store } from '../../api/store.ts'
import { Badge } from '../badge.tsx'
import { Ago } from '../moments.tsx'
import { Empty } from '../states.tsx'
import { markDeception } from '../text.tsx'
import { RunInput } from './asked.tsx'
import { CallCard } from './call-card.tsx'
import { ModelName } from './model-name.tsx'
import { isEnded } from './status.ts'
import type { CallRow } from './run-documents.ts'
import type { Run } from './run-feed.ts'
import type { Choice } from './choice.ts'
import { StepText } from './step-text.tsx'
import type { Writing } from './writing.ts'
import { t } from '../../texts/texts.tsx'

interface Props {
  run: Run
  writing: Store<Writing | null>
  /** Whether the conversation goes on from the one above it: without instructions and where it began. */
  isPart?: boolean
  onChoose(choice: Choice): void
}

export function Conversation({ run, writing, isPart = false, onChoose }: Props) {
  const callsOf = new Map<number, CallRow[]>()
  for (const call of run.toolCalls) {
    const index = call.stepIndex ?? 0
    callsOf.set(index, [...(callsOf.get(index) ?? []), call])
  }
  return (
    <ol className="run-talk" aria-label={t('Conversation')}>
      <RunInput run={run} isPart={isPart} />
      {run.steps.map((step) => (
        <li key={step.id} data-role="ASSISTANT">
          <p className="run-talk-head small mute">
            <button
              type="button"
              className="quiet"
              onClick={() => onChoose({ kind: 'step', id: step.id })}
              aria-label={t('Show step {index}', { index: step.index })}
            >
              {t('Step {index}', { index: step.index })}
            </button>
            <span>
              <ModelName model={step.model} />
            </span>
            <Ago at={step.createdAt} />
          </p>
          <StepText step={step} />
          {callsOf.has(step.index) && (
            <ul className="list">
              {callsOf.get(step.index)!.map((call) => (
                <CallCard
                  key={call.id}
                  call={call}
                  onChoose={() => onChoose({ kind: 'call', id: call.id })}
                />
              ))}
            </ul>
          )}
        </li>
      ))}
      <OnItsWay run={run} writing={writing} />
    </ol>
  )
}

/** The text that is being written; it goes when its step is there. */
function OnItsWay({ run, writing }: Pick<Props, 'run' | 'writing'>) {
  const now = useStore(writing)
  const last = run.steps.at(-1)?.index ?? 0
  const isShown = now !== null && now.stepIndex > last && !isEnded(run.status)
  if (!isShown) {
    if (run.steps.length > 0) return null
    return (
      <li>
        <Empty
          title={isEnded(run.status) ? t('The model said nothing') : t('The model has not said anything yet')}
        />
      </li>
    )
  }
  return (
    <li className="run-writing">
      <p className="run-talk-head small mute">
        <span>{t('Step {index}', { index: now.stepIndex })}</span>
        <Badge status="RUNNING" word={t('is being written')} />
        {now.attempt > 1 && <span>{t('attempt {attempt}', { attempt: now.attempt })}</span>}
      </p>
      <p className="long">
        {now.isPart && (
          <Fragment>
            <span className="mute">{t('You joined midway; the full text appears when it is done.')} </span>
            {' … '}
          </Fragment>
        )}
        <bdi>{markDeception(now.text.slice(-largest))}</bdi>
        <span className="run-caret" aria-hidden="true" />
      </p>
    </li>
  )
}

/** The most text on its way that is drawn, in characters. */
const largest = 20_000
