/** The object type of steps, and those of models and token counts. */
import {
  type Step,
  type Generation,
  leftOutTool,
  agentToolSize,
  stepShape,
  failedAttempt,
} from '../../../domain/generations/index.ts'
import type { Refs } from '../builder/refs.ts'
import { textOf } from '../../../domain/models/index.ts'
import { callPage, callsAfter, firstOf } from './event-pages.ts'
import { listMaxima } from '../builder/list-bounds.ts'

/** Adds leftOut to Step and Agent, and the sizes of tools to Agent. */
function addLeftOut({ builder, shapes, Step: StepRef, Agent }: Refs): void {
  const LeftOutTool = shapes.object(leftOutTool)
  builder.objectField(StepRef, 'leftOut', (t) =>
    t.field({
      type: [LeftOutTool],
      description: 'The tools that were left out of the request to the model.',
      resolve: (step: Step) => step.leftOut ?? [],
    }),
  )
  builder.objectField(Agent, 'leftOut', (t) =>
    t.field({
      type: [LeftOutTool],
      description:
        'The tools that the model did not get in the newest run of the agent that asked its model.',
      resolve: (agent, _args, { loaders }) => loaders.leftOutOf.load(agent.id),
    }),
  )
  builder.objectField(Agent, 'toolSize', (t) =>
    t.field({
      type: shapes.object(agentToolSize),
      description: 'What the tools of the agent take in a request to its model.',
      // The schemas of all its tools are written.
      complexity: 50,
      resolve: (agent, _args, { loaders }) => loaders.toolSizes.load(agent),
    }),
  )
}

export type StepTypes = ReturnType<typeof addSteps>

/** Implements Step; returns the type of token counts, which generations use too. */
export function addSteps(refs: Refs) {
  const { builder } = refs
  addStepType(refs)
  addFailedAttempts(refs)
  addLeftOut(refs)
  addModel(refs)
  const Usage = usageType(refs)
  builder.objectField(refs.Step, 'usage', (t) =>
    t.field({ type: Usage, description: 'The tokens of this step.', resolve: (step: Step) => step.usage }),
  )
  return { Usage }
}

const kindDescription =
  'The kind of the provider: OPENAI, ANTHROPIC, GOOGLE, COMPATIBLE, or REHEARSAL, which follows rules and is not an AI.'

function addModel({ Model }: Refs): void {
  Model.implement({
    description: 'The model that produced a response.',
    fields: (t) => ({
      name: t.exposeString('name', { description: 'The name of the model as provider/model.' }),
      kind: t.string({
        description: kindDescription,
        resolve: (model) => (model.kind === 'builtin' ? 'REHEARSAL' : model.kind.toUpperCase()),
      }),
      isAi: t.boolean({
        description: 'Whether the model is an AI; false for the rehearsal model, which follows rules.',
        resolve: (model) => model.kind !== 'builtin',
      }),
    }),
  })
}

function usageType(refs: Refs) {
  return refs.builder.objectRef<Pick<Generation, 'inputTokens' | 'outputTokens'>>('Usage').implement({
    description: 'Token counts, as the provider reported them or else estimated.',
    fields: (t) => ({
      inputTokens: t.exposeFloat('inputTokens', { description: 'Tokens sent to the model.' }),
      outputTokens: t.exposeFloat('outputTokens', { description: 'Tokens written by the model.' }),
      totalTokens: t.float({
        description: 'Input and output tokens together.',
        resolve: (u) => u.inputTokens + u.outputTokens,
      }),
    }),
  })
}

function addStepType(refs: Refs): void {
  refs.shapes.node(refs.Step, 'step', stepShape, (t) => ({
    text: t.string({ description: 'The text of the response.', resolve: (step) => textOf(step.parts) }),
    reasoning: t.string({
      description: 'The reasoning that the model disclosed; empty when it disclosed none.',
      resolve: (step) => step.parts.map((part) => (part.type === 'reasoning' ? part.text : '')).join(''),
    }),
    toolCalls: t.field({
      type: [refs.ToolCall],
      description: 'The tool calls of this step in the order of the response.',
      args: callPage(t, listMaxima['Step.toolCalls']!),
      complexity: firstOf(listMaxima['Step.toolCalls']!),
      resolve: async (step, args, { loaders }) => {
        const calls = await loaders.callsOf.load(step.generationId)
        const own = calls.filter((call) => call.stepIndex === step.stepIndex)
        return callsAfter(own, args, listMaxima['Step.toolCalls']!)
      },
    }),
  }))
}

/** Adds failedAttempts to Step and Generation. */
function addFailedAttempts(refs: Refs): void {
  const { builder } = refs
  const FailedAttempt = refs.shapes.object(failedAttempt)
  builder.objectField(refs.Step, 'failedAttempts', (t) =>
    t.field({
      type: [FailedAttempt],
      description: 'The failed attempts before the successful one, oldest first.',
      resolve: async (step: Step, _args, { loaders }) =>
        (await loaders.failedAttemptsOf.load(step.generationId)).filter(
          ({ stepIndex }) => stepIndex === step.stepIndex,
        ),
    }),
  )
  builder.objectField(refs.Generation, 'failedAttempts', (t) =>
    t.field({
      type: [FailedAttempt],
      description:
        'The failed attempts at responses of the model in all steps, oldest first, also those of a step that had ' +
        'no successful attempt.',
      resolve: (generation: Generation, _args, { loaders }) => loaders.failedAttemptsOf.load(generation.id),
    }),
  )
}
