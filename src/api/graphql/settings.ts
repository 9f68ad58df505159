/** The inputs that agents and the overrides of one run share. */
import type { Builder } from './builder.ts'

type InputFields = Parameters<Parameters<Builder['inputType']>[1]['fields']>[0]

export type SettingInputs = ReturnType<typeof addSettingInputs>

/** Adds the types once and answers what is needed to use them in other inputs. */
export function addSettingInputs(builder: Builder) {
  const Mode = builder.enumType('ToolChoiceMode', {
    description: 'How the model may use tools.',
    values: {
      AUTO: { description: 'The model decides.' },
      NONE: { description: 'No tool may be called.' },
      REQUIRED: { description: 'Some tool must be called.' },
    },
  })
  const Timeout = builder.enumType('ClientTimeoutRule', {
    description: 'What follows when a client output does not come in time.',
    values: {
      CONTINUE: { description: 'The model gets an error result and goes on.' },
      EXPIRE: { description: 'The generation ends as EXPIRED.' },
    },
  })
  const ToolChoice = builder.inputType('ToolChoiceInput', {
    description: 'Exactly one: a mode, or the runtime name of the tool that must be called.',
    isOneOf: true,
    fields: (t) => ({
      mode: t.field({ type: Mode, description: 'The mode.' }),
      tool: t.string({ description: 'The tool, by runtime name.' }),
    }),
  })
  const Rule = builder.inputType('StepRuleInput', {
    description:
      'What holds in one step (step) or several (fromStep, toStep). The first rule that fits wins.',
    fields: (t) => ({
      step: t.int({ description: 'One step, from 1.' }),
      fromStep: t.int({ description: 'The first of several; 1 when left out.' }),
      toStep: t.int({ description: 'The last of several; open when left out.' }),
      toolChoice: t.field({ type: ToolChoice, description: 'The tool choice there.' }),
      activeToolIds: t.idList({ description: 'The tools there; [] means none.' }),
    }),
  })
  const Stop = builder.inputType('StopConditionInput', {
    description: 'Ends the loop after a step.',
    fields: (t) => ({
      hasToolCall: t.string({
        required: true,
        description:
          'The tool of this runtime name was called with valid arguments. Of a client tool they are the output.',
      }),
    }),
  })
  const Budget = builder.inputType('BudgetInput', {
    description: 'Limits of tokens, input and output together.',
    fields: (t) => ({
      tokensPerGeneration: t.int({ description: 'For one generation with all runs under it.' }),
      tokensPerDay: t.int({ description: "For all of the agent's generations within 24 hours." }),
    }),
  })
  const settings = (t: InputFields) => ({
    instructions: t.string({ description: 'The system message.' }),
    model: t.string({ description: "provider/model; the installation's default when left out." }),
    activeToolIds: t.idList({ description: 'Left out: all tools; []: none.' }),
    stepRules: t.field({ type: [Rule], description: 'Tool choice and tools by step.' }),
    toolChoice: t.field({
      type: ToolChoice,
      description: 'AUTO when left out. A forced tool is forced once, in the first step.',
    }),
    stopConditions: t.field({ type: [Stop], description: 'Any of them ends the loop.' }),
    maxSteps: t.int({ description: 'Model steps over all pauses and restarts, 1 to 100; 20 when left out.' }),
    finalAnswerOnLimit: t.boolean({
      description: 'One last answer without tools when maxSteps is reached; true when left out.',
    }),
    outputSchema: t.field({
      type: 'JSONSchema',
      description: 'What output.object must fit; one repair, then the generation fails.',
    }),
    temperature: t.float({ description: "0 to 2; the provider's default when left out." }),
    maxOutputTokens: t.int({ description: 'For one answer.' }),
    parallelToolCalls: t.boolean({
      description: 'false: calls run one by one, in order. true when left out.',
    }),
    maxContextMessages: t.int({
      description: 'Messages of history that the model sees, rounded to whole turns.',
    }),
    budget: t.field({
      type: Budget,
      description: 'Limits of tokens; reaching one ends the generation with stopReason BUDGET.',
    }),
    clientTimeoutMs: t.int({
      description:
        "How long a client tool's output is waited for, 1,000 to 604,800,000; 600,000 when left out.",
    }),
    onClientTimeout: t.field({
      type: Timeout,
      description: 'What follows when it does not come; CONTINUE when left out.',
    }),
    timeoutMs: t.int({
      description: "The whole generation's time in milliseconds, waiting included; a day when left out.",
    }),
  })
  return { Mode, Timeout, ToolChoice, settings }
}
