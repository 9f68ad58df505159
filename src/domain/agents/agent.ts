/** What an agent is: model, instructions, tools and the rules of its loop. Pure. */
import { z } from 'zod'
import { check, text, whole } from '../../core/check.ts'
import { invalid, type Issue } from '../../core/errors.ts'
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import { compileSchema } from '../../core/json-schema.ts'
import { gateInput, type GatePolicy } from '../tools/index.ts'

/** Exactly one member: a mode, or the runtime name of the tool that must be called. */
export type ToolChoiceRule = { mode: 'AUTO' | 'NONE' | 'REQUIRED' } | { tool: string }

/** What holds in some steps: `step`, or from `fromStep` to `toStep` (open ended without it). Steps count from 1. */
export interface StepRule {
  step: number | null
  fromStep: number | null
  toStep: number | null
  toolChoice: ToolChoiceRule | null
  /** Ids of tools and agents; null leaves the agent's own, an empty list means none. */
  activeToolIds: string[] | null
}

/** The loop ends after a step in which the tool of this runtime name was called with valid arguments. */
export interface StopCondition {
  hasToolCall: string
}

export interface Budget {
  /** Input and output tokens of one generation together, those of all runs under it included. */
  tokensPerGeneration: number | null
  /** Tokens of all generations of the agent within the last 24 hours. */
  tokensPerDay: number | null
}

/** Which error numbers an MCP client sees; AUTO goes by how it asks. */
export const errorProfiles = ['AUTO', 'SPEC', 'SEED'] as const

/** What the agent shows to MCP clients. */
export interface McpSettings {
  /** Whether it can be reached at /mcp/{agentId} at all. */
  enabled: boolean
  errorProfile: (typeof errorProfiles)[number]
}

export const mcpDefaults: McpSettings = { enabled: false, errorProfile: 'AUTO' }

/** The rules of one run. A generation keeps its own copy from the start, with the overrides of that run. */
export interface AgentSettings {
  instructions: string | null
  /** `provider/model`; null means the installation's default, and without one the rehearsal model. */
  model: string | null
  toolIds: string[]
  /** Agents it may ask, by a call each. Absent in agents of before runs within runs. */
  agentIds?: string[]
  /** Of both: null means all, an empty list none. */
  activeToolIds: string[] | null
  stepRules: StepRule[]
  toolChoice: ToolChoiceRule
  stopConditions: StopCondition[]
  /** Model steps over the whole generation, pauses and restarts included. */
  maxSteps: number
  /** One last answer without tools when a limit ends the loop. */
  finalAnswerOnLimit: boolean
  outputSchema: JsonObject | null
  temperature: number | null
  maxOutputTokens: number | null
  parallelToolCalls: boolean
  /** Messages of the history that the model sees at most, rounded to whole turns; null means what fits. */
  maxContextMessages: number | null
  budget: Budget
  /** Stops calls of all its tools, beside their own gates; it can only make them stricter. */
  gate?: GatePolicy | null
  /** The gates of the agents of the runs above: only in the settings of a run within a run. */
  inheritedGates?: GatePolicy[]
  /** Absent in agents of before the bridge. */
  mcp?: McpSettings
  /** How long a client tool's output is waited for, in milliseconds. */
  clientTimeoutMs: number
  /** What follows when it does not come: an error result for the model, or the end as EXPIRED. */
  onClientTimeout: 'CONTINUE' | 'EXPIRE'
  /** The whole generation's time, waiting included, in milliseconds. */
  timeoutMs: number
}

export interface Agent extends AgentSettings {
  id: string
  projectId: string
  name: string
  version: number
  createdAt: Date
  updatedAt: Date
}

const day = 24 * 60 * 60 * 1000
const toolName = text(64, 1)
/** What one step may offer a model; providers take no more. */
const toolIds = z.array(text(60, 1)).max(128)
/** What an agent may have in all: MCP clients see more of it than a model at a time. */
const ownToolIds = z.array(text(60, 1)).max(1000)
const agentIds = z.array(text(60, 1)).max(50)

const toolChoice = z
  .object({ mode: z.enum(['AUTO', 'NONE', 'REQUIRED']).nullish(), tool: toolName.nullish() })
  .transform((value, at): ToolChoiceRule => {
    if (value.mode && !value.tool) return { mode: value.mode }
    if (value.tool && !value.mode) return { tool: value.tool }
    at.addIssue({ code: 'custom', message: 'give exactly one of mode and tool' })
    return z.NEVER
  })

const stepNumber = whole(1, 1000)
const stepRule = z
  .object({
    step: stepNumber.nullish(),
    fromStep: stepNumber.nullish(),
    toStep: stepNumber.nullish(),
    toolChoice: toolChoice.nullish(),
    activeToolIds: toolIds.nullish(),
  })
  .transform((rule, at): StepRule => {
    const { step = null, fromStep = null, toStep = null } = rule
    if ((step === null) === (fromStep === null && toStep === null))
      at.addIssue({ code: 'custom', message: 'give either step, or fromStep and toStep' })
    if (fromStep !== null && toStep !== null && toStep < fromStep)
      at.addIssue({ code: 'custom', message: 'toStep must not be before fromStep', path: ['toStep'] })
    return {
      step,
      fromStep,
      toStep,
      toolChoice: rule.toolChoice ?? null,
      activeToolIds: rule.activeToolIds ?? null,
    }
  })

const schema = z.custom<JsonObject>((value) => isJsonObject(value), 'must be a JSON Schema object')

/** Every setting with its default; the same shape serves agents and the overrides of a run (see overrides.ts). */
const settingShapes = {
  instructions: text(100_000).nullish(),
  model: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}\/.{1,200}$/, 'must be "provider/model"')
    .nullish(),
  activeToolIds: toolIds.nullish(),
  stepRules: z.array(stepRule).max(50).nullish(),
  toolChoice: toolChoice.nullish(),
  stopConditions: z
    .array(z.object({ hasToolCall: toolName }))
    .max(50)
    .nullish(),
  maxSteps: whole(1, 100).nullish(),
  finalAnswerOnLimit: z.boolean().nullish(),
  outputSchema: schema.nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  maxOutputTokens: whole(1, 1_000_000).nullish(),
  parallelToolCalls: z.boolean().nullish(),
  maxContextMessages: whole(1, 10_000).nullish(),
  budget: z
    .object({ tokensPerGeneration: whole(1, 1e9).nullish(), tokensPerDay: whole(1, 1e12).nullish() })
    .nullish(),
  clientTimeoutMs: whole(1000, 7 * day).nullish(),
  onClientTimeout: z.enum(['CONTINUE', 'EXPIRE']).nullish(),
  timeoutMs: whole(1000, 30 * day).nullish(),
}

const overrides = z.object(settingShapes)
const mcp = z.object({ enabled: z.boolean().nullish(), errorProfile: z.enum(errorProfiles).nullish() })
// A run may not override these: nobody widens an agent's reach or opens its gate in passing.
const settings = z.object({
  ...settingShapes,
  toolIds: ownToolIds.nullish(),
  agentIds: agentIds.nullish(),
  gate: gateInput.nullish(),
  mcp: mcp.nullish(),
})

export type SettingsInput = z.input<typeof settings>
export type SettingsOverrides = z.input<typeof overrides>

/** The settings that an input describes, with defaults; INVALID with every fault that shows without looking anything up. */
export function checkSettings(input: unknown): AgentSettings {
  const given = check(settings, input)
  const made: AgentSettings = {
    instructions: given.instructions ?? null,
    model: given.model ?? null,
    toolIds: [...new Set(given.toolIds ?? [])],
    agentIds: [...new Set(given.agentIds ?? [])],
    activeToolIds: given.activeToolIds ?? null,
    stepRules: given.stepRules ?? [],
    toolChoice: given.toolChoice ?? { mode: 'AUTO' },
    stopConditions: given.stopConditions ?? [],
    maxSteps: given.maxSteps ?? 20,
    finalAnswerOnLimit: given.finalAnswerOnLimit ?? true,
    outputSchema: given.outputSchema ?? null,
    temperature: given.temperature ?? null,
    maxOutputTokens: given.maxOutputTokens ?? null,
    parallelToolCalls: given.parallelToolCalls ?? true,
    maxContextMessages: given.maxContextMessages ?? null,
    budget: {
      tokensPerGeneration: given.budget?.tokensPerGeneration ?? null,
      tokensPerDay: given.budget?.tokensPerDay ?? null,
    },
    gate: given.gate ?? null,
    mcp: {
      enabled: given.mcp?.enabled ?? mcpDefaults.enabled,
      errorProfile: given.mcp?.errorProfile ?? mcpDefaults.errorProfile,
    },
    clientTimeoutMs: given.clientTimeoutMs ?? 10 * 60 * 1000,
    onClientTimeout: given.onClientTimeout ?? 'CONTINUE',
    timeoutMs: given.timeoutMs ?? day,
  }
  const issues = faultsOf(made)
  if (issues.length > 0) throw invalid(issues)
  return made
}

/** What an input gives of the settings that a run may override. `null` counts as not given. */
export function givenOverrides(input: SettingsOverrides): Partial<AgentSettings> {
  const set = Object.entries(input).filter(
    ([key, value]) => key in settingShapes && value !== null && value !== undefined,
  )
  return Object.fromEntries(set) as Partial<AgentSettings>
}

/** Everything that `activeToolIds` may name: the agent's tools and the agents it may ask. */
export function boundIds({ toolIds: tools, agentIds: agents = [] }: AgentSettings): string[] {
  return [...tools, ...agents]
}

/** The gates that hold for all calls of a run beside those of the tools: its agent's, and those of the runs above. */
export function gatesOf({ gate, inheritedGates = [] }: AgentSettings): GatePolicy[] {
  return gate ? [gate, ...inheritedGates] : inheritedGates
}

function faultsOf(made: AgentSettings): Issue[] {
  const issues: Issue[] = []
  const bound = new Set(boundIds(made))
  const inToolIds = (ids: string[] | null, path: string[]) =>
    ids?.forEach((id, i) => {
      if (!bound.has(id))
        issues.push({ path: [...path, String(i)], message: 'is not one of toolIds or agentIds' })
    })
  inToolIds(made.activeToolIds, ['input', 'activeToolIds'])
  made.stepRules.forEach((rule, i) =>
    inToolIds(rule.activeToolIds, ['input', 'stepRules', String(i), 'activeToolIds']),
  )
  if (made.outputSchema) {
    const compiled = compileSchema(made.outputSchema, ['input', 'outputSchema'])
    if (!compiled.ok) issues.push(compiled.issue)
  }
  if ('mode' in made.toolChoice && made.toolChoice.mode === 'REQUIRED' && made.stopConditions.length === 0)
    issues.push({
      path: ['input', 'toolChoice', 'mode'],
      message: 'REQUIRED in every step never ends by itself: add a stop condition, or use a step rule',
    })
  return issues
}
