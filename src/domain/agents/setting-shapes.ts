/** The parts of settings: how each is given, and what is kept of it. */
import { z } from 'zod'
import { text, whole } from '../../core/check.ts'
import { choice, ids, oneOf, optional, part } from '../../core/shapes.ts'

/** A mode, or the runtime name of the tool that must be called. */
export type ToolChoiceRule = { mode: z.output<typeof toolChoiceMode> } | { tool: string }

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

/** Which JSON-RPC error codes an MCP client gets; AUTO decides by the client's request. */
export const errorProfile = choice(
  'McpErrorProfile',
  'The JSON-RPC error codes that MCP clients of an agent receive.',
  {
    AUTO: 'Error codes are those of SPEC, and those of SEED for clients without MCP protocol headers.',
    SPEC: 'Error codes are those of the newest MCP specification, for every client.',
    SEED: 'Error codes are -32601 unknown tool, -32602 invalid arguments and -32003 timeout, for every client.',
  },
)
/** How the agent is served to MCP clients. */
export interface McpSettings {
  /** Whether /mcp/{agentId} serves it. */
  enabled: boolean
  errorProfile: z.output<typeof errorProfile>
}
export const mcpDefaults: McpSettings = { enabled: false, errorProfile: 'AUTO' }

export const toolChoiceMode = choice(
  'ToolChoiceMode',
  'Whether the model may or must call tools in a step.',
  {
    AUTO: 'The model decides whether to call a tool.',
    NONE: 'The model may not call a tool.',
    REQUIRED: 'The model must call at least one tool.',
  },
)
export const clientTimeoutRule = choice(
  'ClientTimeoutRule',
  'What happens when the output of a client tool misses clientTimeoutMs.',
  {
    CONTINUE: 'The model receives an error result and the generation goes on.',
    EXPIRE: 'The generation ends as EXPIRED.',
  },
)

const toolName = text(64, 1)
/** The most tools of one step; providers accept no more. */
export const toolIds = ids(text(60, 1)).max(128)
/** The most tools of an agent: an MCP client lists them all, a model gets those of one step. */
export const ownToolIds = ids(text(60, 1)).max(1000)

export const toolChoice = oneOf(
  'ToolChoiceInput',
  'Which tools the model may or must call: exactly one of mode and tool.',
  'give exactly one of mode and tool',
  {
    mode: toolChoiceMode.describe('Whether the model may or must call tools.'),
    tool: toolName.describe('The runtime name of the tool that the model must call.'),
  },
).transform(({ mode, tool }): ToolChoiceRule => (mode ? { mode } : { tool: tool! }))

const stepNumber = whole(1, 1000)
export const stepRule = part(
  'StepRuleInput',
  'Settings of one step (step) or of a range of steps (fromStep, toStep). The first rule that covers a ' +
    'step applies.',
  {
    step: stepNumber
      .nullish()
      .describe('The number of the one step, from 1; not together with fromStep and toStep.'),
    fromStep: optional(stepNumber.describe('The first step of the range.'), '1'),
    toStep: optional(stepNumber.describe('The last step of the range.'), 'no end'),
    toolChoice: optional(toolChoice.describe('The tool choice in these steps.'), 'that of the agent'),
    activeToolIds: optional(
      toolIds.describe('The ids of the tools and agents that the model sees in these steps; [] means none.'),
      'those of the agent',
    ),
  },
).transform((rule, at): StepRule => {
  const { step = null, fromStep = null, toStep = null } = rule
  if ((step === null) === (fromStep === null && toStep === null))
    at.addIssue({ code: 'custom', message: 'give either step, or fromStep and toStep' })
  if (fromStep !== null && toStep !== null && toStep < fromStep)
    at.addIssue({ code: 'custom', message: 'toStep must not be before fromStep', path: ['toStep'] })
  const { toolChoice: chosen = null, activeToolIds: active = null } = rule
  return { step, fromStep, toStep, toolChoice: chosen, activeToolIds: active }
})

export const stopCondition = part('StopConditionInput', 'A condition that ends the loop after a step.', {
  hasToolCall: toolName.describe(
    'The runtime name of the tool whose call with valid arguments ends the loop. The arguments for a ' +
      'client tool are the output.',
  ),
})

const inRun = 'no limit; in startGeneration that of the agent'
export const budget = part(
  'BudgetInput',
  'Token limits, counted over input and output together. The generation ends with stopReason BUDGET.',
  {
    tokensPerGeneration: optional(
      whole(1, 1e9).describe('Maximum tokens of one generation and its child runs, 1 to 1,000,000,000.'),
      inRun,
    ),
    tokensPerDay: optional(
      whole(1, 1e12).describe(
        'Maximum tokens of all generations of the agent within 24 hours, 1 to 2,147,483,647.',
      ),
      inRun,
    ),
  },
)
export interface Budget {
  /** Input and output tokens of one generation and its child runs together. */
  tokensPerGeneration: number | null
  /** Tokens of all generations of the agent in the last 24 hours. */
  tokensPerDay: number | null
}
