/** Trying an agent: a prompt starts a run, which opens at once. */
import { useRef, useState, type FormEvent } from 'react'
import { useLocation } from 'wouter'
import { useMutation } from '../../api/query.ts'
import { Refusal } from '../../parts/fields.tsx'
import { KeyHint } from '../../parts/key-hint.tsx'
import { useKeys } from '../../parts/keys.ts'
import { pressFor, randomKey, type Press } from '../../parts/press.ts'
import { startMutation, type AgentDetail } from './documents.ts'

export function TryAgent({ agent }: { agent: AgentDetail }) {
  const [, go] = useLocation()
  const [prompt, setPrompt] = useState('')
  const { mutate, isRunning, refused } = useMutation(startMutation)
  const press = useRef<Press | null>(null)
  const start = async () => {
    if (prompt.trim() === '') return
    const own = pressFor(press.current, prompt, randomKey)
    press.current = own
    const input = { agentId: agent.id, prompt, idempotencyKey: own.key }
    const answer = (await mutate({ input }))?.startGeneration
    if (!answer) return
    press.current = null
    if (answer.__typename === 'StartGenerationPayload') go(`/runs/${answer.generation.id}`)
  }
  useKeys({ 'mod+Enter': () => void start() })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    void start()
  }
  return (
    <form onSubmit={submit}>
      <label>
        <span>Message to {agent.name}</span>
        <textarea
          rows={5}
          value={prompt}
          placeholder={agent.model === null ? 'call tool_name {"argument": 1}' : undefined}
          onChange={(event) => setPrompt(event.target.value)}
        />
      </label>
      <p className="small mute">
        It runs for real, with your rights: tools are called, and calls that a gate stops wait in the inbox.
      </p>
      <Refusal message={refused?.message ?? null} />
      <div className="row">
        <button type="submit" className="primary" disabled={isRunning || prompt.trim() === ''}>
          {isRunning ? 'Starting …' : 'Start a run'} <KeyHint keys="mod+Enter" />
        </button>
      </div>
    </form>
  )
}
