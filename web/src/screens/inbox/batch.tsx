/** Deciding about several requests: in chunks, each request with an outcome of its own. */
import { useRef, useState } from 'react'
import { errorText, readErrorTexts } from '../../api/error-text.ts'
import { refusalOf } from '../../api/outcome.ts'
import { againMsOf, ask, messageOf, RequestError } from '../../api/client.ts'
import { graphql } from '../../api/document.ts'
import { command } from '../../api/command.ts'
import { wordsOf } from '../../parts/badge.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Sentence } from '../../parts/sentence.tsx'
import { Foreign } from '../../parts/text.tsx'
import { toast } from '../../parts/toasts.tsx'
import { LongList, type Place } from '../../parts/long-list.tsx'
import type { PendingRow } from './pending.ts'
import { mostAtOnce } from './rows.ts'
import { totalsOf } from './totals.ts'
import { t, T, plural, locale } from '../../texts/texts.tsx'

const decideAnswer = graphql(`
  fragment DecideSeveralAnswer on DecideApprovalsPayload {
    outcomes {
      approvalId
      approval {
        status
      }
      error {
        code
        message
      }
    }
  }
`)
const decideMutation = command('decideApprovals', decideAnswer)

/** The height of a line of a long list, in pixels. */
const lineHeight = 64

type Verdict = 'APPROVE' | 'REJECT'

/** What became of one request; `isTaken`: the verdict counts. */
interface Outcome {
  text: string
  isTaken: boolean
}

interface Props {
  questions: readonly PendingRow[]
  onClear(): void
  /** Called with the ids about which something was sent, when the dialog closes. */
  onSent(ids: readonly string[]): void
}

export function Batch({ questions, onClear, onSent }: Props) {
  const [asked, setAsked] = useState<{ verdict: Verdict; questions: readonly PendingRow[] } | null>(null)
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
          <button type="button" className="quiet spread" onClick={onClear}>
            {t('Clear')}
          </button>
        </div>
      )}
      {asked && (
        <BatchDialog
          {...asked}
          onClose={(sent) => {
            setAsked(null)
            if (sent.length > 0) onSent(sent)
          }}
        />
      )}
    </>
  )
}

interface DialogProps {
  verdict: Verdict
  /** As they stood when the dialog was opened: nothing else is decided. */
  questions: readonly PendingRow[]
  onClose(sent: readonly string[]): void
}

/** The verdicts as they are sent, chunk after chunk, until `stop`. */
function useSending(questions: readonly PendingRow[], verdict: Verdict) {
  const [outcomes, setOutcomes] = useState<ReadonlyMap<string, Outcome>>(new Map())
  const [isRunning, setRunning] = useState(false)
  const stopped = useRef(false)
  const rest = questions.filter(({ id }) => !outcomes.has(id))
  const run = async (reason: string) => {
    setRunning(true)
    let sent = outcomes.size
    for (let at = 0; at < rest.length && !stopped.current; at += mostAtOnce) {
      const chunk = rest.slice(at, at + mostAtOnce)
      const { outcomes: more, isLost } = await decideChunk(chunk, verdict, reason)
      sent += chunk.length
      setOutcomes((before) => new Map([...before, ...more]))
      if (isLost) break
    }
    setRunning(false)
    if (stopped.current) toast(t('Closed: {sent} of {count} were sent.', { sent, count: questions.length }))
  }
  const stop = () => {
    stopped.current = true
  }
  return { outcomes, isRunning, left: rest.length, run, stop }
}

function BatchDialog({ verdict, questions, onClose }: DialogProps) {
  const { outcomes, isRunning, left: count, run, stop } = useSending(questions, verdict)
  const [reason, setReason] = useState('')
  const isDone = count === 0
  const close = () => {
    stop()
    onClose(isRunning ? questions.map(({ id }) => id) : [...outcomes.keys()])
  }
  // What was not taken is what there is to read, so it comes first.
  const failed = questions.filter(({ id }) => outcomes.get(id)?.isTaken === false)
  const listed = isRunning ? questions : [...failed, ...questions.filter((one) => !failed.includes(one))]
  const isApproval = verdict === 'APPROVE'
  return (
    <Dialog
      title={
        isApproval
          ? plural(questions.length, 'Approve 1 call?', 'Approve {count} calls?')
          : plural(questions.length, 'Reject 1 call?', 'Reject {count} calls?')
      }
      onClose={close}
    >
      {/* It scrolls by itself, so that keys must reach it. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <div className="batch-list" role="group" aria-label={t('The calls')} tabIndex={0}>
        <LongList
          className="rows"
          label={t('The calls')}
          count={listed.length}
          height={lineHeight}
          renderRow={(at, place) => (
            <Line
              key={listed[at]!.id}
              of={listed[at]!}
              outcome={outcomes.get(listed[at]!.id)}
              place={place}
            />
          )}
        />
      </div>
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
            className={isApproval ? 'approve' : 'danger'}
            disabled={isRunning}
            onClick={() => void run(reason.trim())}
          >
            {isRunning
              ? t('Sending …')
              : isApproval
                ? t('Approve {count}', { count })
                : t('Reject {count}', { count })}
          </button>
        )}
        <output>
          {outcomes.size > 0 &&
            t('{taken} of {count} taken, {failed} not', {
              taken: outcomes.size - failed.length,
              count: questions.length,
              failed: failed.length,
            })}
        </output>
      </div>
    </Dialog>
  )
}

function Line({ of, outcome, place }: { of: PendingRow; outcome: Outcome | undefined; place: Place }) {
  return (
    <li {...place}>
      <span>
        <Sentence of={of.summary} />
        {of.tool?.annotations.destructiveHint && (
          <span className="tone-bad">
            {' '}
            <Icon name="warn" /> {t('destructive')}
          </span>
        )}
        <span className="small mute">
          {' '}
          <Foreign text={of.agent?.name ?? t('direct call')} max={60} />
        </span>
      </span>
      <span className={outcome?.isTaken === false ? 'tone-bad' : undefined}>{outcome?.text}</span>
    </li>
  )
}

/** What the calls of each tool come to. */
function Totals({ questions }: { questions: readonly PendingRow[] }) {
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

/**
 * The outcomes of a chunk, in one request. `isLost`: no answer came, so that the next would be sent blindly; what the server
 * says about the whole chunk is the outcome of each.
 */
async function decideChunk(
  chunk: readonly PendingRow[],
  verdict: Verdict,
  reason: string,
): Promise<{ outcomes: [string, Outcome][]; isLost: boolean }> {
  const all = (text: string, isLost: boolean) => ({
    outcomes: chunk.map(({ id }): [string, Outcome] => [id, { text, isTaken: false }]),
    isLost,
  })
  const decisions = chunk.map(({ id, digest }) => ({
    approvalId: id,
    verdict,
    expectedDigest: digest,
    ...(reason === '' ? {} : { reason }),
  }))
  try {
    const input = { decisions, atomic: false }
    const { decideApprovals: answer } = await ask(decideMutation, { input })
    await readErrorTexts()
    if (answer.__typename !== 'DecideApprovalsPayload') return all(refusalOf(answer)?.message ?? '', false)
    return { outcomes: answer.outcomes.map((one) => [one.approvalId, outcomeOf(one)]), isLost: false }
  } catch (error) {
    return all(messageOf(error), !(error instanceof RequestError) || againMsOf(error) !== null)
  }
}

interface Answer {
  approval: { status: string } | null
  error: { code: string; message: string } | null
}

function outcomeOf({ approval, error }: Answer): Outcome {
  if (error) return { text: errorText(error.code, error.message), isTaken: false }
  const status = approval?.status
  if (!status) return { text: t('accepted'), isTaken: true }
  return {
    text: status === 'PENDING' ? t('your vote counts; more are needed') : wordsOf(status),
    isTaken: true,
  }
}
