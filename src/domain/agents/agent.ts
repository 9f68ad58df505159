/** The settings of an agent: model, instructions, tools and the rules of its loop. Pure. */
import { z } from 'zod'
import { check, text, whole } from '../../core/check.ts'
import { invalid, type Issue } from '../../core/errors.ts'
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import { compileSchema } from '../../core/json-schema.ts'
import { gateFaults, gateInput, type GatePolicy } from '../gates/index.ts'
import { titleFaults } from '../tools/index.ts'

/** A mode, or the runtime name of the tool that must be called. */
export type ToolChoiceRule = { mode: 'AUTO' | 'NONE' | 'REQUIRED' } | { tool: string }

/**
 * Settings for some steps: `step`, or `fromStep` to `toStep` (without an end when `toStep` is null). Steps count from
 * 1.
 */
export interface StepRule {
  step: number | null
  fromStep: number | null
  toStep: number | null
  toolChoice: ToolChoiceRule | null
  /** Ids of tools and agents; null keeps the agent's own list, an empty list means none. */
  activeToolIds: string[] | null
}

/** Ends the loop after a step that called the tool with this runtime name with valid arguments. */
export interface StopCondition {
  hasToolCall: string
}

export interface Budget {
  /** Input and output tokens of one generation and its child runs together. */
  tokensPerGeneration: number | null
  /** Tokens of all generations of the agent in the last 24 hours. */
  tokensPerDay: number | null
}

/** Which JSON-RPC error codes an MCP client gets; AUTO decides by the client's request. */
export const errorProfiles = ['AUTO', 'SPEC', 'SEED'] as const

/** A client tool that belongs to one run. */
export interface RunTool {
  id: string
  name: string
  description: string | null
  inputSchema: JsonObject
}

/** How the agent is served to MCP clients. */
export interface McpSettings {
  /** Whether /mcp/{agentId} serves it. */
  enabled: boolean
  errorProfile: (typeof errorProfiles)[number]
}

export const mcpDefaults: McpSettings = { enabled: false, errorProfile: 'AUTO' }

/** The settings of a run. A generation keeps its own copy from its start, with the overrides of that run. */
export interface AgentSettings {
  instructions: string | null
  /** `provider/model`; null: the installation's default, or without one the rehearsal model. */
  model: string | null
  toolIds: string[]
  /** Ids of agents that it may call. Absent in agents older than child runs. */
  agentIds?: string[]
  /** Ids of tools and agents; null means all, an empty list none. */
  activeToolIds: string[] | null
  stepRules: StepRule[]
  toolChoice: ToolChoiceRule
  stopConditions: StopCondition[]
  /** Model steps of the whole generation, across pauses and restarts. */
  maxSteps: number
  /** Whether a last answer without tools is requested when a limit ends the loop. */
  finalAnswerOnLimit: boolean
  outputSchema: JsonObject | null
  temperature: number | null
  maxOutputTokens: number | null
  parallelToolCalls: boolean
  /** The most messages of the history that the model gets, rounded to whole turns; null: as many as fit. */
  maxContextMessages: number | null
  budget: Budget
  /** Stops calls of all its tools, in addition to their own gates: it can only make them stricter. */
  gate?: GatePolicy | null
  /** The gates of the parent runs' agents; set only in the settings of a child run. */
  inheritedGates?: GatePolicy[]
  /** The client tools that a run was started with; set only in the settings of that run. Its child runs have none. */
  clientTools?: RunTool[]
  /** Absent in agents older than the bridge. */
  mcp?: McpSettings
  /** Time limit for a client tool's output, in milliseconds. */
  clientTimeoutMs: number
  /** What happens when the output misses clientTimeoutMs: an error result for the model, or the run ends as EXPIRED. */
  onClientTimeout: 'CONTINUE' | 'EXPIRE'
  /** Time limit of the whole generation, waiting included, in milliseconds. */
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
/** The most tools of one step; providers accept no more. */
const toolIds = z.array(text(60, 1)).max(128)
/** The most tools of an agent: an MCP client lists them all, a model gets those of one step. */
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

/** Every setting; the same shape serves agents and the overrides of a run (see overrides.ts). */
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
// A run cannot override these: they would extend the agent's tools or open its gate.
const settings = z.object({
  ...settingShapes,
  toolIds: ownToolIds.nullish(),
  agentIds: agentIds.nullish(),
  gate: gateInput.nullish(),
  mcp: mcp.nullish(),
})

export type SettingsInput = z.input<typeof settings>
export type SettingsOverrides = z.input<typeof overrides>

/**
 * Returns the settings that an input describes, with defaults. Throws INVALID with every fault that needs no I/O to
 * find.
 */
export function checkSettings(input: unknown, projectId: string): AgentSettings {
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
  const issues = faultsOf(made, projectId)
  if (issues.length > 0) throw invalid(issues)
  return made
}

/** The settings that an input overrides. `null` counts as absent. */
export function givenOverrides(input: SettingsOverrides): Partial<AgentSettings> {
  const set = Object.entries(input).filter(
    ([key, value]) => key in settingShapes && value !== null && value !== undefined,
  )
  return Object.fromEntries(set) as Partial<AgentSettings>
}

/** The ids that `activeToolIds` may contain: the agent's tools and the agents that it may call. */
export function boundIds({ toolIds: tools, agentIds: agents = [] }: AgentSettings): string[] {
  return [...tools, ...agents]
}

/**
 * The gates for all calls of a run, in addition to those of the tools: its agent's, and those of the parent runs'
 * agents.
 */
export function gatesOf({ gate, inheritedGates = [] }: AgentSettings): GatePolicy[] {
  return gate ? [gate, ...inheritedGates] : inheritedGates
}

function faultsOf(made: AgentSettings, projectId: string): Issue[] {
  const root = ['input', 'gate']
  const issues: Issue[] = [
    ...gateFaults(made.gate ?? null, projectId, root),
    ...titleFaults(made.gate, null, root),
  ]
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
    const compiled = compileSchema(made.outputSchema, projectId, ['input', 'outputSchema'])
    if (!compiled.ok) issues.push(compiled.issue)
  }
  if ('mode' in made.toolChoice && made.toolChoice.mode === 'REQUIRED' && made.stopConditions.length === 0)
    issues.push({
      path: ['input', 'toolChoice', 'mode'],
      message: 'REQUIRED in every step never ends the loop: add a stop condition, or use a step rule',
    })
  return issues
}
