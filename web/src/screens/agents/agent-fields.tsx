/** The fields of an agent. */
import { useState } from 'react'
import type { Issue } from '../../api/outcome.ts'
import { usePages } from '../../api/pages.ts'
import { Check, issuesAt } from '../../parts/long-fields.tsx'
import { SchemaForm, type FormState } from '../../parts/schema-form.tsx'
import { draftNames, rulesSchema, type AgentDraft } from './agent-draft.ts'
import { toolChoicesQuery } from './documents.ts'
import { Picker, type Option } from './picker.tsx'
import { useAgentNames } from '../../parts/agent-field.tsx'
import { fieldsOf, type DraftProps } from '../../parts/draft-fields.tsx'

interface Props {
  draft: AgentDraft
  onChange(draft: AgentDraft): void
  issues: readonly Issue[]
}

type PartProps = DraftProps<AgentDraft>

const kindWords = {
  HttpTool: 'http',
  ClientTool: 'client',
  McpTool: 'mcp',
  PlatformTool: 'platform',
} as const

export function AgentFields({ draft, onChange, issues }: Props) {
  const set = (part: Partial<AgentDraft>) => onChange({ ...draft, ...part })
  const tools = usePages(toolChoicesQuery, {}, (data) => data.tools, {
    eventTypes: ['TOOL_CREATED', 'TOOL_DELETED'],
  })
  const agents = useAgentNames()
  const toolOptions: Option[] = tools.nodes.map((tool) => ({
    id: tool.id,
    name: tool.name,
    about: [kindWords[tool.__typename], tool.title].filter(Boolean).join(', '),
  }))
  const own = [...toolOptions, ...agents.nodes].filter(
    ({ id }) => draft.toolIds.includes(id) || draft.agentIds.includes(id),
  )
  const part = { draft, set, issues }
  const { text, long } = fieldsOf(draftNames, part)
  return (
    <div className="agent-fields">
      <div className="field-pair">
        {text('name', { isRequired: true })}
        {text('model', { placeholder: 'the default of the installation', hint: 'As provider/model.' })}
      </div>
      {long('instructions', { rows: 6 })}
      <Picker
        label={draftNames.toolIds}
        options={toolOptions}
        chosen={draft.toolIds}
        onChange={(toolIds) => set({ toolIds })}
        showMore={tools.hasMore ? tools.showMore : undefined}
        empty="This project has no tools yet."
      />
      <Told issues={issuesAt(issues, ['toolIds'])} />
      <Picker
        label={draftNames.agentIds}
        options={agents.nodes}
        chosen={draft.agentIds}
        onChange={(agentIds) => set({ agentIds })}
        showMore={agents.hasMore ? agents.showMore : undefined}
        empty="This project has no agents yet."
      />
      <Told issues={issuesAt(issues, ['agentIds'])} />
      <details>
        <summary>What its model sees, and when</summary>
        <div className="agent-fields">
          <Visibility {...part} options={own} />
        </div>
      </details>
      <details>
        <summary>Limits</summary>
        <div className="agent-fields">
          <Limits {...part} />
        </div>
      </details>
      <details>
        <summary>Answer and MCP</summary>
        <div className="agent-fields">
          <Answer {...part} />
        </div>
      </details>
    </div>
  )
}

function Told({ issues }: { issues: readonly Issue[] }) {
  if (issues.length === 0) return null
  return (
    <p className="tone-bad small" role="alert">
      {issues.map(({ message }) => message).join('; ')}
    </p>
  )
}

function Visibility({ draft, set, issues, options }: PartProps & { options: readonly Option[] }) {
  const { text, long, choice } = fieldsOf(draftNames, { draft, set, issues })
  const [rules, setRules] = useState<FormState>({ value: draft.stepRules, fault: null })
  return (
    <>
      <Check
        label="The model sees all of its tools and agents"
        value={draft.activeToolIds === null}
        onChange={(all) => set({ activeToolIds: all ? null : [...draft.toolIds, ...draft.agentIds] })}
      />
      {draft.activeToolIds !== null && (
        <Picker
          label={draftNames.activeToolIds}
          options={options}
          chosen={draft.activeToolIds}
          onChange={(activeToolIds) => set({ activeToolIds })}
          empty="Choose its tools first."
        />
      )}
      <Told issues={issuesAt(issues, ['activeToolIds'])} />
      <div className="field-pair">
        {choice('toolChoice', [
          { value: 'AUTO', name: 'the model decides' },
          { value: 'REQUIRED', name: 'it must call a tool' },
          { value: 'NONE', name: 'no tools' },
          { value: 'TOOL', name: 'one tool in the first step' },
        ])}
        {draft.toolChoice === 'TOOL' &&
          text('toolChoiceTool', { name: 'toolChoice', hint: 'Its runtime name, as the surface shows it.' })}
      </div>
      {long('stopConditions', {
        isMono: true,
        rows: 2,
        hint: 'Runtime names of tools, one a line; a call of one ends the run.',
      })}
      <section className="step-rules" aria-label={draftNames.stepRules}>
        <span className="label">{draftNames.stepRules}; the first that covers a step applies</span>
        <SchemaForm
          schema={rulesSchema(options)}
          state={rules}
          label={draftNames.stepRules}
          onChange={(state) => {
            setRules(state)
            if (state.fault === null) set({ stepRules: (state.value ?? []) as AgentDraft['stepRules'] })
          }}
        />
        <Told issues={issuesAt(issues, ['stepRules'])} />
      </section>
    </>
  )
}

function Limits(part: PartProps) {
  const { text, check, choice } = fieldsOf(draftNames, part)
  return (
    <>
      <div className="field-pair">
        {text('maxSteps', { placeholder: '20' })}
        {text('timeoutMs', { placeholder: '86400000' })}
        {text('tokensPerGeneration', { placeholder: 'no limit', name: 'budget' })}
        {text('tokensPerDay', { placeholder: 'no limit', name: 'budget' })}
        {text('maxOutputTokens', { placeholder: "the provider's own" })}
        {text('maxContextMessages', { placeholder: 'what fits the model' })}
        {text('temperature', { placeholder: "the provider's own" })}
        {text('clientTimeoutMs', { placeholder: '600000' })}
        {choice('onClientTimeout', [
          { value: 'CONTINUE', name: 'the model is told, the run goes on' },
          { value: 'EXPIRE', name: 'the run ends' },
        ])}
      </div>
      {check('finalAnswerOnLimit')}
      {check('parallelToolCalls')}
    </>
  )
}

function Answer(part: PartProps) {
  const { long, check, choice } = fieldsOf(draftNames, part)
  return (
    <>
      {long('outputSchema', {
        isMono: true,
        rows: 5,
        placeholder: 'none: the answer is text',
        hint: 'JSON Schema; an answer that does not match is repaired once.',
      })}
      {check('mcpEnabled')}
      <div className="field-pair">
        {choice('errorProfile', [
          { value: 'AUTO', name: 'by the client' },
          { value: 'SPEC', name: 'of the newest specification' },
          { value: 'SEED', name: '-32601, -32602 and -32003' },
        ])}
      </div>
    </>
  )
}
