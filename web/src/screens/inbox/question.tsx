/** One question: who asks to do what, until when, and the verdict. */
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useQuery } from '../../api/query.ts'
import { Badge, wordsOf } from '../../parts/badge.tsx'
import { CopyId } from '../../parts/copy-id.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Arguments } from '../../parts/json-view.tsx'
import { Ago, Countdown, Moment } from '../../parts/moments.tsx'
import { Principal } from '../../parts/principal.tsx'
import { Foreign, LongText } from '../../parts/text.tsx'
import { Claim } from './claim.tsx'
import { saidQuery, type Question } from './documents.ts'
import { Drift } from './drift.tsx'
import { VerdictForm } from './verdict-form.tsx'

interface Props {
  question: Question
  /** Called when this person's verdict has been taken. */
  onDecided(question: Question): void
  /** Reads the question again. */
  reload(): void
  back: ReactNode
}

export function QuestionPane({ question, onDecided, reload, back }: Props) {
  const { toolName, tool, toolCall, question: asked, viewerCanDecide } = question
  return (
    <article className="question" aria-labelledby="question-title">
      <header>
        {back}
        <h1 id="question-title">
          <Foreign text={asked?.title ?? toolName} max={120} />
        </h1>
        {tool?.annotations.destructiveHint && (
          <span className="badge tone-bad">
            <Icon name="warn" /> destructive
          </span>
        )}
      </header>
      <Facts question={question} />
      {question.status === 'PENDING' && viewerCanDecide.may && <Claim question={question} reload={reload} />}
      {question.generation && toolCall?.stepIndex != null && (
        <Said generationId={question.generation.id} stepIndex={toolCall.stepIndex} />
      )}
      <section aria-label="Arguments">
        <h2>Arguments</h2>
        <Arguments value={question.arguments} schema={asked?.inputSchema ?? null} />
      </section>
      <Votes question={question} />
      {question.status !== 'PENDING' ? (
        <Outcome question={question} />
      ) : viewerCanDecide.may ? (
        <VerdictForm key={question.digest} question={question} onDecided={onDecided} reload={reload} />
      ) : (
        <p className="outcome" role="status">
          {viewerCanDecide.why}
        </p>
      )}
    </article>
  )
}

function Facts({ question }: { question: Question }) {
  const { agent, generation, createdAt, expiresAt, status, toolName, requester, escalatedAt } = question
  return (
    <dl className="facts">
      <Fact name="Tool">
        <span className="mono">
          <Foreign text={toolName} max={80} />
        </span>
      </Fact>
      <Fact name="Agent">
        {agent ? (
          <Link href={`/agents/${agent.id}`}>
            <Foreign text={agent.name} max={80} />
          </Link>
        ) : (
          'none, a direct call'
        )}
      </Fact>
      {generation && (
        <Fact name="Run">
          <Link href={`/runs/${generation.id}${question.toolCall ? `?call=${question.toolCall.id}` : ''}`}>
            show the run
          </Link>
        </Fact>
      )}
      <Fact name="Asked for">
        <Principal of={requester} />
      </Fact>
      <Fact name="Waiting since">
        <Ago at={createdAt} />
      </Fact>
      {status === 'PENDING' && (
        <Fact name="Time left">
          <Countdown until={expiresAt} />
        </Fact>
      )}
      {escalatedAt && (
        <Fact name="Escalated">
          <Ago at={escalatedAt} />
        </Fact>
      )}
      <Fact name="Id">
        <CopyId id={question.id} />
      </Fact>
    </dl>
  )
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

/** What the model wrote before it asked. */
function Said({ generationId, stepIndex }: { generationId: string; stepIndex: number }) {
  const { data } = useQuery(saidQuery, { id: generationId, after: stepIndex - 1 })
  const step = data?.generation?.steps[0]
  if (!step || step.text.trim() === '') return null
  return (
    <section aria-label="What the model said">
      <h2>The model said</h2>
      <blockquote>
        <LongText text={step.text} />
      </blockquote>
      <p className="small mute">{step.model.name}</p>
    </section>
  )
}

function Votes({ question }: { question: Question }) {
  const { requirement, votes } = question
  const approvals = votes.filter(({ verdict }) => verdict === 'APPROVE').length
  if (requirement.quorum === 1 && votes.length === 0 && requirement.approvers.length === 0) return null
  return (
    <section aria-label="Votes">
      <h2>Votes</h2>
      <p className="mute">
        {requirement.quorum === 1
          ? 'One approval is needed'
          : `${approvals} of ${requirement.quorum} approvals by different people`}
        {requirement.approvers.length > 0 &&
          `, by ${requirement.approvers.map((roles) => roles.map(wordsOf).join(' or ')).join(', and ')}`}
        {requirement.excludeRequester && ', not by who asked'}.
      </p>
      <ul className="votes">
        {votes.map((vote) => (
          <li key={vote.by}>
            <Badge status={vote.verdict === 'APPROVE' ? 'APPROVED' : 'REJECTED'} /> by{' '}
            <Principal of={{ id: vote.by, name: vote.byName }} /> <Ago at={vote.at} />
            {vote.reason && (
              <p>
                <Foreign text={vote.reason} />
              </p>
            )}
            {vote.note && (
              <p className="mute">
                Note: <Foreign text={vote.note} />
              </p>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}

const voidWords: Record<string, string> = {
  GENERATION_ENDED: 'The run ended before a verdict.',
  TOOL_CHANGED: 'The tool or its gate changed; the call was asked about again.',
  TOOL_DELETED: 'The tool was deleted.',
  WITHDRAWN: 'The caller withdrew the call.',
}

/** How the question ended. It stays, so that whoever was reading it sees what became of it. */
function Outcome({ question }: { question: Question }) {
  const { status, settledAt, voidReason, toolCall, votes } = question
  const last = votes.at(-1)
  const isVerdict = status === 'APPROVED' || status === 'REJECTED'
  return (
    <section className="outcome" role="status" aria-label="Outcome">
      <p>
        <Badge status={status} />{' '}
        {isVerdict && last && (
          <>
            by <Principal of={{ id: last.by, name: last.byName }} />{' '}
          </>
        )}
        {settledAt && <Moment at={settledAt} />}
      </p>
      {status === 'EXPIRED' && <p>Nobody decided in time, so the call was rejected.</p>}
      {status === 'VOIDED' && voidReason && <p>{voidWords[voidReason]}</p>}
      {status === 'VOIDED' && voidReason === 'TOOL_CHANGED' && <Drift question={question} />}
      {status === 'APPROVED' && toolCall && (
        <p>
          The call: <Badge status={toolCall.status} />
          {toolCall.errorCode && <span className="mono"> {toolCall.errorCode}</span>}
        </p>
      )}
    </section>
  )
}
