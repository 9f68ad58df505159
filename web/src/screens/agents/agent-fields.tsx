/** The fields of an agent. */
import { useState } from 'react'
import type { Issue } from '../../api/outcome.ts'
import { usePages } from '../../api/pages.ts'
import { Check, issuesAt } from '../../parts/fields.tsx'
import { SchemaForm, type FormState } from '../../parts/schema-form.tsx'
import { draftNames, rulesSchema, type AgentDraft } from './agent-draft.ts'
import { toolChoicesQuery } from './documents.ts'
import { Picker, type Option } from './picker.tsx'
import { useAgentNames } from '../../parts/agent-field.tsx'
import { fieldsOf, type DraftProps } from '../../parts/draft-fields.tsx'
import { Faults } from '../../parts/fault.tsx'
import { t } from '../../texts/texts.tsx'

interface Props {
  draft: AgentDraft
  onChange(draft: AgentDraft): void
  issues: readonly Issue[]
}

type PartProps = DraftProps<AgentDraft>

const kindWords = {
  HttpTool: 'http',
  ClientTool: t('client'),
  McpTool: 'mcp',
  PlatformTool: t('platform'),
} as const

export function AgentFields({ draft, onChange, issues }: Props) {
  const set = (part: Partial<AgentDraft>) => onChange({ ...draft, ...part })
  const tools = usePages(toolChoicesQuery, { first: 100 }, ['TOOL_CREATED', 'TOOL_DELETED'])
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
    <div className="fields">
      <div className="field-pair">
        {text('name', { isRequired: true })}
        {text('model', { placeholder: t('the default of the installation'), hint: t('As provider/model.') })}
      </div>
      {long('instructions', { rows: 6 })}
      <Picker
        label={draftNames.toolIds}
        options={toolOptions}
        chosen={draft.toolIds}
        onChange={(toolIds) => set({ toolIds })}
        showMore={tools.hasMore ? tools.showMore : undefined}
        empty={t('This project has no tools yet.')}
      />
      <Faults of={issuesAt(issues, ['toolIds'])} />
      <Picker
        label={draftNames.agentIds}
        options={agents.nodes}
        chosen={draft.agentIds}
        onChange={(agentIds) => set({ agentIds })}
        showMore={agents.hasMore ? agents.showMore : undefined}
        empty={t('This project has no agents yet.')}
      />
      <Faults of={issuesAt(issues, ['agentIds'])} />
      <details>
        <summary>{t('What its model sees, and when')}</summary>
        <div className="fields agent-fields">
          <Visibility {...part} options={own} />
        </div>
      </details>
      <details>
        <summary>{t('Limits')}</summary>
        <div className="fields agent-fields">
          <Limits {...part} />
        </div>
      </details>
      <details>
        <summary>{t('Answer and MCP')}</summary>
        <div className="fields agent-fields">
          <Answer {...part} />
        </div>
      </details>
    </div>
  )
}

function Visibility({ draft, set, issues, options }: PartProps & { options: readonly Option[] }) {
  const { text, long, choice } = fieldsOf(draftNames, { draft, set, issues })
  const [rules, setRules] = useState<FormState>(() => ({
    value: draft.stepRules,
    fault: draft.stepRulesFault || null,
  }))
  return (
    <>
      <Check
        label={t('The model sees all of its tools and agents')}
        value={draft.activeToolIds === null}
        onChange={(all) => set({ activeToolIds: all ? null : [...draft.toolIds, ...draft.agentIds] })}
      />
      {draft.activeToolIds !== null && (
        <Picker
          label={draftNames.activeToolIds}
          options={options}
          chosen={draft.activeToolIds}
          onChange={(activeToolIds) => set({ activeToolIds })}
          empty={t('Choose its tools first.')}
        />
      )}
      <Faults of={issuesAt(issues, ['activeToolIds'])} />
      <div className="field-pair">
        {choice('toolChoice', [
          { value: 'AUTO', name: t('the model decides') },
          { value: 'REQUIRED', name: t('it must call a tool') },
          { value: 'NONE', name: t('no tools') },
          { value: 'TOOL', name: t('one tool in the first step') },
        ])}
        {draft.toolChoice === 'TOOL' &&
          text('toolChoiceTool', {
            at: 'toolChoice',
            hint: t('Its runtime name, as the surface shows it.'),
          })}
      </div>
      <div className="field-pair">
        {choice('toolLoading', [
          { value: 'ALL', name: t('all tools') },
          { value: 'SEARCH', name: t('a search, and the tools that it found') },
        ])}
        {draft.toolLoading === 'SEARCH' && text('toolLoadingThreshold', { placeholder: '20' })}
      </div>
      {long('stopConditions', {
        isMono: true,
        rows: 2,
        hint: t('Runtime names of tools, one a line; a call of one ends the run.'),
      })}
      <section className="step-rules" aria-label={draftNames.stepRules}>
        <span className="label">
          {t('{name}; the first that covers a step applies', { name: draftNames.stepRules })}
        </span>
        <SchemaForm
          schema={rulesSchema(options)}
          state={rules}
          label={draftNames.stepRules}
          onChange={(state) => {
            setRules(state)
            set({
              stepRules: (state.value ?? []) as AgentDraft['stepRules'],
              stepRulesFault: state.fault ?? '',
            })
          }}
        />
        <Faults of={issuesAt(issues, ['stepRules'])} />
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
        {text('tokensPerGeneration', { placeholder: t('no limit'), at: 'budget' })}
        {text('tokensPerDay', { placeholder: t('no limit'), at: 'budget' })}
        {text('maxOutputTokens', { placeholder: t("the provider's own") })}
        {text('maxContextMessages', { placeholder: t('what fits the model') })}
        {text('temperature', { placeholder: t("the provider's own") })}
        {text('clientTimeoutMs', { placeholder: '600000' })}
        {choice('onClientTimeout', [
          { value: 'CONTINUE', name: t('the model is told, the run goes on') },
          { value: 'EXPIRE', name: t('the run ends') },
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
        placeholder: t('none: the answer is text'),
        hint: t('JSON Schema; an answer that does not match is repaired once.'),
      })}
      {check('mcpEnabled')}
      <div className="field-pair">
        {choice('errorProfile', [
          { value: 'AUTO', name: t('by the client') },
          { value: 'SPEC', name: t('of the newest specification') },
          { value: 'SEED', name: t('-32601, -32602 and -32003') },
        ])}
      </div>
    </>
  )
}
