/** What there is to know about a run as a whole. */
import { Link } from 'wouter'
import { Badge, wordsOf } from '../../parts/badge.tsx'
import { CopyId } from '../../parts/copy-id.tsx'
import { durationText } from '../../parts/durations.ts'
import { JsonText } from '../../parts/json-view.tsx'
import { Ago, Countdown, Moment } from '../../parts/moments.tsx'
import { moneyText } from '../../parts/money.ts'
import { Principal } from '../../parts/principal.tsx'
import { Foreign } from '../../parts/text.tsx'
import { Fact } from '../../parts/fact.tsx'
import { ModelName } from '../../parts/run/model-name.tsx'
import { isEnded } from '../../parts/run/status.ts'
import { CopyStart } from './copy-start.tsx'
import { hrefOf, noFilter } from './rows.ts'
import type { Run } from '../../parts/run/run-feed.ts'

const number = (value: number) => value.toLocaleString('en')

export function RunFactsPane({ run }: { run: Run }) {
  return (
    <>
      <End run={run} />
      <Facts run={run} />
      {run.agent && !run.parent && <CopyStart run={run} />}
    </>
  )
}

/** How the run ended, where that needs words. */
function End({
  run: { status, stopReason, truncated, output, cancelReason, finishedAt, startedAt },
}: {
  run: Run
}) {
  return (
    <>
      {status === 'COMPLETED' && truncated && stopReason && (
        <p className="run-note">
          A limit ended it before the model was done: <strong>{wordsOf(stopReason)}</strong>.
        </p>
      )}
      {status === 'EXPIRED' && <p className="run-note">It reached its deadline.</p>}
      {cancelReason !== null && (
        <p className="run-note">
          Cancelled: <Foreign text={cancelReason} max={1000} />
        </p>
      )}
      {finishedAt !== null && startedAt === null && (
        <p className="run-note">It ended before a worker began with it.</p>
      )}
      {output?.object != null && (
        <section aria-label="Structured output">
          <h2>Output</h2>
          <JsonText value={output.object} />
        </section>
      )}
    </>
  )
}

function Facts({ run }: { run: Run }) {
  const { id, agent, model, deadlineAt, threadId, stopReason, status } = run
  return (
    <section aria-label="Facts">
      <h2>About the run</h2>
      <dl className="run-facts">
        <Fact name="Agent">
          {agent ? (
            <Link href={`/agents/${agent.id}`}>
              <Foreign text={agent.name} max={80} />
            </Link>
          ) : (
            <span className="mute">deleted, or hidden from you</span>
          )}
        </Fact>
        <Fact name="Model">
          {model ? <ModelName model={model} /> : <span className="mute">none yet</span>}
        </Fact>
        <Fact name="Started">
          <Ago at={run.createdAt} />
        </Fact>
        {run.startedAt !== null && run.finishedAt !== null && (
          <Fact name="Took">{durationText(Date.parse(run.finishedAt) - Date.parse(run.startedAt))}</Fact>
        )}
        {stopReason !== null && <Fact name="Ended by">{stopWords[stopReason] ?? wordsOf(stopReason)}</Fact>}
        <Fact name="Steps">{run.stepCount}</Fact>
        <Spent run={run} />
        {!isEnded(status) && (
          <Fact name="Deadline">
            <Countdown until={deadlineAt} />
          </Fact>
        )}
        {run.finishedAt !== null && (
          <Fact name="Ended">
            <Moment at={run.finishedAt} />
          </Fact>
        )}
        {run.parent && (
          <Fact name="Parent">
            <Link href={`/runs/${run.parent.id}`}>
              <Foreign text={run.parent.agent?.name ?? run.parent.id} max={80} />
            </Link>
          </Fact>
        )}
        {run.root && run.root.id !== run.parent?.id && (
          <Fact name="Root">
            <Link href={`/runs/${run.root.id}`}>
              <Foreign text={run.root.agent?.name ?? run.root.id} max={80} />
            </Link>
          </Fact>
        )}
        {run.retryOf && (
          <Fact name="Retry of">
            <Link href={`/runs/${run.retryOf.id}`}>another run</Link>
            {run.retryStep ? `, behind its step ${run.retryStep}` : ', from the beginning'}
          </Fact>
        )}
        {run.retries && run.retries.nodes.length > 0 && (
          <Fact name="Retries">
            <ul>
              {run.retries.nodes.map((retry) => (
                <li key={retry.id}>
                  <Link href={`/runs/${retry.id}`}>
                    <Ago at={retry.createdAt} />
                  </Link>{' '}
                  <Badge status={retry.status} />
                </li>
              ))}
            </ul>
          </Fact>
        )}
        <Fact name="Thread">
          <Link href={hrefOf({ ...noFilter, threadId })}>its runs</Link>
        </Fact>
        <Fact name="Asked for by">
          <Principal of={run.requester} />
        </Fact>
        <Fact name="Id">
          <CopyId id={id} />
        </Fact>
      </dl>
    </section>
  )
}

/** Tokens and money, of the run and with its child runs. */
function Spent({ run: { usage, totalUsage, totalCost } }: { run: Run }) {
  const hasMore = totalUsage.totalTokens > usage.inputTokens + usage.outputTokens
  return (
    <>
      <Fact name="Tokens">
        {number(usage.inputTokens)} in, {number(usage.outputTokens)} out
      </Fact>
      {hasMore && <Fact name="With child runs">{number(totalUsage.totalTokens)} tokens</Fact>}
      <Fact name={hasMore ? 'Cost, with child runs' : 'Cost'}>
        {totalCost === null ? <span className="tone-warn">unknown</span> : moneyText(totalCost)}
      </Fact>
    </>
  )
}

const stopWords: Record<string, string> = {
  END_TURN: 'the model, which was done',
  MAX_STEPS: 'its most steps',
  STOP_CONDITION: 'a stop condition',
  BUDGET: 'its budget of tokens',
  LENGTH: 'the length of a response',
  CONTENT_FILTER: 'a content filter',
}
