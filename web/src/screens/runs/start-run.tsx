/** Starting a run: an agent and what to do. */
import { useState } from 'react'
import { useLocation } from 'wouter'
import { writeJson } from '../../../../src/core/exact-json.ts'
import { useMutation } from '../../api/query.ts'
import { useAgentNames } from '../../parts/agent-field.tsx'
import { Form } from '../../parts/form.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { useKeys } from '../../parts/keys.ts'
import { KeyHint } from '../../parts/key-hint.tsx'
import { Failure, Skeleton } from '../../parts/states.tsx'
import { toast } from '../../parts/toasts.tsx'
import { startMutation } from './documents.ts'
import { t } from '../../texts/texts.tsx'

interface Props {
  /** The agent that is chosen at first; null: the first one. */
  agentId: string | null
  /** The thread that the run continues; null: a new one. */
  threadId: string | null
  onClose(): void
}

/** A key of 128 random bits: a press whose answer was lost and the next one start the same run. */
const newKey = () =>
  Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join('-')

export function StartRun({ agentId, threadId, onClose }: Props) {
  const [, go] = useLocation()
  const agents = useAgentNames()
  const [chosen, setChosen] = useState(agentId)
  const [prompt, setPrompt] = useState('')
  const [request, setRequest] = useState({ about: '', key: '' })
  const { mutate, isRunning, error } = useMutation(startMutation)
  const [refusal, setRefusal] = useState<string | null>(null)
  // Once it is shown it stays: the list may get another first one, or lose this one, while somebody writes.
  if (chosen === null && agents.nodes[0]) setChosen(agents.nodes[0].id)
  const agent = agents.nodes.find(({ id }) => id === chosen)
  const isReady = chosen !== null && prompt.trim() !== '' && !isRunning

  const start = async () => {
    if (!isReady) return
    setRefusal(null)
    const about = writeJson([chosen, threadId, prompt])
    const key = request.about === about ? request.key : newKey()
    setRequest({ about, key })
    const input = { agentId: chosen, prompt, idempotencyKey: key, ...(threadId ? { threadId } : {}) }
    const result = (await mutate({ input }))?.startGeneration
    if (!result) return
    if (result.__typename !== 'GenerationPayload') {
      const issues = result.__typename === 'ValidationError' ? result.issues : []
      return setRefusal(
        [result.message, ...issues.map(({ path, message }) => `${path.join('.')} ${message}`)].join(' '),
      )
    }
    const { id } = result.generation
    onClose()
    toast(t('{name} runs.', { name: agent?.name ?? chosen }), { tone: 'good' })
    go(`/runs/${id}`)
  }
  useKeys({ 'mod+Enter': () => void start() })

  return (
    <Dialog title={threadId ? t('Continue the thread') : t('Start a run')} onClose={onClose}>
      {agents.error !== null && agents.nodes.length === 0 ? (
        <Failure error={agents.error} retry={agents.reload} />
      ) : agents.isLoading ? (
        <Skeleton lines={3} />
      ) : agents.nodes.length === 0 ? (
        <p>{t('There is no agent yet. Create one under Agents, then start it here.')}</p>
      ) : (
        <Form className="stack" onSubmit={start}>
          <label>
            <span>{t('Agent')}</span>
            <select value={chosen ?? ''} onChange={(event) => setChosen(event.target.value)}>
              {chosen !== null && !agent && <option value={chosen}>{chosen}</option>}
              {agents.nodes.map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </select>
          </label>
          {agents.hasMore && (
            <button type="button" className="quiet" onClick={agents.showMore}>
              {t('More agents')}
            </button>
          )}
          <label>
            <span>{t('What to do')}</span>
            <textarea rows={6} required value={prompt} onChange={(event) => setPrompt(event.target.value)} />
          </label>
          {refusal && (
            <p className="tone-bad" role="alert">
              {refusal}
            </p>
          )}
          {error !== null && <Failure error={error} />}
          <div className="row">
            <button type="submit" className="primary" disabled={!isReady}>
              {isRunning ? t('Starting …') : t('Start')} <KeyHint keys="mod+Enter" />
            </button>
            <button type="button" onClick={onClose}>
              {t('Cancel')}
            </button>
          </div>
        </Form>
      )}
    </Dialog>
  )
}
