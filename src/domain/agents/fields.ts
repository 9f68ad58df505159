/** The settings of an agent: each declared once, with all that follows for who gives, keeps and sees it, and overrides it in a run. */
import { z } from 'zod'
import { text, whole } from '../../core/check.ts'
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import { field, type StoredOf } from '../../core/field-list.ts'
import { ids, optional, part, scalar } from '../../core/shapes.ts'
import { gateInput } from '../gates/index.ts'
import {
  budget,
  clientTimeoutRule,
  errorProfile,
  mcpDefaults,
  ownToolIds,
  stepRule,
  stopCondition,
  toolChoice,
  toolIds,
  toolLoading,
  type Budget,
  type McpSettings,
} from './setting-shapes.ts'

const day = 24 * 60 * 60 * 1000

/** The settings that a run can override: it can only tighten them (decision 19). */
export const runFields = {
  instructions: field(text(100_000).describe('The system message, at most 100,000 characters.'), {
    otherwise: 'none',
    or: null,
    shown: 'The system message; null: none.',
    loosens: false,
    seen: true,
  }),
  model: field(
    z
      .string()
      .regex(/^[A-Za-z0-9_-]{1,64}\/.{1,200}$/, 'must be "provider/model"')
      .describe('The model as provider/model.'),
    {
      otherwise: 'the default model of the installation',
      or: null,
      shown: 'The model as provider/model; null: the default model of the installation.',
      loosens: false,
      seen: true,
    },
  ),
  activeToolIds: field(
    toolIds.describe('The ids of the tools and agents that the model sees, at most 128; [] means none.'),
    {
      otherwise: 'all of the agent',
      or: null,
      shown:
        'The ids of the tools and agents that the model sees; null: all of toolIds and agentIds, []: none.',
      loosens: true,
      seen: true,
    },
  ),
  stepRules: field(
    z
      .array(stepRule)
      .max(50)
      .describe(
        'Tool choice and visible tools by step, at most 50 rules; the first that covers a step applies.',
      ),
    { otherwise: 'none', or: [], shown: null, loosens: true, seen: true },
  ),
  toolChoice: field(
    toolChoice.describe(
      'Whether the model may or must call tools; a named tool is forced in the first step only.',
    ),
    { otherwise: 'AUTO', or: { mode: 'AUTO' }, shown: null, loosens: true, seen: true },
  ),
  toolLoading: field(
    toolLoading.describe(
      'SEARCH sends search_tools in place of the tools of an agent that has more of them than toolLoadingThreshold: what the ' +
        'model finds or calls is in its next requests. MCP clients get search_tools and call_tool.',
    ),
    {
      otherwise: 'ALL',
      or: 'ALL',
      shown: 'Whether all tools are sent in every request, or those that were found or called.',
      loosens: false,
      seen: true,
    },
  ),
  toolLoadingThreshold: field(
    whole(0, 1000).describe(
      'The most callable tools of a step, 0 to 1,000, with which all are sent although toolLoading is SEARCH. Each tool of an ' +
        'MCP server counts.',
    ),
    {
      otherwise: '20',
      or: 20,
      shown: 'The most callable tools of a step with which all are sent although toolLoading is SEARCH.',
      loosens: false,
      seen: true,
    },
  ),
  stopConditions: field(
    z
      .array(stopCondition)
      .max(50)
      .describe('Conditions that end the loop after a step, at most 50; one that is met is enough.'),
    { otherwise: 'none', or: [], shown: null, loosens: true, seen: true },
  ),
  /** Across pauses and restarts. */
  maxSteps: field(
    whole(1, 100).describe('Maximum model steps of a generation over all pauses and restarts, 1 to 100.'),
    {
      otherwise: '20',
      or: 20,
      shown: 'Maximum model steps of a generation over all pauses and restarts.',
      loosens: false,
      seen: true,
    },
  ),
  finalAnswerOnLimit: field(
    z.boolean().describe('Whether the model writes one last answer without tools when maxSteps is reached.'),
    {
      otherwise: 'true',
      or: true,
      shown: 'Whether the model writes one last answer without tools when maxSteps is reached.',
      loosens: false,
      seen: true,
    },
  ),
  outputSchema: field(
    scalar(
      'JSONSchema',
      z.custom<JsonObject>((value) => isJsonObject(value), 'must be a JSON Schema object'),
    ).describe(
      'The JSON Schema of output.object; a response that does not match is repaired once, then the ' +
        'generation fails.',
    ),
    {
      otherwise: 'text output',
      or: null,
      shown: 'The JSON Schema of output.object; null: text output.',
      loosens: false,
      seen: true,
    },
  ),
  temperature: field(z.number().min(0).max(2).describe('The sampling temperature, 0 to 2.'), {
    otherwise: "the provider's own",
    or: null,
    shown: "The sampling temperature, 0 to 2; null: the provider's default.",
    loosens: false,
    seen: true,
  }),
  maxOutputTokens: field(
    whole(1, 1_000_000).describe('Maximum output tokens of one model response, 1 to 1,000,000.'),
    {
      otherwise: "the provider's own",
      or: null,
      shown: "Maximum output tokens of one model response; null: the provider's default.",
      loosens: false,
      seen: true,
    },
  ),
  parallelToolCalls: field(
    z
      .boolean()
      .describe(
        'Whether the tool calls of one step run at the same time; false runs them one by one, in order.',
      ),
    {
      otherwise: 'true',
      or: true,
      shown: 'Whether the tool calls of one step run at the same time; false runs them one by one, in order.',
      loosens: false,
      seen: true,
    },
  ),
  maxContextMessages: field(
    whole(1, 10_000).describe(
      'Maximum messages of the history that the model sees, 1 to 10,000, rounded to whole turns.',
    ),
    {
      otherwise: 'what fits the model',
      or: null,
      shown:
        'Maximum messages of the history that the model sees, rounded to whole turns; null: what fits the model.',
      loosens: false,
      seen: true,
    },
  ),
  budget: field(budget.describe('Token limits; reaching one ends the generation with stopReason BUDGET.'), {
    otherwise: 'no limit',
    or: { tokensPerGeneration: null, tokensPerDay: null },
    shown: null,
    keep: ({ tokensPerGeneration = null, tokensPerDay = null }): Budget => ({
      tokensPerGeneration,
      tokensPerDay,
    }),
    loosens: false,
    seen: true,
  }),
  // GraphQL shows longer times than an Int holds.
  clientTimeoutMs: field(
    whole(1000, 7 * day).describe(
      'How long a generation waits for the output of a client tool, in milliseconds: 1,000 to 604,800,000 (7 ' +
        'days).',
    ),
    { otherwise: '600,000', or: 10 * 60 * 1000, shown: null, loosens: false, seen: true },
  ),
  onClientTimeout: field(
    clientTimeoutRule.describe('What happens when the output of a client tool misses clientTimeoutMs.'),
    {
      otherwise: 'CONTINUE',
      or: 'CONTINUE',
      shown: 'What happens when the output of a client tool misses clientTimeoutMs.',
      loosens: false,
      seen: true,
    },
  ),
  timeoutMs: field(
    whole(1000, 30 * day).describe(
      'Maximum time of the whole generation in milliseconds, 1,000 to 2,147,483,647 (24 days); time in which ' +
        'it waits for an approver does not count.',
    ),
    { otherwise: '86,400,000 (one day)', or: day, shown: null, loosens: false, seen: true },
  ),
}

/** All settings of an agent. Those that a run cannot override would extend its tools or open its gate. */
export const agentFields = {
  ...runFields,
  toolIds: field(
    ownToolIds.describe(
      'The ids of the tools that the agent may call, at most 1,000. Their runtime names must differ.',
    ),
    {
      otherwise: 'none',
      or: [],
      keep: (given) => [...new Set(given)],
      shown: 'The ids of the tools that the agent may call.',
      loosens: true,
      seen: true,
    },
  ),
  agentIds: field(
    ids(text(60, 1))
      .max(50)
      .describe(
        'The ids of the agents that this agent may call, at most 50, its own id included. The model sees each as a ' +
          'tool with its name; a call runs that agent and returns its final text.',
      ),
    {
      otherwise: null,
      or: [],
      keep: (given) => [...new Set(given)],
      shown:
        'The ids of the agents that this agent may call, at most 50, its own id included. The model sees each as a ' +
        'tool with its name; a call runs that agent and returns its final text.',
      loosens: true,
      seen: true,
    },
  ),
  /** It can only make the gates of the tools stricter. */
  gate: field(
    gateInput.describe(
      'The gate for calls of all tools of the agent. It adds to the gates of the tools and can only be stricter; ' +
        'startGeneration cannot override it.',
    ),
    { otherwise: null, or: null, shown: null, loosens: true, seen: true },
  ),
  mcp: field(
    part('AgentMcpInput', 'The settings of an agent for MCP clients.', {
      enabled: optional(
        z.boolean().describe('Whether the agent is served to MCP clients at /mcp/{agentId}.'),
        'false',
      ),
      errorProfile: optional(errorProfile.describe('The error codes that MCP clients receive.'), 'AUTO'),
    }).describe(
      'The MCP server of the agent, which serves its tools, and the agent itself as a tool. startGeneration ' +
        'cannot override it.',
    ),
    {
      otherwise: null,
      or: mcpDefaults,
      keep: (given): McpSettings => ({
        enabled: given.enabled ?? mcpDefaults.enabled,
        errorProfile: given.errorProfile ?? mcpDefaults.errorProfile,
      }),
      shown: null,
      loosens: true,
      seen: true,
    },
  ),
}

/** What is kept of the settings of an agent. */
export interface OwnSettings extends StoredOf<typeof agentFields> {}
