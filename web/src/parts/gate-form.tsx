/** The form of a gate: it is saved, or proposed where the project wants a second person. */
import { useState, type ReactNode } from 'react'
import { graphql } from '../api/document.ts'
import { useMutation, useQuery } from '../api/query.ts'
import type { MutationRefusal } from '../api/outcome.ts'
import { Confirm } from './confirm.tsx'
import { Conflict } from './conflict.tsx'
import { isDeepSame } from './deep-same.ts'
import { Field, Refusal } from './fields.tsx'
import { draftOf, inputOf, type Policy, type PolicyInput } from './gate-draft.ts'
import { GateFields } from './gate-fields.tsx'
import { proposeMutation, type ProposeInput } from './gate-proposal.ts'
import type { Schema } from './schema-form-resolve.ts'
import { toast } from './toasts.tsx'
import { t } from '../texts/texts.tsx'

const rulesQuery = graphql(`
  query GateRules($projectId: ID!) {
    project(id: $projectId) {
      id
      gatesNeedSecond
    }
  }
`)

/** A gate while it is edited; `policy` is what it is now. */
export function useGateForm(policy: Policy) {
  const [base, setBase] = useState(policy)
  const [draft, setDraft] = useState(() => draftOf(policy))
  const [edition, setEdition] = useState(0)
  const written = inputOf(draft)
  const input = 'input' in written ? written.input : null
  const isDirty = !isDeepSame(written, inputOf(draftOf(base)))
  const isStale = !isDeepSame(policy, base)
  const start = (next: Policy) => {
    setBase(policy)
    setDraft(draftOf(next))
    setEdition(edition + 1)
  }
  // What was saved comes back as somebody's change: it is one's own.
  if (isStale && (!isDirty || isDeepSame(written, inputOf(draftOf(policy))))) start(policy)
  const unset = { when: null, escalateAfterSeconds: null, title: null }
  const mine: Policy = input ? { ...base, ...unset, ...input } : base
  const faults = isDirty && 'faults' in written ? written.faults : []
  return { policy, base, draft, setDraft, edition, input, isDirty, isStale, start, mine, faults }
}

interface Props {
  form: ReturnType<typeof useGateForm>
  /** Whether there is a gate that can be removed. */
  hasOwn: boolean
  schema: Schema | null
  /** Whether its calls have one schema, so that a sentence can name their arguments. */
  hasTitle?: boolean
  update: { isRunning: boolean; refused: MutationRefusal | null }
  /** Saves it at once; null removes it. Resolves with null when it was refused or failed. */
  send(gate: PolicyInput | null): Promise<object | null>
  proposalOf(gate: PolicyInput | null, note: string): ProposeInput
  reload(): void
  /** What must be looked at before it is saved. */
  preview?: { isCurrent: boolean; button: ReactNode }
  children?: ReactNode
}

export function GateForm({
  form,
  hasOwn,
  schema,
  hasTitle = false,
  update,
  send,
  proposalOf,
  reload,
  preview,
  children,
}: Props) {
  const { policy, input, isDirty, isStale, start } = form
  const [note, setNote] = useState('')
  const rules = useQuery(rulesQuery, {}, { eventTypes: ['PROJECT_UPDATED', 'GATE_CHANGED'] })
  const needsSecond = rules.data?.project?.gatesNeedSecond ?? false
  const propose = useMutation(proposeMutation)
  const refused = update.refused ?? propose.refused
  const isRunning = update.isRunning || propose.isRunning
  const isSeen = preview?.isCurrent ?? true
  const save = async (gate: PolicyInput | null) => {
    const done = needsSecond ? await propose.send({ input: proposalOf(gate, note) }) : await send(gate)
    reload()
    if (!done) return
    setNote('')
    toast(needsSecond ? t('Proposed. Another person must confirm it.') : t('The gate is changed.'), {
      tone: 'good',
    })
  }
  return (
    <>
      {isStale && isDirty && (
        <Conflict base={form.base} mine={form.mine} theirs={policy} nameOf={(name) => name} onTake={start} />
      )}
      <GateFields
        key={form.edition}
        draft={form.draft}
        onChange={form.setDraft}
        schema={schema}
        hasTitle={hasTitle}
        faults={form.faults}
        issues={gateIssues(refused)}
      />
      {children}
      {needsSecond && (
        <Field
          label={t('Why, for the person who confirms it')}
          value={note}
          onChange={setNote}
          hint={t('In this project a gate change takes effect once another person confirms it: see Tools.')}
        />
      )}
      <Refusal message={refused?.message ?? null} />
      <div className="row form-foot">
        {preview?.button}
        <button
          type="button"
          className="primary"
          disabled={!input || !isDirty || !isSeen || isRunning || isStale}
          title={isSeen ? undefined : t('Preview it first')}
          onClick={() => void save(input)}
        >
          {needsSecond ? t('Propose the change') : t('Save the gate')}
        </button>
        {isDirty && (
          <button type="button" onClick={() => start(policy)}>
            {t('Discard the changes')}
          </button>
        )}
        {hasOwn && (
          <span className="spread">
            <Confirm
              needs="gates:Update"
              word={needsSecond ? t('Propose to remove this gate') : t('Remove this gate')}
              question={t('Remove this gate')}
              isBusy={isRunning}
              onConfirm={() => void save(null)}
            >
              <p>{t('Other gates go on.')}</p>
            </Confirm>
          </span>
        )}
      </div>
    </>
  )
}

/** The faults of the gate itself, with paths that begin at it. */
const gateIssues = (refused: MutationRefusal | null) =>
  (refused?.issues ?? []).flatMap(({ path, message }) => {
    const at = path.indexOf('gate')
    return at < 0 ? [] : [{ path: path.slice(at), message }]
  })
