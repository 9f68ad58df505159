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

export function WhyFailed({ run }: { run: Run }) {
  const { error, status, failedAttempts, stepCount } = run
  // Those of the step that the run could not make, or is trying to make.
  const attempts = failedAttempts.filter(({ stepIndex }) => stepIndex > stepCount)
  const isTrying = !isEnded(status) && attempts.length > 0
  if (error === null && !isTrying) return null
  const last = attempts.at(-1)
  const code = error?.code ?? last!.code
  return (
    <section className="run-error" aria-label={error ? 'Why it failed' : 'What keeps failing'}>
      <h2>
        <Icon name="warn" /> {error ? titles[code] : 'The model has not answered yet; it is asked again'}
      </h2>
      <p className="small mute">
        Step {stepCount + 1}
        {last && (
          <>
            {', '}
            <Foreign text={last.model} max={80} />
            {last.httpStatus !== null && `, HTTP ${last.httpStatus}`}
          </>
        )}
        {attempts.length > 0 &&
          `, ${attempts.length === 1 ? 'asked once' : `asked ${attempts.length} times`}`}
        {', '}
        <span className="mono">{code}</span>
      </p>
      {error && <LongText text={error.message} />}
      {error && <Advice run={run} code={code} status={last?.httpStatus ?? null} />}
      {error && run.agent && <Retry run={run} />}
      {attempts.length > 0 && (
        <details>
          <summary>{attempts.length === 1 ? 'The attempt' : `All ${attempts.length} attempts`}</summary>
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
        {run.stepCount > 0 ? `Retry from step ${run.stepCount} …` : 'Retry …'}
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
  MODEL_NOT_CONFIGURED: 'The model is not set up',
  MODEL_AUTH: 'The provider refused the key',
  MODEL_RATE_LIMITED: 'The provider refused: too many requests, or no quota left',
  MODEL_UNAVAILABLE: 'The provider did not answer',
  MODEL_BAD_REQUEST: 'The provider did not accept the request',
  CONTEXT_OVERFLOW: 'The conversation is too long for the model',
  OUTPUT_SCHEMA_VIOLATION: 'The answer did not have the form that was asked for',
  TEXT_ENCODED_TOOL_CALL: 'The model wrote its tool calls as text',
  INTERNAL: 'Something failed in Gatehouse',
}

/** What to do next, with the way there. */
function Advice({ run, code, status }: { run: Run; code: string; status: number | null }) {
  const agent = run.agent ? <Link href={`/agents/${run.agent.id}`}>the agent</Link> : 'the agent'
  const providers = <Link href="/operations/providers">Providers</Link>
  switch (code) {
    case 'MODEL_NOT_CONFIGURED':
      return (
        <p>
          Set up the provider under {providers}, or choose another model for {agent}.
        </p>
      )
    case 'MODEL_AUTH':
      return <p>Give the provider a key that is valid, under {providers}. Then retry.</p>
    case 'MODEL_RATE_LIMITED':
      return <p>Wait, then retry. If it comes again, raise the limit or the quota at the provider.</p>
    case 'MODEL_UNAVAILABLE':
      return <p>Test the provider under {providers}, and retry when it answers.</p>
    case 'MODEL_BAD_REQUEST':
      return status === 404 ? (
        <p>
          Check the name of the model in {agent}, and the address of the provider under {providers}.
        </p>
      ) : (
        <p>Check the model and the settings of {agent}: the provider says what it did not accept.</p>
      )
    case 'CONTEXT_OVERFLOW':
      return <p>Let {agent} see fewer messages, or choose a model that takes more.</p>
    case 'OUTPUT_SCHEMA_VIOLATION':
      return (
        <p>Make the schema of the output simpler, or say in the instructions of {agent} what is wanted.</p>
      )
    case 'TEXT_ENCODED_TOOL_CALL':
      return <p>Choose a model for {agent} that can call tools.</p>
    default:
      return <p>Retry. If it comes again, search the log of the server for the id of this run.</p>
  }
}
