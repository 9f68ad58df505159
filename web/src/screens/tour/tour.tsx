/** The tour of a first start: a call waits at its gate, the server is killed, a person approves, and there is one effect. */
import './tour.css'
import { useEffect, useRef, useState, type ReactNode } from 'react'
import { Link } from 'wouter'
import { command } from '../../api/command.ts'
import { useMutation, useQuery } from '../../api/query.ts'
import { ActionButton } from '../../parts/confirm.tsx'
import { durationText } from '../../parts/durations.ts'
import { Refusal } from '../../parts/fields.tsx'
import { Icon } from '../../parts/icons.tsx'
import { pressFor, randomKey, type Press } from '../../parts/press.ts'
import { QuestionHere } from '../../parts/question/question-here.tsx'
import { Empty, Failure, Skeleton } from '../../parts/states.tsx'
import { refundQuery, refundTypes, tourQuery, type Refund, type Tour } from './documents.ts'
import { t } from '../../texts/texts.tsx'

const killMutation = command('killServer')
const startMutation = command('startGeneration')

const recording = new URL('../../../../docs/picture.svg', import.meta.url).href

export function TourScreen() {
  const { data, error, reload } = useQuery(tourQuery, {}, { eventTypes: refundTypes })
  if (error && !data) return <Failure error={error} retry={reload} />
  if (!data) return <Skeleton lines={8} />
  const { tour } = data.viewer
  return (
    <>
      <header className="screen-head">
        <h1>{t('Ninety seconds: an approved call runs exactly once')}</h1>
      </header>
      <div className="screen-body">
        {tour ? (
          <Steps tour={tour} reload={reload} />
        ) : (
          <Empty title={t('There is no tour here')}>
            {t('It needs the demo of a first start, and an operator’s key.')}{' '}
            <Link href="/approvals">{t('Go to the inbox')}</Link>
          </Empty>
        )}
      </div>
    </>
  )
}

function Steps({ tour, reload }: { tour: Tour; reload(): void }) {
  const { agentId, toolId, processId, canKill } = tour
  const refund = useQuery(refundQuery, { agentId, toolId }, { eventTypes: refundTypes })
  const kill = useKill(tour, reload)
  if (refund.error && !refund.data) return <Failure error={refund.error} retry={refund.reload} />
  if (!refund.data) return <Skeleton lines={8} />
  const asked = refund.data.approvals.nodes[0] ?? null
  const isWaiting = asked?.status === 'PENDING'
  const hasRun = asked?.toolCall?.status === 'SUCCEEDED'
  const isOther = asked !== null && tour.startedAt > asked.createdAt
  return (
    <div className="tour">
      <ol>
        <Step at={1} name={t('The gate holds a call')} isDone={asked !== null}>
          <p>
            {t(
              'The agent wants to pay money back. That takes a person, so the call waits, and nothing is sent.',
            )}
          </p>
          {!isWaiting && <Ask tour={tour} isFirst={asked === null} reload={refund.reload} />}
        </Step>
        <Step at={2} name={t('Kill the server')} isDone={isOther}>
          <p>{t('What waits is a row in the database; no process has to stay alive for it.')}</p>
          {canKill ? (
            <p>
              <ActionButton
                needs="server:Kill"
                className="danger"
                disabled={kill.isAway || !isWaiting}
                onClick={() => void kill.send()}
              >
                {kill.isAway
                  ? t('The server is gone …')
                  : t('kill -9 {processId}', { processId: String(processId) })}
              </ActionButton>
            </p>
          ) : (
            <figure>
              <img
                src={recording}
                alt={t(
                  'A refund stops at the gate, the server is killed, a person approves, and the refund runs once.',
                )}
              />
              <figcaption className="small mute">
                {t('A recording: this server was not started in a terminal with the embedded database.')}
              </figcaption>
            </figure>
          )}
          <Refusal message={kill.refusal} />
          <p role="status">
            {kill.back &&
              t('Process {before} was killed. Process {processId} answered {time} later.', {
                before: String(kill.back.before),
                processId: String(processId),
                time: durationText(kill.back.ms),
              })}
          </p>
        </Step>
        <Step at={3} name={t('A person decides')} isDone={asked !== null && !isWaiting}>
          <p>
            {isWaiting
              ? t('The request is still there. Approve it.')
              : t('In the dashboard, in Slack, or with a link in an e-mail.')}
          </p>
        </Step>
        <Step at={4} name={t('One effect')} isDone={hasRun}>
          <Effects tour={tour} refund={asked} />
        </Step>
        {hasRun && <Next agentId={agentId} />}
      </ol>
      {asked && <QuestionHere key={asked.id} id={asked.id} onDecided={refund.reload} />}
    </div>
  )
}

interface StepProps {
  at: number
  name: string
  isDone: boolean
  children: ReactNode
}

const Step = ({ at, name, isDone, children }: StepProps) => (
  <li data-done={isDone || undefined}>
    <span className="tour-mark">
      {isDone ? <Icon name="check" /> : at}
      {isDone && <span className="sr-only">{t('done:')}</span>}
    </span>
    <section className="stack" aria-label={name}>
      <h2>{name}</h2>
      {children}
    </section>
  </li>
)

/** What the upstream says of itself, beside what the server says of the call. */
function Effects({ tour, refund }: { tour: Tour; refund: Refund | null }) {
  const attempts = refund?.toolCall?.attempts.length ?? 0
  return (
    <>
      <p>
        {tour.effects === null
          ? t('The shop does not answer.')
          : t('Refunds paid by the shop, which is another program: {count}', { count: tour.effects })}
      </p>
      {attempts > 0 && (
        <p>
          {t('Attempts of the call: {count}', { count: attempts })}.{' '}
          {refund?.generation && <Link href={`/runs/${refund.generation.id}`}>{t('Open run')}</Link>}
        </p>
      )}
    </>
  )
}

/** Has the agent ask for a refund. */
function Ask({ tour, isFirst, reload }: { tour: Tour; isFirst: boolean; reload(): void }) {
  const start = useMutation(startMutation)
  const press = useRef<Press | null>(null)
  const { agentId, prompt } = tour
  const ask = async () => {
    // One that nobody answered is sent again as the same.
    const own = pressFor(press.current, prompt, randomKey)
    press.current = own
    if (!(await start.mutate({ input: { agentId, prompt, idempotencyKey: own.key } }))) return
    press.current = null
    reload()
  }
  return (
    <>
      <Refusal message={start.refused?.message ?? null} />
      <p>
        <ActionButton needs="generations:Start" disabled={start.isRunning} onClick={() => void ask()}>
          {isFirst ? t('Ask for a refund') : t('Once more')}
        </ActionButton>
      </p>
    </>
  )
}

/** Where one goes on. */
const Next = ({ agentId }: { agentId: string }) => (
  <li>
    <span className="tour-mark">
      <Icon name="chevron" />
    </span>
    <section className="stack" aria-label={t('What next')}>
      <h2>{t('What next')}</h2>
      <ul>
        <li>
          <Link href="/tools/import">{t('Gate your own API')}</Link>
        </li>
        <li>
          <Link href={`/agents/${agentId}?tab=mcp`}>{t('Put Claude or Cursor behind the gate')}</Link>
        </li>
        <li>
          <Link href="/settings/slack">{t('Decide in Slack')}</Link>
        </li>
        <li>
          <Link href="/people?new=key">{t('Invite a person')}</Link>
        </li>
      </ul>
    </section>
  </li>
)

/** How often a server that was killed is asked whether it is there again, in milliseconds. */
const everyMs = 250

/** Kills the process that answers, and asks until another one does. */
function useKill({ processId }: Tour, reload: () => void) {
  const mutation = useMutation(killMutation)
  /** The process, and how many milliseconds it has been gone. */
  const [killed, setKilled] = useState<{ before: number; ms: number } | null>(null)
  const isAway = killed?.before === processId
  useEffect(() => {
    if (!isAway) return
    const began = performance.now()
    const timer = setInterval(() => {
      setKilled({ before: processId, ms: performance.now() - began })
      reload()
    }, everyMs)
    return () => clearInterval(timer)
  }, [isAway, processId, reload])
  const send = async () => {
    setKilled({ before: processId, ms: 0 })
    const result = await mutation.mutate({ input: { processId } })
    // Without an answer it is gone, and is asked for; one that refuses is still there.
    if (result && result.killServer.__typename.endsWith('Error')) setKilled(null)
  }
  const refusal = mutation.error === null ? (mutation.refused?.message ?? null) : null
  return { send, isAway, back: isAway ? null : killed, refusal }
}
