/** The settings that inputs of agents share with the overrides of one generation. */
import type { Builder } from '../builder/builder.ts'
import { defaultText, type Purpose } from '../builder/described.ts'

type InputFields = Parameters<Parameters<Builder['inputType']>[1]['fields']>[0]

export type SettingInputs = ReturnType<typeof addSettingInputs>

/** Adds the types once and returns what other inputs need to use them. */
export function addSettingInputs(builder: Builder) {
  const Mode = builder.enumType('ToolChoiceMode', {
    description: 'Whether the model may or must call tools in a step.',
    values: {
      AUTO: { description: 'The model decides whether to call a tool.' },
      NONE: { description: 'The model may not call a tool.' },
      REQUIRED: { description: 'The model must call at least one tool.' },
    },
  })
  const Timeout = builder.enumType('ClientTimeoutRule', {
    description: 'What happens when the output of a client tool misses clientTimeoutMs.',
    values: {
      CONTINUE: { description: 'The model receives an error result and the generation goes on.' },
      EXPIRE: { description: 'The generation ends as EXPIRED.' },
    },
  })
  const ToolChoice = builder.inputType('ToolChoiceInput', {
    description: 'Which tools the model may or must call: exactly one of mode and tool.',
    isOneOf: true,
    fields: (t) => ({
      mode: t.field({ type: Mode, description: 'Whether the model may or must call tools.' }),
      tool: t.string({ description: 'The runtime name of the tool that the model must call.' }),
    }),
  })
  const Rule = builder.inputType('StepRuleInput', {
    description:
      'Settings of one step (step) or of a range of steps (fromStep, toStep). The first rule that covers a ' +
      'step applies.',
    fields: (t) => ({
      step: t.int({
        description: 'The number of the one step, from 1; not together with fromStep and toStep.',
      }),
      fromStep: t.int({ description: 'The first step of the range. Default: 1.' }),
      toStep: t.int({ description: 'The last step of the range. Default: no end.' }),
      toolChoice: t.field({
        type: ToolChoice,
        description: 'The tool choice in these steps. Default: that of the agent.',
      }),
      activeToolIds: t.idList({
        description:
          'The ids of the tools and agents that the model sees in these steps; [] means none. Default: those ' +
          'of the agent.',
      }),
    }),
  })
  const Stop = builder.inputType('StopConditionInput', {
    description: 'A condition that ends the loop after a step.',
    fields: (t) => ({
      hasToolCall: t.string({
        required: true,
        description:
          'The runtime name of the tool whose call with valid arguments ends the loop. The arguments for a ' +
          'client tool are the output.',
      }),
    }),
  })
  const Budget = builder.inputType('BudgetInput', {
    description:
      'Token limits, counted over input and output together. The generation ends with stopReason BUDGET.',
    fields: (t) => ({
      tokensPerGeneration: t.int({
        description:
          'Maximum tokens of one generation and its child runs, 1 to 1,000,000,000. Default: no limit; in ' +
          'startGeneration that of the agent.',
      }),
      tokensPerDay: t.int({
        description:
          'Maximum tokens of all generations of the agent within 24 hours, 1 to 2,147,483,647. Default: no ' +
          'limit; in startGeneration that of the agent.',
      }),
    }),
  })
  const settings = (t: InputFields, purpose: Purpose) => ({
    instructions: t.string({
      description: `The system message, at most 100,000 characters. ${instructionsText(purpose)}`,
    }),
    model: t.string({
      description: `The model as provider/model. ${defaultText(purpose, 'the default model of the installation')}`,
    }),
    activeToolIds: t.idList({
      description:
        'The ids of the tools and agents that the model sees, at most 128; [] means none. ' +
        `${defaultText(purpose, 'all of the agent')}`,
    }),
    stepRules: t.field({
      type: [Rule],
      description:
        'Tool choice and visible tools by step, at most 50 rules; the first that covers a step applies. ' +
        `${defaultText(purpose, 'none')}`,
    }),
    toolChoice: t.field({
      type: ToolChoice,
      description:
        'Whether the model may or must call tools; a named tool is forced in the first step only. ' +
        `${defaultText(purpose, 'AUTO')}`,
    }),
    stopConditions: t.field({
      type: [Stop],
      description:
        purpose === 'run'
          ? `${stopText} Those of the agent apply too.`
          : `${stopText} ${defaultText(purpose, 'none')}`,
    }),
    maxSteps: t.int({
      description:
        'Maximum model steps of a generation over all pauses and restarts, 1 to 100. ' +
        `${defaultText(purpose, '20')}`,
    }),
    finalAnswerOnLimit: t.boolean({
      description:
        'Whether the model writes one last answer without tools when maxSteps is reached. ' +
        `${defaultText(purpose, 'true')}`,
    }),
    outputSchema: t.field({
      type: 'JSONSchema',
      description:
        'The JSON Schema of output.object; a response that does not match is repaired once, then the ' +
        `generation fails. ${defaultText(purpose, 'text output')}`,
    }),
    temperature: t.float({
      description: `The sampling temperature, 0 to 2. ${defaultText(purpose, "the provider's own")}`,
    }),
    maxOutputTokens: t.int({
      description:
        'Maximum output tokens of one model response, 1 to 1,000,000. ' +
        `${defaultText(purpose, "the provider's own")}`,
    }),
    parallelToolCalls: t.boolean({
      description:
        'Whether the tool calls of one step run at the same time; false runs them one by one, in order. ' +
        `${defaultText(purpose, 'true')}`,
    }),
    maxContextMessages: t.int({
      description:
        'Maximum messages of the history that the model sees, 1 to 10,000, rounded to whole turns. ' +
        `${defaultText(purpose, 'what fits the model')}`,
    }),
    budget: t.field({
      type: Budget,
      description:
        'Token limits; reaching one ends the generation with stopReason BUDGET. ' +
        `${defaultText(purpose, 'no limit')}`,
    }),
    clientTimeoutMs: t.int({
      description:
        'How long a generation waits for the output of a client tool, in milliseconds: 1,000 to 604,800,000 (7 ' +
        `days). ${defaultText(purpose, '600,000')}`,
    }),
    onClientTimeout: t.field({
      type: Timeout,
      description:
        'What happens when the output of a client tool misses clientTimeoutMs. ' +
        `${defaultText(purpose, 'CONTINUE')}`,
    }),
    timeoutMs: t.int({
      description:
        'Maximum time of the whole generation in milliseconds, 1,000 to 2,147,483,647 (24 days); time in which ' +
        `it waits for an approver does not count. ${defaultText(purpose, '86,400,000 (one day)')}`,
    }),
  })
  return { Mode, Timeout, ToolChoice, settings }
}

const stopText = 'Conditions that end the loop after a step, at most 50; one that is met is enough.'

function instructionsText(purpose: Purpose): string {
  return purpose === 'run' ? 'It is appended to that of the agent.' : defaultText(purpose, 'none')
}
