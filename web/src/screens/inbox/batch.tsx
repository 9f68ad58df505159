/** Deciding about several questions: one verdict after the other, each with an outcome of its own. */
import { useRef, useState } from 'react'
import { ask, messageOf } from '../../api/client.ts'
import { wordsOf } from '../../parts/badge.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Sentence } from '../../parts/sentence.tsx'
import { Foreign } from '../../parts/text.tsx'
import { toast } from '../../parts/toasts.tsx'
import { decideMutation, type Question } from '../../parts/question/documents.ts'
import { totalsOf } from './totals.ts'
import { t, T, plural, locale } from '../../texts/texts.tsx'

type Verdict = 'APPROVE' | 'REJECT'

export function Batch({ questions, onDone }: { questions: readonly Question[]; onDone(): void }) {
  const [asked, setAsked] = useState<{ verdict: Verdict; questions: readonly Question[] } | null>(null)
  return (
    <>
      {questions.length > 0 && (
        <div className="batch">
          <button type="button" onClick={() => setAsked({ verdict: 'APPROVE', questions })}>
            {t('Approve …')}
          </button>
          <button type="button" onClick={() => setAsked({ verdict: 'REJECT', questions })}>
            {t('Reject …')}
          </button>
          <button type="button" className="quiet spread" onClick={onDone}>
            {t('Clear')}
          </button>
        </div>
      )}
      {asked && (
        <BatchDialog
          {...asked}
          onClose={(isDone) => {
            setAsked(null)
            if (isDone) onDone()
          }}
        />
      )}
    </>
  )
}

interface DialogProps {
  verdict: Verdict
  questions: readonly Question[]
  onClose(isDone: boolean): void
}

function BatchDialog({ verdict, questions, onClose }: DialogProps) {
  const [outcomes, setOutcomes] = useState<ReadonlyMap<string, string>>(new Map())
  const [reason, setReason] = useState('')
  const [isRunning, setRunning] = useState(false)
  const stopped = useRef(false)
  const isDone = outcomes.size === questions.length
  const run = async () => {
    setRunning(true)
    let sent = 0
    for (const question of questions) {
      if (stopped.current) break
      const outcome = await decideOne(question, verdict, reason.trim())
      sent++
      setOutcomes((before) => new Map([...before, [question.id, outcome]]))
    }
    setRunning(false)
    if (stopped.current) toast(t('Closed: {sent} of {count} were sent.', { sent, count: questions.length }))
  }
  const close = () => {
    stopped.current = true
    onClose(outcomes.size > 0)
  }
  return (
    <Dialog
      title={
        verdict === 'APPROVE'
          ? plural(questions.length, 'Approve 1 call?', 'Approve {count} calls?')
          : plural(questions.length, 'Reject 1 call?', 'Reject {count} calls?')
      }
      onClose={close}
    >
      <ul className="batch-list">
        {questions.map((question) => (
          <li key={question.id}>
            <span>
              <Sentence of={question.summary} />
              {question.tool?.annotations.destructiveHint && (
                <span className="tone-bad">
                  {' '}
                  <Icon name="warn" /> {t('destructive')}
                </span>
              )}
              <span className="small mute">
                {' '}
                <Foreign text={question.agent?.name ?? t('direct call')} max={60} />
              </span>
            </span>
            <span role="status">{outcomes.get(question.id)}</span>
          </li>
        ))}
      </ul>
      <Totals questions={questions} />
      <label>
        <span>{t('Reason (sent to the models)')}</span>
        <textarea
          rows={1}
          maxLength={2000}
          value={reason}
          disabled={isRunning || isDone}
          onChange={(event) => setReason(event.target.value)}
        />
      </label>
      <div className="batch-buttons">
        {isDone ? (
          <button type="button" className="primary" onClick={close}>
            {t('Close')}
          </button>
        ) : (
          <button
            type="button"
            className={verdict === 'APPROVE' ? 'approve' : 'danger'}
            disabled={isRunning}
            onClick={() => void run()}
          >
            {isRunning
              ? t('Sending …')
              : verdict === 'APPROVE'
                ? t('Approve {count}', { count: questions.length })
                : t('Reject {count}', { count: questions.length })}
          </button>
        )}
      </div>
    </Dialog>
  )
}

/** What the calls of each tool come to. */
function Totals({ questions }: { questions: readonly Question[] }) {
  return totalsOf(questions).map(({ toolName, count, sums }) => (
    <p key={toolName}>
      <T text="{count} calls of {tool} together:" count={count} tool={<Foreign text={toolName} max={80} />} />{' '}
      {sums.map(({ name, sum }, at) => (
        <span key={name}>
          {at > 0 && ', '}
          <Foreign text={name} max={80} /> <b>{sum.toLocaleString(locale, { maximumFractionDigits: 12 })}</b>
        </span>
      ))}
    </p>
  ))
}

async function decideOne(question: Question, verdict: Verdict, reason: string): Promise<string> {
  try {
    const { decideApproval } = await ask(decideMutation, {
      input: {
        approvalId: question.id,
        verdict,
        expectedDigest: question.digest,
        ...(reason === '' ? {} : { reason }),
      },
    })
    if (decideApproval.__typename !== 'ApprovalPayload') return decideApproval.message
    const status = decideApproval.approval?.status
    if (!status) return t('accepted')
    return status === 'PENDING' ? t('your vote counts; more are needed') : wordsOf(status)
  } catch (error) {
    return messageOf(error)
  }
}
