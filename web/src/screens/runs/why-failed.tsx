/** What failed in a run, above everything else: which model, how often it was asked, what was answered, and what helps. */
import { useState } from 'react'
import { Link } from 'wouter'
import { Icon } from '../../parts/icons.tsx'
import { Foreign, LongText } from '../../parts/text.tsx'
import { RetryFrom } from './retry.tsx'
import { RunAgain } from './run-again.tsx'
import { FailedAttempts } from './failed-attempts.tsx'
import { isEnded } from '../../parts/run/status.ts'
import type { Run } from '../../parts/run/run-feed.ts'
import { t, T, plural } from '../../texts/texts.tsx'

export function WhyFailed({ run }: { run: Run }) {
  const { error, status, failedAttempts, stepCount } = run
  // Those of the step that the run could not make, or is trying to make.
  const attempts = failedAttempts.filter(({ stepIndex }) => stepIndex > stepCount)
  const isTrying = !isEnded(status) && attempts.length > 0
  if (error === null && !isTrying) return null
  const last = attempts.at(-1)
  const code = error?.code ?? last!.code
  return (
    <section className="run-error" aria-label={error ? t('Why it failed') : t('What keeps failing')}>
      <h2>
        <Icon name="warn" /> {error ? titles[code] : t('The model has not answered yet; it is asked again')}
      </h2>
      <p className="small mute">
        {t('Step {index}', { index: stepCount + 1 })}
        {last && (
          <>
            {', '}
            <Foreign text={last.model} max={80} />
            {last.httpStatus !== null && `, HTTP ${last.httpStatus}`}
          </>
        )}
        {attempts.length > 0 && `, ${plural(attempts.length, 'asked once', 'asked {count} times')}`}
        {', '}
        <span className="mono">{code}</span>
      </p>
      {error && <LongText text={error.message} />}
      {error && <Advice run={run} code={code} status={last?.httpStatus ?? null} />}
      {error && run.agent && <Retry run={run} />}
      {attempts.length > 0 && (
        <details>
          <summary>{plural(attempts.length, 'The attempt', 'All {count} attempts')}</summary>
          <FailedAttempts of={attempts} />
        </details>
      )}
    </section>
  )
}

/** The next try keeps what was done; there is nothing to keep before the first step. */
function Retry({ run }: { run: Run }) {
  const [isOpen, setOpen] = useState(false)
  const close = () => setOpen(false)
  return (
    <div>
      <button type="button" onClick={() => setOpen(true)}>
        {run.stepCount > 0 ? t('Retry from step {step} …', { step: run.stepCount }) : t('Retry …')}
      </button>
      {isOpen &&
        (run.stepCount > 0 ? (
          <RetryFrom run={run} step={run.stepCount} onClose={close} />
        ) : (
          <RunAgain id={run.id} onClose={close} />
        ))}
    </div>
  )
}

const titles: Record<string, string> = {
  MODEL_NOT_CONFIGURED: t('The model is not set up'),
  MODEL_AUTH: t('The provider refused the key'),
  MODEL_RATE_LIMITED: t('The provider refused: too many requests, or no quota left'),
  MODEL_UNAVAILABLE: t('The provider did not answer'),
  MODEL_BAD_REQUEST: t('The provider did not accept the request'),
  CONTEXT_OVERFLOW: t('The conversation is too long for the model'),
  OUTPUT_SCHEMA_VIOLATION: t('The answer did not match the required format'),
  TEXT_ENCODED_TOOL_CALL: t('The model wrote its tool calls as text'),
  NOT_STORED: t('What the run did could not be saved'),
  INTERNAL: t('Something went wrong in Gatehouse'),
}

/** What to do next, with the way there. */
function Advice({ run, code, status }: { run: Run; code: string; status: number | null }) {
  const agent = run.agent ? <Link href={`/agents/${run.agent.id}`}>{t('the agent')}</Link> : t('the agent')
  const providers = <Link href="/settings/providers">{t('Providers')}</Link>
  switch (code) {
    case 'MODEL_NOT_CONFIGURED':
      return (
        <p>
          <T
            text="Set up the provider under {providers}, or choose another model for {agent}."
            providers={providers}
            agent={agent}
          />
        </p>
      )
    case 'MODEL_AUTH':
      return (
        <p>
          <T
            text="Give the provider a key that is valid, under {providers}. Then retry."
            providers={providers}
          />
        </p>
      )
    case 'MODEL_RATE_LIMITED':
      return <p>{t('Wait, then retry. If it comes again, raise the limit or the quota at the provider.')}</p>
    case 'MODEL_UNAVAILABLE':
      return (
        <p>
          <T text="Test the provider under {providers}, and retry when it answers." providers={providers} />
        </p>
      )
    case 'MODEL_BAD_REQUEST':
      return status === 404 ? (
        <p>
          <T
            text="Check the name of the model in {agent}, and the address of the provider under {providers}."
            agent={agent}
            providers={providers}
          />
        </p>
      ) : (
        <p>
          <T
            text="Check the model and the settings of {agent}: the provider says what it did not accept."
            agent={agent}
          />
        </p>
      )
    case 'CONTEXT_OVERFLOW':
      return (
        <p>
          <T text="Let {agent} see fewer messages, or choose a model that takes more." agent={agent} />
        </p>
      )
    case 'OUTPUT_SCHEMA_VIOLATION':
      return (
        <p>
          <T
            text="Make the schema of the output simpler, or say in the instructions of {agent} what is wanted."
            agent={agent}
          />
        </p>
      )
    case 'TEXT_ENCODED_TOOL_CALL':
      return (
        <p>
          <T text="Choose a model for {agent} that can call tools." agent={agent} />
        </p>
      )
    default:
      return <p>{t('Retry. If it comes again, search the log of the server for the id of this run.')}</p>
  }
}
