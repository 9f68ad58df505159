/** One step: what the model wrote, and the calls that it asked for. */
import { useState } from 'react'
import { useQuery } from '../../api/query.ts'
import { ActionButton } from '../../parts/confirm.tsx'
import { Badge } from '../../parts/badge.tsx'
import { CopyId } from '../../parts/copy-id.tsx'
import { durationText } from '../../parts/durations.ts'
import { Moment } from '../../parts/moments.tsx'
import { Empty, Failure, Skeleton } from '../../parts/states.tsx'
import { Foreign } from '../../parts/text.tsx'
import { ToolSizeText } from '../../parts/tool-size.tsx'
import { Fact } from '../../parts/fact.tsx'
import { StepText } from '../../parts/run/step-text.tsx'
import { isOpenCall } from '../../parts/run/status.ts'
import { RetryFrom } from './retry.tsx'
import { FailedAttempts } from './failed-attempts.tsx'
import { ModelName } from '../../parts/run/model-name.tsx'
import { stepQuery } from '../../parts/run/run-documents.ts'
import type { Run } from '../../parts/run/run-feed.ts'
import type { Choice } from '../../parts/run/choice.ts'
import { t } from '../../texts/texts.tsx'

interface Props {
  id: string
  /** The runs on screen; the step may be one of theirs. */
  runs: readonly Run[]
  onChoose(choice: Choice): void
}

/** The step from the runs on screen, or, when none of them has it, read by its id. */
export function StepPane({ id, runs, onChoose }: Props) {
  const [isRetrying, setRetrying] = useState(false)
  const run = runs.find(({ steps }) => steps.some((step) => step.id === id))
  const known = run?.steps.find((step) => step.id === id)
  const read = useQuery(stepQuery, { ids: [id] }, { skip: known !== undefined })
  const node = read.data?.nodes[0]
  const step = known ?? (node?.__typename === 'Step' ? node : undefined)
  if (read.error !== null && !step) return <Failure error={read.error} retry={read.reload} />
  if (read.data && !step) return <Empty title={t('There is no such step')} />
  if (!step) return <Skeleton lines={6} />
  const calls = run?.toolCalls.filter(({ stepIndex }) => stepIndex === step.index) ?? []
  return (
    <>
      <div className="row">
        <h2 className="run-pane-title">{t('Step {index}', { index: step.index })}</h2>
        {run?.agent && calls.every(({ status }) => !isOpenCall(status)) && (
          <ActionButton needs="generations:Start" className="spread" onClick={() => setRetrying(true)}>
            {t('Retry from here …')}
          </ActionButton>
        )}
      </div>
      {run && isRetrying && <RetryFrom run={run} step={step.index} onClose={() => setRetrying(false)} />}
      <StepText step={step} />
      {calls.length > 0 && (
        <section aria-label={t('Calls')}>
          <h3>{t('Calls')}</h3>
          <ul className="run-calls">
            {calls.map((call) => (
              <li key={call.id} className="row">
                <button
                  type="button"
                  className="quiet"
                  onClick={() => onChoose({ kind: 'call', id: call.id })}
                >
                  <Foreign text={call.name} max={80} />
                </button>
                <Badge status={call.status} />
              </li>
            ))}
          </ul>
        </section>
      )}
      {step.failedAttempts.length > 0 && (
        <section aria-label={t('Failed attempts')}>
          <h3>{t('Failed attempts')}</h3>
          <FailedAttempts of={step.failedAttempts} />
        </section>
      )}
      <dl className="run-facts">
        <Fact name={t('Model')}>
          <ModelName model={step.model} />
        </Fact>
        <Fact name={t('Tokens')}>
          {t('{input} in, {output} out', {
            input: step.usage.inputTokens,
            output: step.usage.outputTokens,
          })}
        </Fact>
        {step.toolSize !== null && (
          <Fact name={t('Sent')}>
            <ToolSizeText of={step.toolSize} />
          </Fact>
        )}
        <Fact name={t('Ended by')}>{step.finishReason}</Fact>
        {step.firstTokenAt !== null && step.startedAt !== null && (
          <Fact name={t('First token')}>
            {t('after {time}', { time: between(step.startedAt, step.firstTokenAt) })}
          </Fact>
        )}
        {step.startedAt !== null && (
          <Fact name={t('Duration')}>{between(step.startedAt, step.createdAt)}</Fact>
        )}
        {step.attempt > 1 && <Fact name={t('Attempt')}>{step.attempt}</Fact>}
        <Fact name={t('Written')}>
          <Moment at={step.createdAt} />
        </Fact>
        <Fact name={t('Id')}>
          <CopyId id={step.id} />
        </Fact>
      </dl>
    </>
  )
}

const between = (from: string, to: string) => durationText(Date.parse(to) - Date.parse(from))
