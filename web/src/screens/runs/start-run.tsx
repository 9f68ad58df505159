/** Starting a run: an agent and what to do. */
import { useState } from 'react'
import { wholeText } from '../../api/outcome.ts'
import { useAgentNames } from '../../parts/agent-field.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { KeyHint } from '../../parts/key-hint.tsx'
import { Failure, Skeleton } from '../../parts/states.tsx'
import { useStart } from './use-start.ts'
import { t } from '../../texts/texts.tsx'

interface Props {
  /** The agent that is chosen at first; null: the first one. */
  agentId: string | null
  /** The thread that the run continues; null: a new one. */
  threadId: string | null
  onClose(): void
}

export function StartRun({ agentId, threadId, onClose }: Props) {
  const agents = useAgentNames()
  const { form, start } = useStart(onClose)
  const [chosen, setChosen] = useState(agentId)
  const [prompt, setPrompt] = useState('')
  // Once it is shown it stays: the list may get another first one, or lose this one, while somebody writes.
  if (chosen === null && agents.nodes[0]) setChosen(agents.nodes[0].id)
  const isKnown = agents.nodes.some(({ id }) => id === chosen)
  return (
    <FormDialog
      title={threadId ? t('Continue the thread') : t('Start a run')}
      submit={
        <>
          {t('Start')} <KeyHint keys="mod+Enter" />
        </>
      }
      busy={t('Starting …')}
      isReady={chosen !== null && prompt.trim() !== ''}
      form={form}
      textOf={wholeText}
      cancel={t('Cancel')}
      onClose={onClose}
      onSubmit={async () => {
        if (chosen !== null) await start({ agentId: chosen, prompt, ...(threadId ? { threadId } : {}) })
      }}
    >
      {agents.error !== null && agents.nodes.length === 0 ? (
        <Failure error={agents.error} retry={agents.reload} />
      ) : agents.isLoading ? (
        <Skeleton lines={3} />
      ) : agents.nodes.length === 0 ? (
        <p>{t('There is no agent yet. Create one under Agents, then start it here.')}</p>
      ) : (
        <>
          <label>
            <span>{t('Agent')}</span>
            <select value={chosen ?? ''} onChange={(event) => setChosen(event.target.value)}>
              {chosen !== null && !isKnown && <option value={chosen}>{chosen}</option>}
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
        </>
      )}
    </FormDialog>
  )
}
