/** The same run again, with changes. */
import { useState } from 'react'
import { graphql, type ResultOf } from '../../api/document.ts'
import { wholeText } from '../../api/outcome.ts'
import { useQuery } from '../../api/query.ts'
import { useAgentNames } from '../../parts/agent-field.tsx'
import { Choice, Field } from '../../parts/fields.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { useStart, type StartInput } from './use-start.ts'

const againQuery = graphql(`
  query RunAgain($id: ID!) {
    generation(id: $id) {
      id
      agent {
        id
        name
        model
        temperature
        maxSteps
        instructions
      }
      input {
        messages {
          role
          content
          attachments {
            file {
              id
            }
          }
        }
        clientTools {
          name
          description
          inputSchema
        }
        settings {
          model
          temperature
          maxSteps
          instructions
        }
      }
    }
  }
`)

type Again = NonNullable<ResultOf<typeof againQuery>['generation']>
export function RunAgain({ id, onClose }: { id: string; onClose(): void }) {
  const again = useQuery(againQuery, { id }).data?.generation
  return again ? <AgainForm again={again} onClose={onClose} /> : null
}

/** What a run was started with beside its messages, as texts of fields; empty: as the agent has it. */
function changesOf({ agent, input: { settings } }: Again) {
  const text = (name: 'model' | 'temperature' | 'maxSteps') =>
    settings === null || settings[name] === null || settings[name] === agent?.[name]
      ? ''
      : String(settings[name])
  const [own, all] = [agent?.instructions ?? '', settings?.instructions ?? '']
  return {
    model: text('model'),
    temperature: text('temperature'),
    maxSteps: text('maxSteps'),
    instructions: all !== own && all.startsWith(own) ? all.slice(own.length).trim() : '',
  }
}

type Changes = ReturnType<typeof changesOf>

/** The settings that are given. */
const given = ({ model, temperature, maxSteps, instructions }: Changes) => ({
  ...(model.trim() === '' ? {} : { model: model.trim() }),
  ...(instructions.trim() === '' ? {} : { instructions }),
  ...(temperature === '' ? {} : { temperature: Number(temperature) }),
  ...(maxSteps === '' ? {} : { maxSteps: Number(maxSteps) }),
})

const filesOf = ({ input }: Again) =>
  (input.messages.at(-1)?.attachments ?? []).flatMap(({ file }) => (file ? [{ fileId: file.id }] : []))

/** What the new run has of the old one, with its last message in these words. */
function kept(again: Again, prompt: string): Omit<StartInput, 'agentId'> {
  const { messages, clientTools } = again.input
  const said = messages.slice(0, -1).map(({ role, content }) => ({ role, content }))
  const attachments = filesOf(again)
  return {
    retryOf: { generationId: again.id, step: 0 },
    ...(said.length > 0 ? { messages: [...said, { role: 'USER', content: prompt }] } : { prompt }),
    ...(attachments.length > 0 ? { attachments } : {}),
    ...(clientTools.length > 0 ? { clientTools } : {}),
  }
}

/** What comes along without being shown. */
function Along({ again }: { again: Again }) {
  const counts = [
    [filesOf(again).length, 'files of the message come along.'],
    [again.input.messages.length - 1, 'messages before it come along.'],
  ] as const
  const told = counts.filter(([count]) => count > 0).map(([count, words]) => `${count} ${words}`)
  return told.length > 0 ? <p className="small mute">{told.join(' ')}</p> : null
}

interface SettingsProps {
  changes: Changes
  /** The agent whose settings hold where nothing is given; null when it is another one. */
  agent: Again['agent']
  onChange(changes: Changes): void
}

const asTheAgent = 'as the agent has it'

function Settings({ changes, agent, onChange }: SettingsProps) {
  const set = (name: keyof Changes) => (value: string) => onChange({ ...changes, [name]: value })
  const { model, temperature, maxSteps, instructions } = changes
  return (
    <details open={Object.values(changes).some((text) => text !== '') || undefined}>
      <summary>Settings of this run</summary>
      <div className="stack">
        <Field label="Model" value={model} placeholder={agent?.model ?? asTheAgent} onChange={set('model')} />
        <Field
          label="Temperature"
          type="number"
          value={temperature}
          placeholder={agent?.temperature?.toString() ?? asTheAgent}
          onChange={set('temperature')}
        />
        <Field
          label="Most steps"
          type="number"
          value={maxSteps}
          placeholder={agent?.maxSteps.toString() ?? asTheAgent}
          onChange={set('maxSteps')}
        />
        <label>
          <span>More instructions, behind those of the agent</span>
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
  const submit = () => start({ ...kept(again, prompt), ...given(changes), agentId })
  const own = agent?.id === agentId ? agent : null
  return (
    <FormDialog
      title="Run again"
      submit="Start the new run"
      busy="Starting …"
      isReady={agentId !== '' && prompt.trim() !== ''}
      form={form}
      textOf={wholeText}
      cancel="Not now"
      onClose={onClose}
      onSubmit={submit}
    >
      <p>
        A new run from the beginning: tools are called again. Change what you like; this run stays as it is.
      </p>
      <Choice
        label="Agent"
        value={agentId}
        options={
          agent && options.every(({ value }) => value !== agent.id)
            ? [{ value: agent.id, name: agent.name }, ...options]
            : options
        }
        onChange={setAgentId}
      />
      <label>
        <span>What to do</span>
        <textarea rows={6} value={prompt} onChange={(event) => setPrompt(event.target.value)} />
      </label>
      <Along again={again} />
      <Settings changes={changes} agent={own} onChange={setChanges} />
    </FormDialog>
  )
}
