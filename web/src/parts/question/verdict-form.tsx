/** The verdict about a pending question: approve, reject, or approve with other arguments. */
import { lazy, Suspense, useEffect, useRef, useState, type RefObject } from 'react'
import { refusalOf } from '../../api/outcome.ts'
import { useMutation } from '../../api/query.ts'
import { wordsOf } from '../badge.tsx'
import { beginningOf } from '../deceptive.ts'
import { KeyHint } from '../key-hint.tsx'
import { useKeys } from '../keys.ts'
import type { FormState } from '../schema-form.tsx'
import { sentenceText } from '../sentence.tsx'
import { Failure } from '../states.tsx'
import { toast } from '../toasts.tsx'
import { ClaimActions } from './claim.tsx'
import { decideMutation, type DecideResult, type Question } from './documents.ts'
import { editable, readEdit, type Edit } from './edit.ts'
import { grantInput, noGrant, type GrantChoice, type Verdict } from './grant.ts'
import { armMs, useArmed } from './use-armed.ts'
import { Fault } from '../fault.tsx'
import { restOfTexts, t } from '../../texts/texts.tsx'

/** Most questions are decided as they are: the form for any schema, and what is wanted less often, are loaded when they are opened. */
const EditArguments = lazy(async () => ({ default: (await import('./edit-arguments.tsx')).EditArguments }))
const GrantFields = lazy(() =>
  restOfTexts().then(async () => ({ default: (await import('./grant-fields.tsx')).GrantFields })),
)

/** What is said with a verdict: to the model, and to other approvers. */
interface Words {
  reason: string
  note: string
}

export const noWords: Words = { reason: '', note: '' }

interface Props {
  question: Question
  /** Whether every argument has been on the screen. */
  isAllSeen: boolean
  isHeld: boolean
  words: Words
  setWords(words: Words): void
  onDecided(question: Question): void
  reload(): void
}

/** How long the second press of an approval is waited for, in milliseconds. */
const confirmMs = 6_000

const openSchema = { type: 'object' }

export function VerdictForm({ question, isAllSeen, isHeld, words, setWords, onDecided, reload }: Props) {
  const [form, setForm] = useState<FormState | null>(null)
  const [grant, setGrant] = useState<GrantChoice>(noGrant)
  const reasonField = useRef<HTMLTextAreaElement>(null)
  const section = useRef<HTMLElement>(null)
  const isArmed = useArmed(`${question.id} ${question.digest} ${isHeld}`) && !isHeld
  const before = editable(question)
  const edit: Edit = form === null ? { state: 'same' } : readEdit(before, form)
  const verdict = useVerdict(question, onDecided, reload)
  const { isConfirming, isTooSoon, askAgain } = useConfirmation()
  const begin = () => setForm((now) => now ?? { value: before, fault: null })

  /** `isResponse`: what is written as the reason becomes the result. */
  const give = (which: Verdict, isResponse = false) => {
    if (!isArmed || verdict.isRunning || (which === 'APPROVE' && (edit.state === 'broken' || isTooSoon)))
      return
    const needsSecond = !isAllSeen || question.tool?.annotations.destructiveHint === true
    if (which === 'APPROVE' && needsSecond && !isConfirming) return askAgain()
    void verdict.give(which, { ...words, edit, grant, isResponse })
  }
  useKeys(
    {
      'mod+Enter': () => give('APPROVE'),
      'mod+Backspace': () => give('REJECT'),
      e: begin,
      r: () => reasonField.current?.focus(),
    },
    section,
  )
  return (
    <section ref={section} className="verdict" aria-label={t('Your decision')}>
      {form === null ? (
        <button type="button" className="quiet" onClick={begin}>
          {t('Edit the arguments')} <KeyHint keys="e" />
        </button>
      ) : (
        <Suspense>
          <EditArguments
            schema={question.question?.inputSchema ?? openSchema}
            state={form}
            edit={edit}
            issues={verdict.issues}
            onChange={setForm}
            onCancel={() => setForm(null)}
          />
        </Suspense>
      )}
      <Fault className="" text={verdict.refusal} />
      {verdict.error !== null && <Failure error={verdict.error} retry={reload} />}
      <div className="verdict-buttons">
        <Reason field={reasonField} words={words} setWords={setWords} />
        <button
          type="button"
          className="approve"
          disabled={!isArmed || verdict.isRunning || edit.state === 'broken'}
          aria-disabled={isTooSoon || undefined}
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
          {grant.of === 'STOP' ? t('Reject and stop') : t('Reject')} <KeyHint keys="mod+Backspace" />
        </button>
        {question.requirement.responses && (
          <Respond
            isDisabled={!isArmed || verdict.isRunning || words.reason.trim() === ''}
            give={() => give('REJECT', true)}
          />
        )}
        <More
          question={question}
          reload={reload}
          note={words.note}
          setNote={(note) => setWords({ ...words, note })}
          grant={grant}
          setGrant={setGrant}
        />
        <Standing isRunning={verdict.isRunning} isAllSeen={isAllSeen} />
      </div>
    </section>
  )
}

interface ReasonProps {
  field: RefObject<HTMLTextAreaElement | null>
  words: Words
  setWords(words: Words): void
}

function Reason({ field, words, setWords }: ReasonProps) {
  return (
    <textarea
      ref={field}
      rows={1}
      maxLength={2000}
      aria-label={t('Reason (sent to the model)')}
      placeholder={t('Reason (sent to the model)')}
      value={words.reason}
      onChange={(event) => setWords({ ...words, reason: event.target.value })}
    />
  )
}

function Respond({ isDisabled, give }: { isDisabled: boolean; give(): void }) {
  const about = t('The tool is not run: what you wrote becomes its result')
  return (
    <button type="button" disabled={isDisabled} title={about} onClick={give}>
      {t('Answer with this text')}
    </button>
  )
}

/** What keeps the verdict from being given at once. */
function Standing({ isRunning, isAllSeen }: { isRunning: boolean; isAllSeen: boolean }) {
  if (isRunning) return <span className="mute">{t('Sending …')}</span>
  if (isAllSeen) return null
  return (
    <span className="unseen small" role="status">
      {t('You have not seen everything yet')}
    </span>
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
  const [isOpen, setIsOpen] = useState(false)
  return (
    <details className="verdict-more" onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>{t('More')}</summary>
      <div className="stack">
        <ClaimActions question={question} reload={reload} />
        {isOpen && (
          <Suspense>
            <GrantFields question={question} value={grant} onChange={setGrant} />
          </Suspense>
        )}
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

/**
 * A second press that must follow within a few seconds. `isTooSoon`: what it is asked for has not stood for long enough to
 * be read, as at the second press of a double click.
 */
function useConfirmation() {
  const [state, setState] = useState<'no' | 'shown' | 'ready'>('no')
  const timer = useRef<number | undefined>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const askAgain = () => {
    setState('shown')
    clearTimeout(timer.current)
    timer.current = window.setTimeout(() => {
      setState('ready')
      timer.current = window.setTimeout(() => setState('no'), confirmMs)
    }, armMs)
  }
  return { isConfirming: state !== 'no', isTooSoon: state === 'shown', askAgain }
}

interface WrittenVerdict extends Words {
  isResponse: boolean
  edit: Edit
  grant: GrantChoice
}

function useVerdict(question: Question, onDecided: (question: Question) => void, reload: () => void) {
  const { mutate, isRunning, error } = useMutation(decideMutation)
  const [result, setResult] = useState<DecideResult | null>(null)
  const give = async (verdict: Verdict, { reason, note, edit, grant, isResponse }: WrittenVerdict) => {
    setResult(null)
    const isApproval = verdict === 'APPROVE'
    const remembered = grantInput(grant, verdict, question)
    const answer = await mutate({
      input: {
        approvalId: question.id,
        verdict,
        expectedDigest: question.digest,
        ...(reason.trim() === '' ? {} : { [isResponse ? 'response' : 'reason']: reason.trim() }),
        ...(note.trim() === '' ? {} : { note: note.trim() }),
        ...(isApproval && edit.state === 'changed' ? { arguments: edit.value } : {}),
        ...(remembered ? { grant: remembered } : {}),
        ...(grant.of === 'STOP' && !isApproval && !isResponse ? { stop: true } : {}),
      },
    })
    // Without an answer nobody knows whether the verdict was taken: the question itself says it.
    if (!answer) return reload()
    const decided = answer.decideApproval
    setResult(decided)
    if (decided.__typename === 'ApprovalAlreadyDecidedError')
      toast(lostWords(verdict, decided.approval), { tone: 'bad', href: `/approvals/${question.id}` })
    // A decision by somebody else comes with the question as it is now.
    if (decided.__typename !== 'ApprovalPayload' || !decided.approval) return reload()
    const { toolName, summary } = question
    const what = beginningOf(sentenceText(summary) || toolName, 160)
    toast(wordsFor(decided.approval.status, what), {
      tone: isApproval ? 'good' : 'plain',
      href: question.generation ? `/runs/${question.generation.id}` : `/approvals/${question.id}`,
    })
    onDecided(decided.approval)
  }
  const refused = result && result.__typename !== 'ApprovalPayload' ? result : null
  return {
    give,
    isRunning,
    error,
    refusal: refusalOf(refused)?.message ?? null,
    issues: refused?.__typename === 'ValidationError' ? refused.issues : [],
  }
}

function wordsFor(status: string, what: string): string {
  if (status === 'APPROVED') return t('Approved: {what}', { what })
  if (status === 'REJECTED') return t('Rejected: {what}', { what })
  return t('Your vote counts, more are needed: {what}', { what })
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
