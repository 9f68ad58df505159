/** Editing one gate: it is saved only after its effect on recorded calls was looked at. */
import { useState } from 'react'
import { ask } from '../../api/client.ts'
import { refusalOf, type Issue } from '../../api/outcome.ts'
import { useMutation, useQuery } from '../../api/query.ts'
import { Conflict } from '../../parts/conflict.tsx'
import { isDeepSame } from '../../parts/deep-same.ts'
import { Choice, Field, Refusal } from '../../parts/fields.tsx'
import { draftOf, inputOf, type Policy, type PolicyInput } from '../../parts/gate-draft.ts'
import { GateFields } from '../../parts/gate-fields.tsx'
import type { Schema } from '../../parts/schema-form-resolve.ts'
import { Failure } from '../../parts/states.tsx'
import { toast } from '../../parts/toasts.tsx'
import { updateToolMutation, type ToolDetail } from './documents.ts'
import { previewQuery, proposeMutation, rulesQuery, type Preview } from './gate-documents.ts'
import { gateUpdate, gateProposal } from './gate-inputs.ts'
import { GatePreviewView } from './gate-preview.tsx'

interface Props {
  tool: ToolDetail
  /** The action whose gate it is; null: the gate of the whole tool. */
  action: string | null
  /** Whether there is a gate that can be removed. */
  hasOwn: boolean
  policy: Policy
  schema: Schema | null
  reload(): void
}

export function GateEditor({ tool, action, hasOwn, policy, schema, reload }: Props) {
  const [base, setBase] = useState({ policy, version: tool.version })
  const [draft, setDraft] = useState(() => draftOf(policy))
  const [edition, setEdition] = useState(0)
  const rules = useQuery(rulesQuery, {}, { hears: ['PROJECT_UPDATED', 'GATE_CHANGED'] })
  const needsSecond = rules.data?.project?.gatesNeedSecond ?? false
  const written = inputOf(draft)
  const input = 'input' in written ? written.input : null
  const isDirty = !isDeepSame(written, inputOf(draftOf(base.policy)))
  const preview = usePreview(tool, action, input)
  const save = useSaveGate(tool, action, reload)
  const isStale = !isDeepSame(policy, base.policy)
  const start = (next: Policy) => {
    setBase({ policy, version: tool.version })
    setDraft(draftOf(next))
    setEdition(edition + 1)
  }
  if (isStale && !isDirty) start(policy)
  const mine: Policy = input
    ? { ...base.policy, when: null, escalateAfterSeconds: null, ...input }
    : base.policy
  return (
    <div className="gate-editor">
      {isStale && isDirty && (
        <Conflict base={base.policy} mine={mine} theirs={policy} nameOf={(name) => name} onTake={start} />
      )}
      <GateFields
        key={edition}
        draft={draft}
        onChange={setDraft}
        schema={schema}
        faults={isDirty && 'faults' in written ? written.faults : []}
        issues={save.gateIssues}
      />
      {action === null && (tool.__typename === 'McpTool' || tool.__typename === 'PlatformTool') && (
        <PreviewAction tool={tool} value={preview.action} onChange={preview.setAction} />
      )}
      <GatePreviewView preview={preview.shown} isRunning={preview.isRunning} />
      {preview.error !== null && <Failure error={preview.error} />}
      {needsSecond && (
        <Field
          label="Why, for the person who confirms it"
          value={save.note}
          onChange={save.setNote}
          hint="In this project a change of a gate takes effect when another person confirms it."
        />
      )}
      <Refusal message={save.refusal} />
      <div className="row form-foot">
        <button type="button" disabled={!input || preview.isRunning} onClick={() => void preview.run()}>
          {preview.isRunning ? 'Looking …' : 'Preview on the last 200 calls'}
        </button>
        <button
          type="button"
          className="primary"
          disabled={!input || !isDirty || !preview.isCurrent || save.isRunning || isStale}
          title={preview.isCurrent ? undefined : 'Look at its preview first'}
          onClick={() => void save.send(input!, needsSecond)}
        >
          {needsSecond ? 'Propose the change' : 'Save the gate'}
        </button>
        {isDirty && (
          <button type="button" onClick={() => start(policy)}>
            Drop the changes
          </button>
        )}
        {hasOwn && (
          <button type="button" className="quiet spread" onClick={() => void save.send(null, needsSecond)}>
            {needsSecond ? 'Propose to remove this gate' : 'Remove this gate'}
          </button>
        )}
      </div>
    </div>
  )
}

function PreviewAction({
  tool,
  value,
  onChange,
}: {
  tool: ToolDetail
  value: string | null
  onChange(action: string): void
}) {
  if (tool.__typename !== 'McpTool' && tool.__typename !== 'PlatformTool') return null
  return (
    <div className="action-choice">
      <Choice
        label="Preview with the calls of"
        value={value ?? ''}
        options={tool.actions.map(({ action }) => ({ value: action, name: action }))}
        onChange={onChange}
      />
    </div>
  )
}

/** The effect of a draft, and whether it was looked at as it stands now. */
function usePreview(tool: ToolDetail, own: string | null, input: PolicyInput | null) {
  const first = 'actions' in tool ? (tool.actions[0]?.action ?? null) : null
  const [chosen, setAction] = useState<string | null>(null)
  const action = own ?? chosen ?? first
  const key = JSON.stringify([input, action])
  const [known, setKnown] = useState<{ key: string; preview: Preview } | null>(null)
  const [isRunning, setRunning] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const run = async () => {
    if (!input) return
    setRunning(true)
    setError(null)
    try {
      const { previewGate } = await ask(previewQuery, { toolId: tool.id, action, gate: input })
      setKnown({ key, preview: previewGate })
    } catch (failure) {
      setError(failure)
    }
    setRunning(false)
  }
  const isCurrent = known?.key === key
  return { run, action, setAction, isRunning, error, isCurrent, shown: isCurrent ? known.preview : null }
}

/** Saves a gate, or proposes it where the project wants a second person; null removes it. */
function useSaveGate(tool: ToolDetail, action: string | null, reload: () => void) {
  const update = useMutation(updateToolMutation)
  const propose = useMutation(proposeMutation)
  const [note, setNote] = useState('')
  const [result, setResult] = useState<object | null>(null)
  const refused = refusalOf(result, update.error ?? propose.error)
  const send = async (gate: PolicyInput | null, needsSecond: boolean) => {
    setResult(null)
    const answer = needsSecond
      ? (await propose.mutate({ input: gateProposal(tool, action, gate, note) }))?.proposeGateChange
      : (await update.mutate({ input: gateUpdate(tool, action, gate) }))?.updateTool
    setResult(answer ?? null)
    reload()
    if (!answer || refusalOf(answer)) return
    setNote('')
    toast(needsSecond ? 'Proposed. Another person must confirm it.' : 'The gate is changed.', {
      tone: 'good',
    })
  }
  return {
    send,
    note,
    setNote,
    isRunning: update.isRunning || propose.isRunning,
    refusal: refused?.message ?? null,
    gateIssues: gateIssues(refused?.issues ?? []),
  }
}

/** The faults of the gate itself, with paths that begin at it. */
const gateIssues = (issues: readonly Issue[]): Issue[] =>
  issues.flatMap(({ path, message }) => {
    const at = path.indexOf('gate')
    return at < 0 ? [] : [{ path: path.slice(at), message }]
  })
