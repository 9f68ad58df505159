/** The verdict about a pending question: approve, reject, or approve with other arguments. */
import { useRef, useState, type RefObject } from 'react'
import { useMutation } from '../../api/query.ts'
import { wordsOf } from '../../parts/badge.tsx'
import { KeyHint } from '../../parts/key-hint.tsx'
import { useKeys } from '../../parts/keys.ts'
import { Failure } from '../../parts/states.tsx'
import { toast } from '../../parts/toasts.tsx'
import { decideMutation, type DecideResult, type Question } from './documents.ts'
import { editable, readEdit, type Edit } from './edit.ts'
import { EditArguments } from './edit-arguments.tsx'
import { GrantFields, grantInput, noGrant, type GrantChoice } from './grant-fields.tsx'
import { useArmed } from './use-armed.ts'

interface Props {
  question: Question
  onDecided(question: Question): void
  reload(): void
}

type Verdict = 'APPROVE' | 'REJECT'

/** How long the second press of a destructive approval is waited for, in milliseconds. */
const confirmMs = 6_000

export function VerdictForm({ question, onDecided, reload }: Props) {
  const [reason, setReason] = useState('')
  const [note, setNote] = useState('')
  const [text, setText] = useState<string | null>(null)
  const [grant, setGrant] = useState<GrantChoice>(noGrant)
  const reasonField = useRef<HTMLTextAreaElement>(null)
  const isArmed = useArmed(`${question.id} ${question.digest}`)
  const before = editable(question)
  const edit: Edit = text === null ? { state: 'same' } : readEdit(before, text)
  const verdict = useVerdict(question, onDecided, reload)
  const [isConfirming, askAgain] = useConfirmation()

  const give = (which: Verdict) => {
    if (!isArmed || verdict.isRunning || (which === 'APPROVE' && edit.state === 'broken')) return
    if (which === 'APPROVE' && question.tool?.annotations.destructiveHint && !isConfirming) return askAgain()
    void verdict.give(which, { reason, note, edit, grant })
  }
  useKeys({
    'mod+Enter': () => give('APPROVE'),
    'mod+Backspace': () => give('REJECT'),
    e: () => setText((now) => now ?? JSON.stringify(before, null, 2)),
    r: () => reasonField.current?.focus(),
  })
  return (
    <section className="verdict" aria-label="Your verdict">
      {text === null ? (
        <button type="button" className="quiet" onClick={() => setText(JSON.stringify(before, null, 2))}>
          Edit the arguments <KeyHint keys="e" />
        </button>
      ) : (
        <EditArguments
          text={text}
          edit={edit}
          issues={verdict.issues}
          onChange={setText}
          onCancel={() => setText(null)}
        />
      )}
      <Words reason={reason} note={note} setReason={setReason} setNote={setNote} field={reasonField} />
      <GrantFields question={question} value={grant} onChange={setGrant} />
      {verdict.refusal && (
        <p className="tone-bad" role="alert">
          {verdict.refusal}
        </p>
      )}
      {verdict.error !== null && <Failure error={verdict.error} retry={reload} />}
      <div className="verdict-buttons">
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
          Reject <KeyHint keys="mod+Backspace" />
        </button>
        {verdict.isRunning && <span className="mute">Sending …</span>}
      </div>
    </section>
  )
}

function approveWord({ toolName }: Question, edit: Edit, isConfirming: boolean): string {
  if (isConfirming) return `Approve ${toolName}?`
  return edit.state === 'changed' ? 'Approve with changes' : 'Approve'
}

interface WordsProps {
  reason: string
  note: string
  setReason(text: string): void
  setNote(text: string): void
  field: RefObject<HTMLTextAreaElement | null>
}

function Words({ reason, note, setReason, setNote, field }: WordsProps) {
  return (
    <div className="words">
      <label>
        <span>Reason, which the model reads</span>
        <textarea
          ref={field}
          rows={1}
          maxLength={2000}
          value={reason}
          onChange={(event) => setReason(event.target.value)}
        />
      </label>
      <label>
        <span>Note for other approvers</span>
        <textarea rows={1} maxLength={2000} value={note} onChange={(event) => setNote(event.target.value)} />
      </label>
    </div>
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
  if (status === 'APPROVED') return `Approved ${toolName}. The call runs now.`
  if (status === 'REJECTED') return `Rejected ${toolName}. The agent is told.`
  return `Your vote about ${toolName} counts; more are needed.`
}

/** What is said to whoever was second. */
function lostWords(
  verdict: Verdict,
  first: { status: string; votes: readonly { byName: string }[] } | null,
): string {
  const own = verdict === 'APPROVE' ? 'approval' : 'rejection'
  const by = first?.votes.at(-1)?.byName
  const how = first ? `it was ${wordsOf(first.status)} before` : 'it was decided before'
  return `Your ${own} did not count: ${how}${by ? ` by ${by}` : ''}.`
}
