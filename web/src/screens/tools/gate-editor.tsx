/** Editing one gate: it is saved only after its effect on recorded calls was looked at. */
import { useEffect, useEffectEvent, useState } from 'react'
import { writeJson } from '../../../../src/core/exact-json.ts'
import { ask } from '../../api/client.ts'
import { useMutation } from '../../api/query.ts'
import { Choice } from '../../parts/fields.tsx'
import { type Policy, type PolicyInput } from '../../parts/gate-draft.ts'
import type { Schema } from '../../parts/schema-form-resolve.ts'
import { Failure } from '../../parts/states.tsx'
import { updateToolMutation, type ToolDetail } from './documents.ts'
import { previewQuery, type Preview } from './gate-documents.ts'
import { GateAdvice } from './gate-advice.tsx'
import { GateHistogram } from './gate-histogram.tsx'
import { gateUpdate, gateProposal } from './gate-inputs.ts'
import { GatePreviewView } from './gate-preview.tsx'
import { GateForm, useGateForm } from '../../parts/gate-form.tsx'
import { t } from '../../texts/texts.tsx'

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
  const form = useGateForm(policy)
  const preview = usePreview(tool, action, form.input)
  const update = useMutation(updateToolMutation)
  return (
    <div className="fields">
      <GateAdvice
        tool={tool}
        action={action}
        onTake={(advised) => {
          form.start(advised)
          preview.runSoon()
        }}
      />
      <GateForm
        form={form}
        hasOwn={hasOwn}
        schema={schema}
        hasTitle={action !== null || (tool.__typename !== 'McpTool' && tool.__typename !== 'PlatformTool')}
        update={update}
        send={(gate) => update.send({ input: gateUpdate(tool, action, gate) })}
        proposalOf={(gate, note) => gateProposal(tool, action, gate, note)}
        reload={reload}
        preview={{
          isCurrent: preview.isCurrent,
          button: (
            <button
              type="button"
              disabled={!form.input || preview.isRunning}
              onClick={() => void preview.run()}
            >
              {preview.isRunning ? t('Checking …') : t('Preview on the last 200 calls')}
            </button>
          ),
        }}
      >
        {action === null && (tool.__typename === 'McpTool' || tool.__typename === 'PlatformTool') && (
          <PreviewAction tool={tool} value={preview.action} onChange={preview.setAction} />
        )}
        <GateHistogram
          draft={form.draft}
          calls={preview.calls}
          onChange={(draft) => {
            form.setDraft(draft)
            preview.runSoon()
          }}
        />
        <GatePreviewView preview={preview.shown} isRunning={preview.isRunning} />
        {preview.error !== null && <Failure error={preview.error} />}
      </GateForm>
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
        label={t('Preview with the calls of')}
        value={value ?? ''}
        options={tool.actions.map(({ action }) => ({ value: action, name: action }))}
        onChange={onChange}
      />
    </div>
  )
}

/** Time without a change before a draft is looked at by itself, in milliseconds. */
const quietMs = 300

/** The effect of a draft, and whether it was looked at as it stands now. */
function usePreview(tool: ToolDetail, own: string | null, input: PolicyInput | null) {
  const first = 'actions' in tool ? (tool.actions[0]?.action ?? null) : null
  const [chosen, setAction] = useState<string | null>(null)
  const action = own ?? chosen ?? first
  const key = writeJson([input, action])
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
  // What was dragged or taken over is looked at by itself, once it stands still.
  const [wanted, setWanted] = useState(0)
  const runWanted = useEffectEvent(() => void run())
  useEffect(() => {
    if (wanted === 0) return
    const timer = setTimeout(runWanted, quietMs)
    return () => clearTimeout(timer)
  }, [wanted])
  const isCurrent = known?.key === key
  return {
    run,
    runSoon: () => setWanted((times) => times + 1),
    action,
    setAction: (next: string) => {
      setKnown(null)
      setAction(next)
    },
    isRunning,
    error,
    isCurrent,
    shown: isCurrent ? known.preview : null,
    /** The calls of the last preview, also while the draft is another one. */
    calls: known?.preview.calls ?? [],
  }
}
