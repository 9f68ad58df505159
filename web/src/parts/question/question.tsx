/** One question as a sheet: what is to be done, who asks and why, every argument, and the verdict below it. */
import './question.css'
import { lazy, Suspense, useEffect, useMemo, useRef, useState, type ReactNode } from 'react'
import { Link } from 'wouter'
import { Badge, wordsOf } from '../badge.tsx'
import { CopyId } from '../copy-id.tsx'
import { Fact } from '../fact.tsx'
import { Icon } from '../icons.tsx'
import { Ago, ClockTime, Countdown, Moment } from '../moments.tsx'
import { Principal, Requester } from '../principal.tsx'
import { Sentence } from '../sentence.tsx'
import { Skeleton } from '../states.tsx'
import { Foreign, LongText } from '../text.tsx'
import { useSeen } from '../use-seen.ts'
import { AgentCall } from './agent-call.tsx'
import { ArgumentSheet } from './argument-sheet.tsx'
import { ClaimState } from './claim.tsx'
import type { Question } from './documents.ts'
import { Drift } from './drift.tsx'
import { Chain, ModelWords, useLedTo, UserRequest } from './led-to.tsx'
import { noWords, VerdictForm } from './verdict-form.tsx'
import { restOfTexts, t, T } from '../../texts/texts.tsx'

/** Few calls wait for a login. */
const LoginQuestion = lazy(() =>
  restOfTexts().then(async () => ({ default: (await import('../own-login.tsx')).LoginQuestion })),
)

interface Props {
  question: Question
  /** Called when this person's verdict has been taken. */
  onDecided(question: Question): void
  /** Reads the question again. */
  reload(): void
  back: ReactNode
  /** Whether it took the place of one that was decided: the button that was pressed is gone, and the focus with it. */
  takesFocus?: boolean
  /** No verdict is taken: the list around it is about to change. */
  isHeld?: boolean
}

export function QuestionPane({
  question,
  onDecided,
  reload,
  back,
  takesFocus = false,
  isHeld = false,
}: Props) {
  const { tool, question: asked, viewerCanDecide, status } = question
  const { asked: led, step, isSettled } = useLedTo(question)
  // What somebody writes stays when the arguments change under it; the verdict about them begins anew.
  const [words, setWords] = useState(noWords)
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    if (takesFocus) heading.current?.focus({ preventScroll: true })
  }, [takesFocus])
  return (
    <article className="question" aria-labelledby="question-title">
      <header>
        {back}
        <div>
          <h1 ref={heading} id="question-title" tabIndex={-1}>
            <Sentence of={question.summary} />
          </h1>
          <p className="question-who mute">
            <span>
              <Requester of={question.requester} actsFor={question.requirement.actsFor} />
              <span className="mute"> → </span>
              <Chain question={question} asked={led} />
            </span>
            {tool?.annotations.destructiveHint && (
              <span className="badge tone-bad">
                <Icon name="warn" /> {t('destructive')}
              </span>
            )}
            {status === 'PENDING' && (
              <span>
                <T
                  text="{time} left, expires {clock}"
                  time={<Countdown until={question.expiresAt} />}
                  clock={<ClockTime at={question.expiresAt} />}
                />
              </span>
            )}
            <ClaimState question={question} />
          </p>
        </div>
      </header>
      <AgentCall question={question} />
      {led && <UserRequest asked={led} />}
      <ModelWords step={step} />
      {asked?.description && (
        <section aria-label={t('What the tool does')}>
          <h2>{t('What the tool does')}</h2>
          <LongText text={asked.description} />
        </section>
      )}
      {isSettled ? (
        <Sheet key={question.digest} question={question}>
          {(isAllSeen) =>
            status !== 'PENDING' ? (
              <Outcome question={question} />
            ) : question.requirement.loginOf ? (
              <Suspense>
                <LoginQuestion toolId={tool?.id} isMine={question.viewerMustLogIn} />
              </Suspense>
            ) : viewerCanDecide.may ? (
              <VerdictForm
                question={question}
                isAllSeen={isAllSeen}
                isHeld={isHeld}
                words={words}
                setWords={setWords}
                onDecided={onDecided}
                reload={reload}
              />
            ) : (
              <p className="outcome" role="status">
                {viewerCanDecide.why}
              </p>
            )
          }
        </Sheet>
      ) : (
        <Skeleton lines={6} />
      )}
    </article>
  )
}

/** The arguments and what follows them, which depends on whether all of them have been on the screen. */
function Sheet({ question, children }: { question: Question; children(isAllSeen: boolean): ReactNode }) {
  const { arguments: values, question: asked } = question
  const schema = asked?.inputSchema ?? null
  const names = useMemo(() => Object.keys(values), [values])
  const { seen, refOf } = useSeen(names)
  return (
    <>
      <ArgumentSheet names={names} values={values} schema={schema} seen={seen} refOf={refOf} />
      <Votes question={question} />
      <Details question={question} />
      {children(seen.size >= names.length)}
    </>
  )
}

/** Ids and facts, in one line until they are wanted. */
function Details({ question }: { question: Question }) {
  const { generation, createdAt, toolName, toolVersion, escalatedAt } = question
  return (
    <details>
      <summary className="mute small">{t('Details')}</summary>
      <dl className="facts">
        <Fact name={t('Tool')}>
          <T
            text="{tool} version {version}"
            tool={<Foreign className="mono" text={toolName} max={80} />}
            version={toolVersion}
          />
        </Fact>
        {generation && (
          <Fact name={t('Run')}>
            <Link href={`/runs/${generation.id}${question.toolCall ? `?call=${question.toolCall.id}` : ''}`}>
              {t('open the run')}
            </Link>
          </Fact>
        )}
        <Fact name={t('Waiting since')}>
          <Ago at={createdAt} />
        </Fact>
        {escalatedAt && (
          <Fact name={t('Escalated')}>
            <Ago at={escalatedAt} />
          </Fact>
        )}
        <Fact name={t('Id')}>
          <CopyId id={question.id} />
        </Fact>
      </dl>
    </details>
  )
}

function Votes({ question }: { question: Question }) {
  const { requirement, votes } = question
  const approvals = votes.filter(({ verdict }) => verdict === 'APPROVE').length
  if (requirement.quorum === 1 && votes.length === 0 && requirement.approvers.length === 0) return null
  return (
    <section aria-label={t('Votes')}>
      <h2>{t('Votes')}</h2>
      <p className="mute">
        {requirement.quorum === 1
          ? t('One approval is needed')
          : t('{approvals} of {quorum} approvals by different people', {
              approvals,
              quorum: requirement.quorum,
            })}
        {requirement.approvers.length > 0 &&
          t(', by {roles}', {
            roles: requirement.approvers
              .map((roles) => roles.map(wordsOf).join(` ${t('or')} `))
              .join(`, ${t('and')} `),
          })}
        {requirement.excludeRequester && t(', not by the requester')}.
      </p>
      <ul className="votes lined">
        {votes.map((vote) => (
          <li key={vote.by}>
            <Badge status={vote.verdict === 'APPROVE' ? 'APPROVED' : 'REJECTED'} />{' '}
            <T
              text="by {who} {time}"
              who={<Principal of={{ id: vote.by, name: vote.byName }} />}
              time={<Ago at={vote.at} />}
            />
            {vote.response !== null && (
              <span className="small mute"> {t('answered in place of the tool')}</span>
            )}
            {vote.stop && <span className="small mute"> {t('and ended what asked')}</span>}
            {(vote.response ?? vote.reason) && (
              <p>
                <Foreign text={vote.response ?? vote.reason ?? ''} />
              </p>
            )}
            {vote.note && (
              <p className="mute">
                <T text="Note: {note}" note={<Foreign text={vote.note} />} />
              </p>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}

const voidWords: Record<string, string> = {
  GENERATION_ENDED: t('The run ended before a decision.'),
  TOOL_CHANGED: t('The tool or its gate changed; the call was asked about again.'),
  TOOL_DELETED: t('The tool was deleted.'),
  WITHDRAWN: t('The caller withdrew the call.'),
}

/** How the question ended. It stays, so that whoever was reading it sees what became of it. */
function Outcome({ question }: { question: Question }) {
  const { status, settledAt, voidReason, toolCall, votes } = question
  const last = votes.at(-1)
  const isVerdict = status === 'APPROVED' || status === 'REJECTED'
  return (
    <section className="outcome" role="status" aria-label={t('Outcome')}>
      <p>
        <Badge status={status} />{' '}
        {isVerdict && last && (
          <>
            <T text="by {who}" who={<Principal of={{ id: last.by, name: last.byName }} />} />{' '}
          </>
        )}
        {settledAt && <Moment at={settledAt} />}
      </p>
      {status === 'EXPIRED' && (
        <p>
          {question.requirement.loginOf
            ? t('Nobody logged in in time, so the call was not run.')
            : t('Nobody decided in time, so the call was rejected.')}
        </p>
      )}
      {status === 'VOIDED' && voidReason && <p>{voidWords[voidReason]}</p>}
      {status === 'VOIDED' && voidReason === 'TOOL_CHANGED' && <Drift question={question} />}
      {status === 'APPROVED' && toolCall && (
        <p>
          {t('The call:')} <Badge status={toolCall.status} />
          {toolCall.errorCode && <span className="mono"> {toolCall.errorCode}</span>}
        </p>
      )}
    </section>
  )
}
