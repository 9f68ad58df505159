/** Trying an agent: a conversation with it, in which what it asks is answered in place. */
import { useRef, useState } from 'react'
import { writeJson } from '../../../../src/core/exact-json.ts'
import { useMutation } from '../../api/query.ts'
import { ActionButton } from '../../parts/confirm.tsx'
import { Refusal } from '../../parts/fields.tsx'
import { Form } from '../../parts/form.tsx'
import { KeyHint } from '../../parts/key-hint.tsx'
import { useKeys } from '../../parts/keys.ts'
import { pressFor, randomKey, type Press } from '../../parts/press.ts'
import { startMutation, type AgentDetail } from './documents.ts'
import { PlayTurn } from './play-turn.tsx'
import { t } from '../../texts/texts.tsx'

interface Turn {
  id: string
  threadId: string
}

export function TryAgent({ agent }: { agent: AgentDetail }) {
  const [turns, setTurns] = useState<readonly Turn[]>([])
  const [isWaiting, setWaiting] = useState(false)
  const [prompt, setPrompt] = useState('')
  const { mutate, isRunning, refused } = useMutation(startMutation)
  const press = useRef<Press | null>(null)
  const isReady = !isWaiting && !isRunning && prompt.trim() !== ''
  const threadId = turns.at(-1)?.threadId
  const send = async () => {
    if (!isReady) return
    const asked = { agentId: agent.id, prompt, ...(threadId === undefined ? {} : { threadId }) }
    const own = pressFor(press.current, writeJson(asked), randomKey)
    press.current = own
    const answer = (await mutate({ input: { ...asked, idempotencyKey: own.key } }))?.startGeneration
    if (!answer) return
    press.current = null
    if (answer.__typename !== 'GenerationPayload') return
    setTurns([...turns, answer.generation])
    setWaiting(true)
    // Whoever went on writing meanwhile keeps it.
    setPrompt((now) => (now === asked.prompt ? '' : now))
  }
  const begin = () => {
    setTurns([])
    setWaiting(false)
  }
  useKeys({ 'mod+Enter': () => void send() })
  return (
    <div className="fields play">
      {turns.map(({ id }, at) => (
        <PlayTurn key={id} id={id} isFirst={at === 0} onEnd={() => setWaiting(false)} />
      ))}
      <Form onSubmit={send}>
        <label>
          <span>{t('Message to {name}', { name: agent.name })}</span>
          <textarea
            rows={turns.length === 0 ? 5 : 2}
            value={prompt}
            placeholder={agent.model === null ? 'call tool_name {"argument": 1}' : undefined}
            onChange={(event) => setPrompt(event.target.value)}
          />
        </label>
        <p className="small mute">
          {isWaiting
            ? t('The next message can be sent when this answer has ended.')
            : t(
                'It runs for real, with your rights: tools are called, and gated calls ask here and in the inbox.',
              )}
        </p>
        <Refusal message={refused?.message ?? null} />
        <div className="row">
          <ActionButton needs="generations:Start" type="submit" className="primary" disabled={!isReady}>
            {isRunning ? t('Sending …') : t('Send')} <KeyHint keys="mod+Enter" />
          </ActionButton>
          {turns.length > 0 && (
            <button type="button" disabled={isRunning} onClick={begin}>
              {t('New conversation')}
            </button>
          )}
        </div>
      </Form>
    </div>
  )
}
