/** The gate of an agent, which adds to the gates of its tools. */
import { useState } from 'react'
import { refusalOf } from '../../api/outcome.ts'
import { useMutation, useQuery } from '../../api/query.ts'
import { Conflict } from '../../parts/conflict.tsx'
import { isDeepSame } from '../../parts/deep-same.ts'
import { Field, Refusal } from '../../parts/fields.tsx'
import { draftOf, inputOf, newPolicy, type Policy, type PolicyInput } from '../../parts/gate-draft.ts'
import { GateFields } from '../../parts/gate-fields.tsx'
import { gateText } from '../../parts/gate-words.tsx'
import { toast } from '../../parts/toasts.tsx'
import { proposeMutation, rulesQuery, updateAgentMutation, type AgentDetail } from './documents.ts'

const noGate: Policy = { ...newPolicy, mode: 'NEVER' }

const policyOf = ({ gate }: AgentDetail): Policy => {
  if (!gate) return noGate
  const { source: _source, ...policy } = gate
  return policy
}

export function AgentGate({ agent, reload }: { agent: AgentDetail; reload(): void }) {
  const policy = policyOf(agent)
  const [base, setBase] = useState(policy)
  const [draft, setDraft] = useState(() => draftOf(policy))
  const [edition, setEdition] = useState(0)
  const { data } = useQuery(rulesQuery, {}, { hears: ['PROJECT_UPDATED', 'GATE_CHANGED'] })
  const needsSecond = data?.project?.gatesNeedSecond ?? false
  const save = useSave(agent, needsSecond, reload)
  const written = inputOf(draft)
  const input = 'input' in written ? written.input : null
  const isDirty = !isDeepSame(written, inputOf(draftOf(base)))
  const isStale = !isDeepSame(policy, base)
  const start = (next: Policy) => {
    setBase(policy)
    setDraft(draftOf(next))
    setEdition(edition + 1)
  }
  if (isStale && !isDirty) start(policy)
  const mine: Policy = input ? { ...base, when: null, escalateAfterSeconds: null, ...input } : base
  return (
    <section className="stack agent-gate" aria-label="Gate">
      <p className="mute">
        {agent.gate ? `Now: ${gateText(agent.gate)}` : 'It has none of its own.'} It adds to the gates of its
        tools, and can only be stricter.
      </p>
      {isStale && isDirty && (
        <Conflict base={base} mine={mine} theirs={policy} nameOf={(name) => name} onTake={start} />
      )}
      <GateFields
        key={edition}
        draft={draft}
        onChange={setDraft}
        schema={null}
        faults={isDirty && 'faults' in written ? written.faults : []}
        issues={save.issues}
      />
      {needsSecond && (
        <Field
          label="Why, for the person who confirms it"
          value={save.note}
          onChange={save.setNote}
          hint="In this project a change of a gate takes effect when another person confirms it: see Tools."
        />
      )}
      <Refusal message={save.refusal} />
      <div className="row form-foot">
        <button
          type="button"
          className="primary"
          disabled={!input || !isDirty || isStale || save.isRunning}
          onClick={() => void save.send(input)}
        >
          {needsSecond ? 'Propose the change' : 'Save the gate'}
        </button>
        {isDirty && (
          <button type="button" onClick={() => start(policy)}>
            Drop the changes
          </button>
        )}
        {agent.gate && (
          <button type="button" className="quiet spread" onClick={() => void save.send(null)}>
            {needsSecond ? 'Propose to remove this gate' : 'Remove this gate'}
          </button>
        )}
      </div>
    </section>
  )
}

/** Saves the gate, or proposes it where the project wants a second person; null removes it. */
function useSave(agent: AgentDetail, needsSecond: boolean, reload: () => void) {
  const update = useMutation(updateAgentMutation)
  const propose = useMutation(proposeMutation)
  const [note, setNote] = useState('')
  const [result, setResult] = useState<object | null>(null)
  const refused = refusalOf(result, update.error ?? propose.error)
  const send = async (gate: PolicyInput | null) => {
    setResult(null)
    const reason = note.trim() === '' ? {} : { note: note.trim() }
    const change = gate ? { gate } : { removeGate: true }
    const answer = needsSecond
      ? (await propose.mutate({ input: { targetId: agent.id, ...change, ...reason } }))?.proposeGateChange
      : (await update.mutate({ input: { id: agent.id, expectedVersion: agent.version, gate } }))?.updateAgent
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
    issues: (refused?.issues ?? []).flatMap(({ path, message }) => {
      const at = path.indexOf('gate')
      return at < 0 ? [] : [{ path: path.slice(at), message }]
    }),
  }
}
