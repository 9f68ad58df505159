/** An agent while it is edited: fields as texts, and the inputs of createAgent and updateAgent that they mean. Pure. */
import { writeJson } from '../../../../src/core/exact-json.ts'
import type { Issue } from '../../api/outcome.ts'
import { parseExactly } from '../../parts/exact-json.ts'
import { changedNames } from '../../parts/rebase.ts'
import type { AgentDetail, CreateInput, UpdateInput } from './documents.ts'
import type { FieldsInput } from '../../parts/told-issues.ts'
import { t } from '../../texts/texts.tsx'

type Rule = NonNullable<CreateInput['stepRules']>[number]
export const choices = ['AUTO', 'REQUIRED', 'NONE', 'TOOL'] as const

export interface AgentDraft {
  name: string
  model: string
  instructions: string
  toolIds: readonly string[]
  agentIds: readonly string[]
  /** Null: all of its tools and agents. */
  activeToolIds: readonly string[] | null
  toolChoice: (typeof choices)[number]
  toolChoiceTool: string
  toolLoading: 'ALL' | 'SEARCH'
  toolLoadingThreshold: string
  stepRules: readonly Rule[]
  /** Why the text of the rules is none; empty when it is. */
  stepRulesFault: string
  stopConditions: string
  maxSteps: string
  finalAnswerOnLimit: boolean
  parallelToolCalls: boolean
  temperature: string
  maxOutputTokens: string
  maxContextMessages: string
  tokensPerGeneration: string
  tokensPerDay: string
  timeoutMs: string
  clientTimeoutMs: string
  onClientTimeout: 'CONTINUE' | 'EXPIRE'
  outputSchema: string
  mcpEnabled: boolean
  errorProfile: 'AUTO' | 'SEED' | 'SPEC'
}

export const newDraft: AgentDraft = {
  name: '',
  model: '',
  instructions: '',
  toolIds: [],
  agentIds: [],
  activeToolIds: null,
  toolChoice: 'AUTO',
  toolChoiceTool: '',
  toolLoading: 'ALL',
  toolLoadingThreshold: '20',
  stepRules: [],
  stepRulesFault: '',
  stopConditions: '',
  maxSteps: '20',
  finalAnswerOnLimit: true,
  parallelToolCalls: true,
  temperature: '',
  maxOutputTokens: '',
  maxContextMessages: '',
  tokensPerGeneration: '',
  tokensPerDay: '',
  timeoutMs: '86400000',
  clientTimeoutMs: '600000',
  onClientTimeout: 'CONTINUE',
  outputSchema: '',
  mcpEnabled: false,
  errorProfile: 'AUTO',
}

/** How the fields are called on screen. */
export const draftNames: Record<keyof AgentDraft, string> = {
  name: t('Name'),
  model: t('Model'),
  instructions: t('Instructions'),
  toolIds: t('Tools'),
  agentIds: t('Agents it may call'),
  activeToolIds: t('What its model sees'),
  toolChoice: t('Tool choice'),
  toolChoiceTool: t('Tool that it must call'),
  toolLoading: t('Tools in a request'),
  toolLoadingThreshold: t('Search with more tools than'),
  stepRules: t('Rules by step'),
  stepRulesFault: t('Rules by step'),
  stopConditions: t('Stops after a call of'),
  maxSteps: t('Maximum steps'),
  finalAnswerOnLimit: t('One final answer without tools when the steps run out'),
  parallelToolCalls: t('Run the calls of a step in parallel'),
  temperature: t('Temperature'),
  maxOutputTokens: t('Maximum output tokens of one response'),
  maxContextMessages: t('Maximum history messages'),
  tokensPerGeneration: t('Maximum tokens of one run'),
  tokensPerDay: t('Maximum tokens in 24 hours'),
  timeoutMs: t('Time limit of a run, in milliseconds'),
  clientTimeoutMs: t('Client timeout, in milliseconds'),
  onClientTimeout: t('When the client is too late'),
  outputSchema: t('Schema of the answer'),
  mcpEnabled: t('Serve it to MCP clients'),
  errorProfile: t('Error codes for MCP clients'),
}

const textOf = (value: number | null): string => (value === null ? '' : String(value))

/** The draft of an agent as it is. */
export function draftOfAgent(agent: AgentDetail): AgentDraft {
  const { toolChoice, budget, mcp } = agent
  return {
    name: agent.name,
    model: agent.model ?? '',
    instructions: agent.instructions ?? '',
    toolIds: agent.toolIds,
    agentIds: agent.agentIds,
    activeToolIds: agent.activeToolIds,
    toolChoice: toolChoice.mode ?? 'TOOL',
    toolChoiceTool: toolChoice.tool ?? '',
    toolLoading: agent.toolLoading,
    toolLoadingThreshold: String(agent.toolLoadingThreshold),
    stepRules: agent.stepRules.map(ruleOf),
    stepRulesFault: '',
    stopConditions: agent.stopConditions.map(({ hasToolCall }) => hasToolCall).join('\n'),
    maxSteps: String(agent.maxSteps),
    finalAnswerOnLimit: agent.finalAnswerOnLimit,
    parallelToolCalls: agent.parallelToolCalls,
    temperature: textOf(agent.temperature),
    maxOutputTokens: textOf(agent.maxOutputTokens),
    maxContextMessages: textOf(agent.maxContextMessages),
    tokensPerGeneration: textOf(budget.tokensPerGeneration),
    tokensPerDay: textOf(budget.tokensPerDay),
    timeoutMs: String(agent.timeoutMs),
    clientTimeoutMs: String(agent.clientTimeoutMs),
    onClientTimeout: agent.onClientTimeout,
    outputSchema: agent.outputSchema ? writeJson(agent.outputSchema, 2) : '',
    mcpEnabled: mcp.enabled,
    errorProfile: mcp.errorProfile,
  }
}

function ruleOf({
  step,
  fromStep,
  toStep,
  activeToolIds,
  toolChoice,
}: AgentDetail['stepRules'][number]): Rule {
  return {
    ...(step === null ? {} : { step }),
    ...(fromStep === null ? {} : { fromStep }),
    ...(toStep === null ? {} : { toStep }),
    ...(toolChoice
      ? { toolChoice: toolChoice.tool ? { tool: toolChoice.tool } : { mode: toolChoice.mode! } }
      : {}),
    ...(activeToolIds ? { activeToolIds: [...activeToolIds] } : {}),
  }
}

/** What each member of the input is made of. */
const madeOf: Record<string, readonly (keyof AgentDraft)[]> = {
  toolChoice: ['toolChoice', 'toolChoiceTool'],
  budget: ['tokensPerGeneration', 'tokensPerDay'],
  mcp: ['mcpEnabled', 'errorProfile'],
}

/** The input of createAgent. */
export function createInputOf(draft: AgentDraft): FieldsInput<Omit<CreateInput, 'projectId'>> {
  const issues: Issue[] = []
  const all = inputOf(draft, issues)
  if (issues.length > 0) return { issues }
  const given = Object.entries(all).filter(([, value]) => value !== null)
  return { input: Object.fromEntries(given) as unknown as CreateInput }
}

/** The input of updateAgent with what was changed, and nothing else; null when nothing was. */
export function updateInputOf(
  agent: AgentDetail,
  base: AgentDraft,
  draft: AgentDraft,
): FieldsInput<UpdateInput> | null {
  const changed = new Set<string>(changedNames(base, draft))
  if (changed.size === 0) return null
  const issues: Issue[] = []
  const all = inputOf(draft, issues)
  if (issues.length > 0) return { issues }
  const own = Object.entries(all).filter(([name]) => (madeOf[name] ?? [name]).some((one) => changed.has(one)))
  return {
    input: { id: agent.id, expectedVersion: agent.version, ...Object.fromEntries(own) } as UpdateInput,
  }
}

function inputOf(draft: AgentDraft, issues: Issue[]): Record<string, unknown> {
  const number = (name: keyof AgentDraft) => numberFrom(draft[name] as string, name, issues)
  if (draft.stepRulesFault !== '')
    issues.push({ path: ['input', 'stepRules', 'stepRulesFault'], message: draft.stepRulesFault })
  const stops = draft.stopConditions
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  return {
    name: draft.name.trim(),
    model: draft.model.trim() || null,
    instructions: draft.instructions.trim() === '' ? null : draft.instructions,
    toolIds: draft.toolIds,
    agentIds: draft.agentIds,
    activeToolIds: draft.activeToolIds,
    toolChoice:
      draft.toolChoice === 'TOOL' ? { tool: draft.toolChoiceTool.trim() } : { mode: draft.toolChoice },
    toolLoading: draft.toolLoading,
    toolLoadingThreshold: number('toolLoadingThreshold'),
    stepRules: draft.stepRules,
    stopConditions: stops.map((hasToolCall) => ({ hasToolCall })),
    maxSteps: number('maxSteps'),
    finalAnswerOnLimit: draft.finalAnswerOnLimit,
    parallelToolCalls: draft.parallelToolCalls,
    temperature: number('temperature'),
    maxOutputTokens: number('maxOutputTokens'),
    maxContextMessages: number('maxContextMessages'),
    budget: { tokensPerGeneration: number('tokensPerGeneration'), tokensPerDay: number('tokensPerDay') },
    timeoutMs: number('timeoutMs'),
    clientTimeoutMs: number('clientTimeoutMs'),
    onClientTimeout: draft.onClientTimeout,
    outputSchema: schemaFrom(draft.outputSchema, issues),
    mcp: { enabled: draft.mcpEnabled, errorProfile: draft.errorProfile },
  }
}

function numberFrom(text: string, name: string, issues: Issue[]): number | null {
  if (text.trim() === '') return null
  const value = Number(text)
  if (!Number.isFinite(value)) issues.push({ path: ['input', name], message: t('must be a number') })
  return value
}

function schemaFrom(text: string, issues: Issue[]): unknown {
  if (text.trim() === '') return null
  try {
    return parseExactly(text)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    issues.push({ path: ['input', 'outputSchema'], message: t('is not JSON: {message}', { message }) })
    return null
  }
}

/** The schema of a form for rules by step: it offers the tools and agents that the agent has. */
export function rulesSchema(options: readonly { id: string; name: string }[]): Record<string, unknown> {
  const ids = options.map(({ id, name }) => ({ const: id, title: name }))
  const step = { type: 'integer', minimum: 1, maximum: 100 }
  return {
    type: 'array',
    maxItems: 50,
    items: {
      type: 'object',
      properties: {
        step: { ...step, description: t('One step, from 1; or a range:') },
        fromStep: step,
        toStep: step,
        toolChoice: {
          oneOf: [
            {
              title: t('a mode'),
              type: 'object',
              properties: { mode: { enum: ['AUTO', 'REQUIRED', 'NONE'] } },
              required: ['mode'],
              additionalProperties: false,
            },
            {
              title: t('one tool'),
              type: 'object',
              properties: { tool: { type: 'string', maxLength: 64, description: t('Its runtime name.') } },
              required: ['tool'],
              additionalProperties: false,
            },
          ],
        },
        activeToolIds: {
          type: 'array',
          description: t('What the model sees in these steps; an empty list: nothing.'),
          items: ids.length > 1 ? { oneOf: ids } : { enum: ids.map((one) => one.const) },
        },
      },
      additionalProperties: false,
    },
  }
}
