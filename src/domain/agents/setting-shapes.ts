/** The parts of settings: how each is given, and what is kept of it. */
import * as view from '../../core/view.ts'
import { z } from 'zod'
import { text, whole } from '../../core/check.ts'
import { choice, ids, oneOf, optional, part } from '../../core/shapes.ts'

export const toolChoiceMode = choice(
  'ToolChoiceMode',
  'Whether the model may or must call tools in a step.',
  {
    AUTO: 'The model decides whether to call a tool.',
    NONE: 'The model may not call a tool.',
    REQUIRED: 'The model must call at least one tool.',
  },
)
/** A mode, or the runtime name of the tool that must be called. */
export type ToolChoiceRule = { mode: z.output<typeof toolChoiceMode> } | { tool: string }

const toolChoiceShape = part(
  'ToolChoice',
  'Which tools the model may or must call: a mode, or the name of a tool.',
  {
    mode: toolChoiceMode
      .describe('Whether the model may or must call tools; null when a tool is named.')
      .optional(),
    tool: view
      .text('The runtime name of the tool that the model must call; null when a mode is set.')
      .optional(),
  },
) as unknown as z.ZodType<ToolChoiceRule>

/**
 * Settings for some steps: `step`, or `fromStep` to `toStep` (without an end when `toStep` is null). Steps count from
 * 1.
 */
const stepRuleShape = part('StepRule', 'Settings of one step or of a range of steps.', {
  step: view.int('The number of the one step, from 1; null for a range of steps.').nullable(),
  fromStep: view.int('The first step of the range; null: from step 1, or no range.').nullable(),
  toStep: view.int('The last step of the range; null: no end, or no range.').nullable(),
  toolChoice: toolChoiceShape.describe('The tool choice in these steps; null: that of the agent.').nullable(),
  activeToolIds: view
    .ids(
      'The ids of the tools and agents that the model sees in these steps; null: those of the agent, []: none.',
    )
    .nullable(),
})
export type StepRule = z.output<typeof stepRuleShape>

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
export const mcpSettings = part('AgentMcp', 'The settings of an agent for MCP clients.', {
  enabled: view.flag('Whether the agent is served to MCP clients at /mcp/{agentId}.'),
  errorProfile: errorProfile.describe('The error codes that MCP clients receive.'),
})
export type McpSettings = z.output<typeof mcpSettings>
export const mcpDefaults: McpSettings = { enabled: false, errorProfile: 'AUTO' }

export const clientTimeoutRule = choice(
  'ClientTimeoutRule',
  'What happens when the output of a client tool misses clientTimeoutMs.',
  {
    CONTINUE: 'The model receives an error result and the generation goes on.',
    EXPIRE: 'The generation ends as EXPIRED.',
  },
)

export const toolLoading = choice(
  'ToolLoading',
  'Which tools of an agent its model and MCP clients get at once.',
  {
    ALL: 'All tools are sent in every request.',
    SEARCH:
      'An agent with more tools than toolLoadingThreshold sends search_tools, and of its tools those that were found or called.',
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

const stopConditionShape = part('StopCondition', 'A condition that ends the loop after a step.', {
  hasToolCall: view.text('The runtime name of the tool whose call with valid arguments ends the loop.'),
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
const budgetShape = part(
  'Budget',
  'Token limits, counted over input and output together. The generation ends with stopReason BUDGET.',
  {
    tokensPerGeneration: view
      .float('Maximum tokens of one generation and its child runs; null: no limit.')
      .nullable(),
    tokensPerDay: view
      .float('Maximum tokens of all generations of the agent within 24 hours; null: no limit.')
      .nullable(),
  },
)
export type Budget = z.output<typeof budgetShape>

/** What is shown of an agent's loop. */
export const loopShape = z.object({
  stepRules: z
    .array(stepRuleShape)
    .describe('Tool choice and visible tools by step; the first rule that covers a step applies.'),
  toolChoice: toolChoiceShape.describe(
    'Whether the model may or must call tools; a named tool is forced in the first step only.',
  ),
  stopConditions: z
    .array(stopConditionShape)
    .describe('Conditions that end the loop after a step; one that is met is enough.'),
  budget: budgetShape.describe('Token limits; reaching one ends the generation with stopReason BUDGET.'),
  clientTimeoutMs: view.float(
    'How long a generation waits for the output of a client tool, in milliseconds.',
  ),
  timeoutMs: view.float(
    'Maximum time of the whole generation in milliseconds; time in which it waits for an approver does not count.',
  ),
})
