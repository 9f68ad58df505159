/** What there is to know about a run as a whole. */
import { Link } from 'wouter'
import { Badge, wordsOf } from '../../parts/badge.tsx'
import { CopyId } from '../../parts/copy-id.tsx'
import { JsonText } from '../../parts/json-view.tsx'
import { Ago, Countdown, Moment } from '../../parts/moments.tsx'
import { Requester } from '../../parts/principal.tsx'
import { Foreign } from '../../parts/text.tsx'
import { Fact } from '../../parts/fact.tsx'
import { ModelName } from '../../parts/run/model-name.tsx'
import { isEnded } from '../../parts/run/status.ts'
import { CopyStart } from './copy-start.tsx'
import { hrefOf, noFilter } from './rows.ts'
import { Cost, Took } from './spent.tsx'
import type { Run } from '../../parts/run/run-feed.ts'
import { t, T, plural } from '../../texts/texts.tsx'

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
          <T
            text="A limit ended it before the model was done: {reason}."
            reason={<strong>{wordsOf(stopReason)}</strong>}
          />
        </p>
      )}
      {status === 'EXPIRED' && <p className="run-note">{t('It reached its deadline.')}</p>}
      {cancelReason !== null && (
        <p className="run-note">
          <T text="Cancelled: {reason}" reason={<Foreign text={cancelReason} max={1000} />} />
        </p>
      )}
      {finishedAt !== null && startedAt === null && (
        <p className="run-note">{t('It ended before a worker began with it.')}</p>
      )}
      {output?.object != null && (
        <section aria-label={t('Structured output')}>
          <h2>{t('Output')}</h2>
          <JsonText value={output.object} />
        </section>
      )}
    </>
  )
}

function Facts({ run }: { run: Run }) {
  const { id, agent, model, deadlineAt, threadId, stopReason, status } = run
  return (
    <section aria-label={t('Facts')}>
      <h2>{t('About the run')}</h2>
      <dl className="run-facts">
        <Fact name={t('Agent')}>
          {agent ? (
            <Link href={`/agents/${agent.id}`}>
              <Foreign text={agent.name} max={80} />
            </Link>
          ) : (
            <span className="mute">{t('deleted, or hidden from you')}</span>
          )}
        </Fact>
        <Fact name={t('Model')}>
          {model ? <ModelName model={model} /> : <span className="mute">{t('none yet')}</span>}
        </Fact>
        <Fact name={t('Started')}>
          <Ago at={run.createdAt} />
        </Fact>
        {run.startedAt !== null && run.finishedAt !== null && (
          <Fact name={t('Duration')}>
            <Took run={run} />
          </Fact>
        )}
        {stopReason !== null && (
          <Fact name={t('Ended by')}>{stopWords[stopReason] ?? wordsOf(stopReason)}</Fact>
        )}
        <Fact name={t('Steps')}>{run.stepCount}</Fact>
        <Spent run={run} />
        {!isEnded(status) && (
          <Fact name={t('Deadline')}>
            <Countdown until={deadlineAt} />
          </Fact>
        )}
        {run.finishedAt !== null && (
          <Fact name={t('Ended')}>
            <Moment at={run.finishedAt} />
          </Fact>
        )}
        {run.parent && (
          <Fact name={t('Parent')}>
            <Link href={`/runs/${run.parent.id}`}>
              <Foreign text={run.parent.agent?.name ?? run.parent.id} max={80} />
            </Link>
          </Fact>
        )}
        {run.root && run.root.id !== run.parent?.id && (
          <Fact name={t('Root')}>
            <Link href={`/runs/${run.root.id}`}>
              <Foreign text={run.root.agent?.name ?? run.root.id} max={80} />
            </Link>
          </Fact>
        )}
        {run.retryOf && (
          <Fact name={t('Retry of')}>
            <Link href={`/runs/${run.retryOf.id}`}>{t('another run')}</Link>
            {run.retryStep
              ? t(', behind its step {step}', { step: run.retryStep })
              : t(', from the beginning')}
          </Fact>
        )}
        {run.retries && run.retries.nodes.length > 0 && (
          <Fact name={t('Retries')}>
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
        <Fact name={t('Thread')}>
          <Link href={hrefOf({ ...noFilter, threadId })}>{t('its runs')}</Link>
        </Fact>
        <Fact name={t('Requested by')}>
          <Requester of={run.requester} actsFor={run.actsFor} />
        </Fact>
        <Fact name={t('Id')}>
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
      <Fact name={t('Tokens')}>
        {t('{input} in, {output} out', {
          input: usage.inputTokens,
          output: usage.outputTokens,
        })}
      </Fact>
      {hasMore && (
        <Fact name={t('With child runs')}>{plural(totalUsage.totalTokens, '1 token', '{count} tokens')}</Fact>
      )}
      <Fact name={hasMore ? t('Cost, with child runs') : t('Cost')}>
        <Cost of={totalCost} />
      </Fact>
    </>
  )
}

const stopWords: Record<string, string> = {
  END_TURN: t('the model, which was done'),
  MAX_STEPS: t('its maximum of steps'),
  STOP_CONDITION: t('a stop condition'),
  BUDGET: t('its budget of tokens'),
  LENGTH: t('the length of a response'),
  CONTENT_FILTER: t('a content filter'),
}
