/** The same run again, with changes. */
import { useState } from 'react'
import { wholeText } from '../../api/outcome.ts'
import { useQuery } from '../../api/query.ts'
import { useAgentNames } from '../../parts/agent-field.tsx'
import { Choice, Field } from '../../parts/fields.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { isDeepSame } from '../../parts/deep-same.ts'
import { compareHref } from '../../parts/run/choice.ts'
import {
  againQuery,
  changesOf,
  filesOf,
  givenSettings,
  keepInput,
  type Again,
  type Changes,
} from './start-input.ts'
import { useStart } from './use-start.ts'
import { t, plural } from '../../texts/texts.tsx'

export function RunAgain({ id, onClose }: { id: string; onClose(): void }) {
  const again = useQuery(againQuery, { id }).data?.generation
  return again ? <AgainForm again={again} onClose={onClose} /> : null
}

/** What comes along without being shown. */
function Along({ again }: { again: Again }) {
  const [files, messages] = [filesOf(again).length, again.input.messages.length - 1]
  const told = [
    ...(files > 0
      ? [plural(files, '1 attached file is included.', '{count} attached files are included.')]
      : []),
    ...(messages > 0
      ? [plural(messages, '1 earlier message is included.', '{count} earlier messages are included.')]
      : []),
  ]
  return told.length > 0 ? <p className="small mute">{told.join(' ')}</p> : null
}

interface SettingsProps {
  changes: Changes
  /** The agent whose settings hold where nothing is given; null when it is another one. */
  agent: Again['agent']
  onChange(changes: Changes): void
}

const asTheAgent = t('as the agent has it')

function Settings({ changes, agent, onChange }: SettingsProps) {
  const set = (name: keyof Changes) => (value: string) => onChange({ ...changes, [name]: value })
  const { model, temperature, maxSteps, instructions } = changes
  return (
    <details open={Object.values(changes).some((text) => text !== '') || undefined}>
      <summary>{t('Settings of this run')}</summary>
      <div className="stack">
        <Field
          label={t('Model')}
          value={model}
          placeholder={agent?.model ?? asTheAgent}
          onChange={set('model')}
        />
        <Field
          label={t('Temperature')}
          type="number"
          value={temperature}
          placeholder={agent?.temperature?.toString() ?? asTheAgent}
          onChange={set('temperature')}
        />
        <Field
          label={t('Maximum steps')}
          type="number"
          value={maxSteps}
          placeholder={agent?.maxSteps.toString() ?? asTheAgent}
          onChange={set('maxSteps')}
        />
        <label>
          <span>{t('More instructions, behind those of the agent')}</span>
          <textarea
            rows={2}
            value={instructions}
            onChange={(event) => set('instructions')(event.target.value)}
          />
        </label>
      </div>
    </details>
  )
}

function AgainForm({ again, onClose }: { again: Again; onClose(): void }) {
  const { agent, input } = again
  const { form, start } = useStart(onClose)
  const agents = useAgentNames()
  const last = input.messages.at(-1)
  const [agentId, setAgentId] = useState(agent?.id ?? '')
  const [prompt, setPrompt] = useState(last?.content ?? '')
  const [changes, setChanges] = useState(() => changesOf(again))
  const options = agents.nodes.map((one) => ({ value: one.id, name: one.name }))
  const submit = () => {
    // The same words to another model, agent or with other instructions: what came of it is to be compared.
    const isTrial =
      prompt === last?.content && !(agentId === agent?.id && isDeepSame(changes, changesOf(again)))
    return start(
      {
        ...keepInput(again, prompt),
        ...givenSettings(changes),
        agentId,
        retryOf: { generationId: again.id, step: 0 },
      },
      isTrial ? (id) => compareHref(again.id, id) : undefined,
    )
  }
  const own = agent?.id === agentId ? agent : null
  return (
    <FormDialog
      title={t('Run again')}
      submit={t('Start the new run')}
      busy={t('Starting …')}
      isReady={agentId !== '' && prompt.trim() !== ''}
      form={form}
      textOf={wholeText}
      cancel={t('Cancel')}
      onClose={onClose}
      onSubmit={submit}
    >
      <p>
        {t(
          'A new run from the beginning: tools are called again. Change what you like; this run stays as it is. With the same words, the two are then compared.',
        )}
      </p>
      <Choice
        label={t('Agent')}
        value={agentId}
        options={
          agent && options.every(({ value }) => value !== agent.id)
            ? [{ value: agent.id, name: agent.name }, ...options]
            : options
        }
        onChange={setAgentId}
      />
      <label>
        <span>{t('What to do')}</span>
        <textarea rows={6} value={prompt} onChange={(event) => setPrompt(event.target.value)} />
      </label>
      <Along again={again} />
      <Settings changes={changes} agent={own} onChange={setChanges} />
    </FormDialog>
  )
}
