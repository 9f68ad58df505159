/** The definition of a tool, and saving it on top of exactly the version that was read. */
import { useState } from 'react'
import { useLocation } from 'wouter'
import { refusalOf, type Issue } from '../../api/outcome.ts'
import { useMutation } from '../../api/query.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Conflict } from '../../parts/conflict.tsx'
import { Refusal } from '../../parts/fields.tsx'
import { changedNames } from '../../parts/rebase.ts'
import { refusalText, stillTrue } from '../../parts/told-issues.ts'
import { toast } from '../../parts/toasts.tsx'
import { DefinitionFields } from './definition-fields.tsx'
import { deleteToolMutation, updateToolMutation, type ToolDetail } from './documents.ts'
import { draftNames, draftOfTool, kindOf, updateInputOf, type ToolDraft } from './tool-draft.ts'

interface Props {
  tool: ToolDetail
  reload(): void
}

export function Definition({ tool, reload }: Props) {
  // What the fields began with. It stays when the tool changes under them.
  const [base, setBase] = useState(tool)
  const [draft, setDraft] = useState<ToolDraft | null>(null)
  const [edition, setEdition] = useState(0)
  // The draft that the server was asked about last.
  const [asked, setAsked] = useState<ToolDraft | null>(null)
  const [issues, setIssues] = useState<readonly Issue[]>([])
  const { mutate, isRunning, error } = useMutation(updateToolMutation)
  const [result, setResult] = useState<object | null>(null)
  const began = draftOfTool(base)
  const isDirty = draft !== null && changedNames(began, draft).length > 0
  const isStale = tool.version !== base.version
  if (isStale && !isDirty) {
    setBase(tool)
    setDraft(null)
    setEdition(edition + 1)
  }
  const refused = refusalOf(result, error)
  const told = stillTrue(issues, asked ?? began, draft ?? began)
  const take = (next: ToolDraft) => {
    setBase(tool)
    setDraft(next)
    setEdition(edition + 1)
    setResult(null)
    setIssues([])
  }
  const save = async () => {
    const written = updateInputOf(base, began, draft ?? began)
    setAsked(draft)
    setResult(null)
    if (!written) return
    setIssues('issues' in written ? written.issues : [])
    if ('issues' in written) return
    const answer = (await mutate({ input: written.input }))?.updateTool
    reload()
    setResult(answer ?? null)
    setIssues(refusalOf(answer)?.issues ?? [])
    if (answer?.__typename !== 'UpdateToolPayload') return
    toast(`Saved ${answer.tool.name} as version ${answer.tool.version}.`, { tone: 'good' })
    setBase(answer.tool)
    setDraft(null)
    setEdition(edition + 1)
  }
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        void save()
      }}
    >
      {isStale && isDirty && (
        <Conflict
          base={began}
          mine={draft}
          theirs={draftOfTool(tool)}
          nameOf={(name) => draftNames[name as keyof ToolDraft]}
          onTake={take}
        />
      )}
      <DefinitionFields
        key={edition}
        kind={kindOf(base)}
        draft={draft ?? began}
        onChange={setDraft}
        issues={told}
      />
      <Refusal message={refusalText(refused, issues, told)} />
      <div className="row form-foot">
        <button type="submit" className="primary" disabled={isRunning || !isDirty || isStale}>
          {isRunning ? 'Saving …' : 'Save'}
        </button>
        {isDirty && (
          <button
            type="button"
            onClick={() => {
              setDraft(null)
              setIssues([])
              setEdition(edition + 1)
            }}
          >
            Drop the changes
          </button>
        )}
        <DeleteTool tool={tool} />
      </div>
    </form>
  )
}

function DeleteTool({ tool }: { tool: ToolDetail }) {
  const [, go] = useLocation()
  const { mutate, isRunning } = useMutation(deleteToolMutation)
  const remove = async () => {
    const answer = (await mutate({ input: { id: tool.id } }))?.deleteTool
    const refused = refusalOf(answer)
    if (!answer || refused) return toast(refused?.message ?? 'The tool was not deleted.', { tone: 'bad' })
    toast(`Deleted ${tool.name}.`, { tone: 'good' })
    go('/tools', { replace: true })
  }
  return (
    <span className="spread">
      <Confirm
        word="Delete"
        question={`Delete ${tool.name}?`}
        isBusy={isRunning}
        onConfirm={() => void remove()}
      >
        <p>Agents lose the tool at once. Calls that were already proposed run to their end.</p>
      </Confirm>
    </span>
  )
}
