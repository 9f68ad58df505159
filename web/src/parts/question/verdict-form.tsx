/** The verdict about a pending question: approve, reject, or approve with other arguments. */
import { useRef, useState } from 'react'
import { useMutation } from '../../api/query.ts'
import { wordsOf } from '../badge.tsx'
import { KeyHint } from '../key-hint.tsx'
import { useKeys } from '../keys.ts'
import type { FormState } from '../schema-form.tsx'
import { Failure } from '../states.tsx'
import { toast } from '../toasts.tsx'
import { ClaimActions } from './claim.tsx'
import { decideMutation, type DecideResult, type Question } from './documents.ts'
import { editable, readEdit, type Edit } from './edit.ts'
import { EditArguments } from './edit-arguments.tsx'
import { GrantFields, grantInput, noGrant, type GrantChoice } from './grant-fields.tsx'
import { useArmed } from './use-armed.ts'
import { t } from '../../texts/texts.tsx'

interface Props {
  question: Question
  /** Whether every argument has been on the screen. */
  isAllSeen: boolean
  onDecided(question: Question): void
  reload(): void
}

type Verdict = 'APPROVE' | 'REJECT'

/** How long the second press of an approval is waited for, in milliseconds. */
const confirmMs = 6_000

const openSchema = { type: 'object' }

export function VerdictForm({ question, isAllSeen, onDecided, reload }: Props) {
  const [reason, setReason] = useState('')
  const [note, setNote] = useState('')
  const [form, setForm] = useState<FormState | null>(null)
  const [grant, setGrant] = useState<GrantChoice>(noGrant)
  const reasonField = useRef<HTMLTextAreaElement>(null)
  const isArmed = useArmed(`${question.id} ${question.digest}`)
  const before = editable(question)
  const edit: Edit = form === null ? { state: 'same' } : readEdit(before, form)
  const verdict = useVerdict(question, onDecided, reload)
  const [isConfirming, askAgain] = useConfirmation()
  const begin = () => setForm((now) => now ?? { value: before, fault: null })

  const give = (which: Verdict) => {
    if (!isArmed || verdict.isRunning || (which === 'APPROVE' && edit.state === 'broken')) return
    const needsSecond = !isAllSeen || question.tool?.annotations.destructiveHint === true
    if (which === 'APPROVE' && needsSecond && !isConfirming) return askAgain()
    void verdict.give(which, { reason, note, edit, grant })
  }
  useKeys({
    'mod+Enter': () => give('APPROVE'),
    'mod+Backspace': () => give('REJECT'),
    e: begin,
    r: () => reasonField.current?.focus(),
  })
  return (
    <section className="verdict" aria-label={t('Your verdict')}>
      {form === null ? (
        <button type="button" className="quiet" onClick={begin}>
          {t('Edit the arguments')} <KeyHint keys="e" />
        </button>
      ) : (
        <EditArguments
          schema={question.question?.inputSchema ?? openSchema}
          state={form}
          edit={edit}
          issues={verdict.issues}
          onChange={setForm}
          onCancel={() => setForm(null)}
        />
      )}
      {verdict.refusal && (
        <p className="tone-bad" role="alert">
          {verdict.refusal}
        </p>
      )}
      {verdict.error !== null && <Failure error={verdict.error} retry={reload} />}
      <div className="verdict-buttons">
        <textarea
          ref={reasonField}
          rows={1}
          maxLength={2000}
          aria-label={t('Reason, which the model reads')}
          placeholder={t('Reason, which the model reads')}
          value={reason}
          onChange={(event) => setReason(event.target.value)}
        />
        <button
          type="button"
          className="approve"
          disabled={!isArmed || verdict.isRunning || edit.state === 'broken'}
          onClick={() => give('APPROVE')}
        >
          {approveWord(question, edit, isConfirming)} <KeyHint keys="mod+Enter" />
        </button>
        <button
          type="button"
          className="danger"
          disabled={!isArmed || verdict.isRunning}
          onClick={() => give('REJECT')}
        >
          {t('Reject')} <KeyHint keys="mod+Backspace" />
        </button>
        <More
          question={question}
          reload={reload}
          note={note}
          setNote={setNote}
          grant={grant}
          setGrant={setGrant}
        />
        {verdict.isRunning && <span className="mute">{t('Sending …')}</span>}
        {!isAllSeen && !verdict.isRunning && (
          <span className="unseen small" role="status">
            {t('Not everything has been on screen')}
          </span>
        )}
      </div>
    </section>
  )
}

function approveWord({ toolName }: Question, edit: Edit, isConfirming: boolean): string {
  if (isConfirming) return t('Approve {tool}?', { tool: toolName })
  return edit.state === 'changed' ? t('Approve with changes') : t('Approve')
}

interface MoreProps {
  question: Question
  reload(): void
  note: string
  setNote(text: string): void
  grant: GrantChoice
  setGrant(grant: GrantChoice): void
}

/** What is wanted less often than a verdict. */
function More({ question, reload, note, setNote, grant, setGrant }: MoreProps) {
  return (
    <details className="verdict-more">
      <summary>{t('More')}</summary>
      <div className="stack">
        <ClaimActions question={question} reload={reload} />
        <GrantFields question={question} value={grant} onChange={setGrant} />
        <label>
          <span>{t('Note for other approvers')}</span>
          <textarea
            rows={1}
            maxLength={2000}
            value={note}
            onChange={(event) => setNote(event.target.value)}
          />
        </label>
      </div>
    </details>
  )
}

/** A second press that must follow within a few seconds. */
function useConfirmation(): [boolean, () => void] {
  const [isConfirming, setConfirming] = useState(false)
  const timer = useRef<number | undefined>(undefined)
  const begin = () => {
    setConfirming(true)
    clearTimeout(timer.current)
    timer.current = window.setTimeout(() => setConfirming(false), confirmMs)
  }
  return [isConfirming, begin]
}

interface WrittenVerdict {
  reason: string
  note: string
  edit: Edit
  grant: GrantChoice
}

function useVerdict(question: Question, onDecided: (question: Question) => void, reload: () => void) {
  const { mutate, isRunning, error } = useMutation(decideMutation)
  const [result, setResult] = useState<DecideResult | null>(null)
  const give = async (verdict: Verdict, { reason, note, edit, grant }: WrittenVerdict) => {
    setResult(null)
    const isApproval = verdict === 'APPROVE'
    const answer = await mutate({
      input: {
        approvalId: question.id,
        verdict,
        expectedDigest: question.digest,
        ...(reason.trim() === '' ? {} : { reason: reason.trim() }),
        ...(note.trim() === '' ? {} : { note: note.trim() }),
        ...(isApproval && edit.state === 'changed' ? { arguments: edit.value } : {}),
        ...(isApproval && grantInput(grant) ? { grant: grantInput(grant)! } : {}),
      },
    })
    // Without an answer nobody knows whether the verdict was taken: the question itself says it.
    if (!answer) return reload()
    const decided = answer.decideApproval
    setResult(decided)
    if (decided.__typename === 'ApprovalAlreadyDecidedError')
      toast(lostWords(verdict, decided.approval), { tone: 'bad', href: `/approvals/${question.id}` })
    // A decision by somebody else comes with the question as it is now.
    if (decided.__typename !== 'DecideApprovalPayload' || !decided.approval) return reload()
    const { toolName } = question
    toast(wordsFor(decided.approval.status, toolName), {
      tone: isApproval ? 'good' : 'plain',
      href: question.generation ? `/runs/${question.generation.id}` : `/approvals/${question.id}`,
    })
    onDecided(decided.approval)
  }
  const refused = result && result.__typename !== 'DecideApprovalPayload' ? result : null
  return {
    give,
    isRunning,
    error,
    refusal: refused?.message ?? null,
    issues: refused?.__typename === 'ValidationError' ? refused.issues : [],
  }
}

function wordsFor(status: string, toolName: string): string {
  if (status === 'APPROVED') return t('Approved {tool}. The call runs now.', { tool: toolName })
  if (status === 'REJECTED') return t('Rejected {tool}. The agent is told.', { tool: toolName })
  return t('Your vote about {tool} counts; more are needed.', { tool: toolName })
}

/** What is said to whoever was second. */
function lostWords(
  verdict: Verdict,
  first: { status: string; votes: readonly { byName: string }[] } | null,
): string {
  const by = first?.votes.at(-1)?.byName
  const status = first ? wordsOf(first.status) : null
  const how =
    status === null
      ? t('it was decided before')
      : by
        ? t('it was {status} before by {by}', { status, by })
        : t('it was {status} before', { status })
  return verdict === 'APPROVE'
    ? t('Your approval did not count: {how}.', { how })
    : t('Your rejection did not count: {how}.', { how })
}
