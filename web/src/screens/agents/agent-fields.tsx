/** The fields of an agent. */
import { useState } from 'react'
import type { Issue } from '../../api/outcome.ts'
import { usePages } from '../../api/pages.ts'
import { Choice, Field } from '../../parts/fields.tsx'
import { Check, issuesAt, LongField } from '../../parts/long-fields.tsx'
import { SchemaForm, type FormState } from '../../parts/schema-form.tsx'
import { draftNames, rulesSchema, type AgentDraft } from './agent-draft.ts'
import { agentChoicesQuery, toolChoicesQuery } from './documents.ts'
import { Picker, type Option } from './picker.tsx'

interface Props {
  draft: AgentDraft
  onChange(draft: AgentDraft): void
  issues: readonly Issue[]
}

type Set = (part: Partial<AgentDraft>) => void
interface PartProps {
  draft: AgentDraft
  set: Set
  issues: readonly Issue[]
}

type NumberName = {
  [Name in keyof AgentDraft]: AgentDraft[Name] extends string ? Name : never
}[keyof AgentDraft]

const kindWords = {
  HttpTool: 'http',
  ClientTool: 'client',
  McpTool: 'mcp',
  PlatformTool: 'platform',
} as const

export function AgentFields({ draft, onChange, issues }: Props) {
  const set = (part: Partial<AgentDraft>) => onChange({ ...draft, ...part })
  const tools = usePages(toolChoicesQuery, {}, (data) => data.tools, {
    hears: ['TOOL_CREATED', 'TOOL_DELETED'],
  })
  const agents = usePages(agentChoicesQuery, {}, (data) => data.agents, {
    hears: ['AGENT_CREATED', 'AGENT_DELETED'],
  })
  const toolOptions: Option[] = tools.nodes.map((tool) => ({
    id: tool.id,
    name: tool.name,
    about: [kindWords[tool.__typename], tool.title].filter(Boolean).join(', '),
  }))
  const own = [...toolOptions, ...agents.nodes].filter(
    ({ id }) => draft.toolIds.includes(id) || draft.agentIds.includes(id),
  )
  const part = { draft, set, issues }
  return (
    <div className="agent-fields">
      <div className="field-pair">
        <Field
          label={draftNames.name}
          value={draft.name}
          name="name"
          isRequired
          issues={issues}
          onChange={(name) => set({ name })}
        />
        <Field
          label={draftNames.model}
          value={draft.model}
          name="model"
          issues={issues}
          placeholder="the default of the installation"
          hint="As provider/model."
          onChange={(model) => set({ model })}
        />
      </div>
      <LongField
        label={draftNames.instructions}
        value={draft.instructions}
        path={['instructions']}
        issues={issues}
        rows={6}
        onChange={(instructions) => set({ instructions })}
      />
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
        <Choice
          label={draftNames.toolChoice}
          value={draft.toolChoice}
          options={[
            { value: 'AUTO', name: 'the model decides' },
            { value: 'REQUIRED', name: 'it must call a tool' },
            { value: 'NONE', name: 'no tools' },
            { value: 'TOOL', name: 'one tool in the first step' },
          ]}
          onChange={(toolChoice) => set({ toolChoice })}
        />
        {draft.toolChoice === 'TOOL' && (
          <Field
            label={draftNames.toolChoiceTool}
            value={draft.toolChoiceTool}
            name="toolChoice"
            issues={issues}
            hint="Its runtime name, as the surface shows it."
            onChange={(toolChoiceTool) => set({ toolChoiceTool })}
          />
        )}
      </div>
      <LongField
        label={draftNames.stopConditions}
        value={draft.stopConditions}
        path={['stopConditions']}
        issues={issues}
        isMono
        rows={2}
        hint="Runtime names of tools, one a line; a call of one ends the run."
        onChange={(stopConditions) => set({ stopConditions })}
      />
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

function Limits({ draft, set, issues }: PartProps) {
  const number = (name: NumberName, placeholder?: string, at: string = name) => (
    <Field
      label={draftNames[name]}
      value={draft[name]}
      name={at}
      issues={issues}
      {...(placeholder ? { placeholder } : {})}
      onChange={(value) => set({ [name]: value })}
    />
  )
  return (
    <>
      <div className="field-pair">
        {number('maxSteps', '20')}
        {number('timeoutMs', '86400000')}
        {number('tokensPerGeneration', 'no limit', 'budget')}
        {number('tokensPerDay', 'no limit', 'budget')}
        {number('maxOutputTokens', "the provider's own")}
        {number('maxContextMessages', 'what fits the model')}
        {number('temperature', "the provider's own")}
        {number('clientTimeoutMs', '600000')}
        <Choice
          label={draftNames.onClientTimeout}
          value={draft.onClientTimeout}
          options={[
            { value: 'CONTINUE', name: 'the model is told, the run goes on' },
            { value: 'EXPIRE', name: 'the run ends' },
          ]}
          onChange={(onClientTimeout) => set({ onClientTimeout })}
        />
      </div>
      <Check
        label={draftNames.finalAnswerOnLimit}
        value={draft.finalAnswerOnLimit}
        onChange={(finalAnswerOnLimit) => set({ finalAnswerOnLimit })}
      />
      <Check
        label={draftNames.parallelToolCalls}
        value={draft.parallelToolCalls}
        onChange={(parallelToolCalls) => set({ parallelToolCalls })}
      />
    </>
  )
}

function Answer({ draft, set, issues }: PartProps) {
  return (
    <>
      <LongField
        label={draftNames.outputSchema}
        value={draft.outputSchema}
        path={['outputSchema']}
        issues={issues}
        isMono
        rows={5}
        placeholder="none: the answer is text"
        hint="JSON Schema; an answer that does not match is repaired once."
        onChange={(outputSchema) => set({ outputSchema })}
      />
      <Check
        label={draftNames.mcpEnabled}
        value={draft.mcpEnabled}
        onChange={(mcpEnabled) => set({ mcpEnabled })}
      />
      <div className="field-pair">
        <Choice
          label={draftNames.errorProfile}
          value={draft.errorProfile}
          options={[
            { value: 'AUTO', name: 'by the client' },
            { value: 'SPEC', name: 'of the newest specification' },
            { value: 'SEED', name: '-32601, -32602 and -32003' },
          ]}
          onChange={(errorProfile) => set({ errorProfile })}
        />
      </div>
    </>
  )
}
