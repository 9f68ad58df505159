/** Creating an agent, and changing it on top of exactly the version that was read. */
import './agents.css'
import { useState, type FormEvent } from 'react'
import { Link, useLocation } from 'wouter'
import { refusalOf, type Issue } from '../../api/outcome.ts'
import { useMutation } from '../../api/query.ts'
import { useProject } from '../../api/session.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Conflict } from '../../parts/conflict.tsx'
import { Refusal } from '../../parts/fields.tsx'
import { Icon } from '../../parts/icons.tsx'
import { changedNames } from '../../parts/rebase.ts'
import { refusalText, stillTrue } from '../../parts/told-issues.ts'
import { toast } from '../../parts/toasts.tsx'
import {
  createInputOf,
  draftNames,
  draftOfAgent,
  newDraft,
  updateInputOf,
  type AgentDraft,
} from './agent-draft.ts'
import { AgentFields } from './agent-fields.tsx'
import {
  createAgentMutation,
  deleteAgentMutation,
  updateAgentMutation,
  type AgentDetail,
} from './documents.ts'

export function NewAgent() {
  const [, go] = useLocation()
  const projectId = useProject()
  const [draft, setDraft] = useState(newDraft)
  const [asked, setAsked] = useState(newDraft)
  const [issues, setIssues] = useState<readonly Issue[]>([])
  const [result, setResult] = useState<object | null>(null)
  const { mutate, isRunning, error } = useMutation(createAgentMutation)
  const told = stillTrue(issues, asked, draft)
  const save = async (event: FormEvent) => {
    event.preventDefault()
    const written = createInputOf(draft)
    setAsked(draft)
    setResult(null)
    setIssues('issues' in written ? written.issues : [])
    if ('issues' in written) return
    const answer = (await mutate({ input: { ...written.input, projectId } }))?.createAgent
    setResult(answer ?? null)
    setIssues(refusalOf(answer)?.issues ?? [])
    if (answer?.__typename !== 'CreateAgentPayload') return
    toast(`Created ${answer.agent.name}.`, { tone: 'good' })
    go(`/agents/${answer.agent.id}?tab=try`, { replace: true })
  }
  return (
    <>
      <header className="screen-head">
        <Link href="/agents" className="mute" aria-label="All agents">
          <Icon name="back" />
        </Link>
        <h1>New agent</h1>
      </header>
      <div className="screen-body agent-page">
        <form noValidate onSubmit={(event) => void save(event)}>
          <AgentFields draft={draft} onChange={setDraft} issues={told} />
          <Refusal message={refusalText(refusalOf(result, error), issues, told)} />
          <div className="row form-foot">
            <button type="submit" className="primary" disabled={isRunning}>
              {isRunning ? 'Creating …' : 'Create the agent'}
            </button>
            <Link href="/agents" className="button">
              Cancel
            </Link>
          </div>
        </form>
      </div>
    </>
  )
}

export function Definition({ agent, reload }: { agent: AgentDetail; reload(): void }) {
  // What the fields began with. It stays when the agent changes under them.
  const [base, setBase] = useState(agent)
  const [draft, setDraft] = useState<AgentDraft | null>(null)
  const [asked, setAsked] = useState<AgentDraft | null>(null)
  const [edition, setEdition] = useState(0)
  const [issues, setIssues] = useState<readonly Issue[]>([])
  const [result, setResult] = useState<object | null>(null)
  const { mutate, isRunning, error } = useMutation(updateAgentMutation)
  const began = draftOfAgent(base)
  const now = draft ?? began
  const isDirty = changedNames(began, now).length > 0
  const isStale = agent.version !== base.version
  const start = (from: AgentDetail, next: AgentDraft | null) => {
    setBase(from)
    setDraft(next)
    setEdition(edition + 1)
    setResult(null)
    setIssues([])
  }
  if (isStale && !isDirty) start(agent, null)
  const told = stillTrue(issues, asked ?? began, now)
  const save = async (event: FormEvent) => {
    event.preventDefault()
    const written = updateInputOf(base, began, now)
    setAsked(now)
    setResult(null)
    if (!written) return
    setIssues('issues' in written ? written.issues : [])
    if ('issues' in written) return
    const answer = (await mutate({ input: written.input }))?.updateAgent
    reload()
    setResult(answer ?? null)
    setIssues(refusalOf(answer)?.issues ?? [])
    if (answer?.__typename !== 'UpdateAgentPayload') return
    toast(`Saved ${answer.agent.name} as version ${answer.agent.version}.`, { tone: 'good' })
    start(answer.agent, null)
  }
  return (
    <form noValidate onSubmit={(event) => void save(event)}>
      {isStale && isDirty && (
        <Conflict
          base={began}
          mine={now}
          theirs={draftOfAgent(agent)}
          nameOf={(name) => draftNames[name as keyof AgentDraft]}
          onTake={(next) => start(agent, next)}
        />
      )}
      <AgentFields key={edition} draft={now} onChange={setDraft} issues={told} />
      <Refusal message={refusalText(refusalOf(result, error), issues, told)} />
      <div className="row form-foot">
        <button type="submit" className="primary" disabled={isRunning || !isDirty || isStale}>
          {isRunning ? 'Saving …' : 'Save'}
        </button>
        {isDirty && (
          <button type="button" onClick={() => start(agent, null)}>
            Drop the changes
          </button>
        )}
        <DeleteAgent agent={agent} />
      </div>
    </form>
  )
}

function DeleteAgent({ agent }: { agent: AgentDetail }) {
  const [, go] = useLocation()
  const { mutate, isRunning } = useMutation(deleteAgentMutation)
  const remove = async () => {
    const answer = (await mutate({ input: { id: agent.id } }))?.deleteAgent
    const refused = refusalOf(answer)
    if (!answer || refused) return toast(refused?.message ?? 'The agent was not deleted.', { tone: 'bad' })
    toast(`Deleted ${agent.name}.`, { tone: 'good' })
    go('/agents', { replace: true })
  }
  return (
    <span className="spread">
      <Confirm
        word="Delete"
        question={`Delete ${agent.name}?`}
        isBusy={isRunning}
        onConfirm={() => void remove()}
      >
        <p>Its runs are kept, and running ones go on.</p>
      </Confirm>
    </span>
  )
}
