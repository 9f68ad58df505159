/** A new tool: first its kind, then its fields. */
import './tools.css'
import { useState } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import { refusalOf, type Issue } from '../../api/outcome.ts'
import { useMutation } from '../../api/query.ts'
import { useProject } from '../../api/session.ts'
import { Refusal } from '../../parts/fields.tsx'
import { Icon } from '../../parts/icons.tsx'
import { refusalText, stillTrue } from '../../parts/told-issues.ts'
import { toast } from '../../parts/toasts.tsx'
import { DefinitionFields } from './definition-fields.tsx'
import { createToolMutation, type Kind } from './documents.ts'
import { createInputOf, newDraft } from './tool-draft.ts'

const choices: readonly { kind: Kind; name: string; about: string }[] = [
  { kind: 'http', name: 'http', about: 'Gatehouse calls an HTTP endpoint.' },
  {
    kind: 'mcp',
    name: 'mcp',
    about: 'Gatehouse calls a foreign MCP server: each of its tools is an action.',
  },
  {
    kind: 'client',
    name: 'client',
    about: 'Your program runs it: a run pauses until its output is submitted.',
  },
  { kind: 'platform', name: 'platform', about: 'Operations of Gatehouse itself: each is an action.' },
]

export function NewTool() {
  const [params, setParams] = useSearchParams()
  const kind = choices.find((one) => one.kind === params.get('kind'))?.kind ?? 'http'
  return (
    <>
      <header className="screen-head">
        <Link href="/tools" className="mute" aria-label="All tools">
          <Icon name="back" />
        </Link>
        <h1>New tool</h1>
      </header>
      <div className="screen-body tool-page">
        <fieldset className="kinds">
          <legend className="label">Where its calls run</legend>
          {choices.map((one) => (
            <label key={one.kind}>
              <input
                type="radio"
                name="kind"
                checked={one.kind === kind}
                onChange={() => setParams({ kind: one.kind }, { replace: true })}
              />
              <span className="strong">{one.name}</span>
              <span className="small mute">{one.about}</span>
            </label>
          ))}
        </fieldset>
        <NewDefinition key={kind} kind={kind} />
      </div>
    </>
  )
}

function NewDefinition({ kind }: { kind: Kind }) {
  const [, go] = useLocation()
  const projectId = useProject()
  const [draft, setDraft] = useState(newDraft)
  const [issues, setIssues] = useState<readonly Issue[]>([])
  // The draft that the server was asked about last.
  const [asked, setAsked] = useState(newDraft)
  const { mutate, isRunning, error } = useMutation(createToolMutation)
  const [result, setResult] = useState<object | null>(null)
  const refused = refusalOf(result, error)
  const told = stillTrue(issues, asked, draft)
  const save = async () => {
    const written = createInputOf(kind, draft)
    setAsked(draft)
    setIssues('issues' in written ? written.issues : [])
    setResult(null)
    if ('issues' in written) return
    const answer = (await mutate({ input: { ...written.input, projectId } }))?.createTool
    setResult(answer ?? null)
    setIssues(refusalOf(answer)?.issues ?? [])
    if (answer?.__typename !== 'CreateToolPayload') return
    toast(`Created ${answer.tool.name}.`, { tone: 'good' })
    go(`/tools/${answer.tool.id}`, { replace: true })
  }
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        void save()
      }}
    >
      <DefinitionFields kind={kind} draft={draft} onChange={setDraft} issues={told} />
      <Refusal message={refusalText(refused, issues, told)} />
      <div className="row form-foot">
        <button type="submit" className="primary" disabled={isRunning}>
          {isRunning ? 'Creating …' : 'Create the tool'}
        </button>
        <Link href="/tools" className="button">
          Cancel
        </Link>
      </div>
    </form>
  )
}
