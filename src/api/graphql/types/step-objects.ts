/** The object type of steps, and those of models and token counts. */
import type {
  LeftOutTool as LeftOutToolRow,
  Step,
  FailedAttempt as FailedAttemptRow,
  Generation,
} from '../../../domain/generations/index.ts'
import type { Refs } from '../builder/refs.ts'
import { textOf } from '../../../domain/models/index.ts'
import { callPage, callsAfter, firstOf } from './event-pages.ts'
import { hasPrefix } from '../builder/connections.ts'
import { listMaxima } from '../builder/list-bounds.ts'

/** Adds leftOut to Step and Agent. */
function addLeftOut({ builder, Step: StepRef, Agent }: Refs): void {
  const LeftOutTool = builder.objectRef<LeftOutToolRow>('LeftOutTool').implement({
    description:
      "A tool of an agent that its model did not get: the model's provider refused it, or there were too many. It can be " +
      'called all the same, by callTool and by MCP clients.',
    fields: (t) => ({
      name: t.exposeString('name', { description: 'The runtime name of the tool.' }),
      toolId: t.exposeID('toolId', { description: 'The id of the tool, or of the agent that is called.' }),
      reason: t.exposeString('reason', {
        description:
          'Why the tool was left out, for people: the words of the provider, without keys and addresses, or how many tools ' +
          'the model takes.',
      }),
    }),
  })
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
}

export type StepTypes = ReturnType<typeof addSteps>

/** Implements Step; returns the types of models and token counts, which generations use too. */
export function addSteps(refs: Refs) {
  const { builder } = refs
  addStepType(refs)
  addFailedAttempts(refs)
  addLeftOut(refs)
  const Model = modelType(refs)
  const Usage = usageType(refs)
  builder.objectField(refs.Step, 'model', (t) =>
    t.field({
      type: Model,
      description: 'The model that produced the response.',
      resolve: (step: Step) => step.model,
    }),
  )
  builder.objectField(refs.Step, 'usage', (t) =>
    t.field({ type: Usage, description: 'The tokens of this step.', resolve: (step: Step) => step.usage }),
  )
  return { Model, Usage }
}

const kindDescription =
  'The kind of the provider: OPENAI, ANTHROPIC, GOOGLE, COMPATIBLE, or REHEARSAL, which follows rules and is not an AI.'

function modelType(refs: Refs) {
  return refs.builder.objectRef<{ name: string; kind: string }>('Model').implement({
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
  const { builder } = refs
  refs.Step.implement({
    description: 'One response of the model with its tool calls.',
    interfaces: [builder.nodeInterfaceRef()],
    isTypeOf: (value) => hasPrefix(value, 'step_'),
    fields: (t) => ({
      id: t.exposeID('id', { description: 'The id of the step; it begins with step_.' }),
      index: t.exposeInt('stepIndex', { description: 'The number of the step in its generation, from 1.' }),
      attempt: t.exposeInt('attempt', { description: 'The number of the attempt that succeeded, from 1.' }),
      text: t.string({ description: 'The text of the response.', resolve: (step) => textOf(step.parts) }),
      reasoning: t.string({
        description: 'The reasoning that the model disclosed; empty when it disclosed none.',
        resolve: (step) => step.parts.map((part) => (part.type === 'reasoning' ? part.text : '')).join(''),
      }),
      finishReason: t.exposeString('finishReason', {
        description:
          'Why the provider ended the response: stop, length, content-filter, tool-calls or other.',
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
      notice: t.exposeString('notice', {
        nullable: true,
        description: 'The message that Gatehouse added for the model in this step; null when it added none.',
      }),
      elided: t.expose('elided', {
        type: 'JSONObject',
        nullable: true,
        description:
          'Counts of the parts of the history that the model did not receive; null when it received all.',
      }),
      startedAt: t.expose('startedAt', {
        type: 'DateTime',
        nullable: true,
        description:
          'When the request of the successful attempt was sent to the model; null for a step of an older release.',
      }),
      firstTokenAt: t.expose('firstTokenAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When the first part of the response arrived; null for a step of an older release.',
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the step was committed.' }),
    }),
  })
}

/** Adds failedAttempts to Step and Generation. */
function addFailedAttempts(refs: Refs): void {
  const { builder } = refs
  const FailedAttempt = builder.objectRef<FailedAttemptRow>('FailedAttempt').implement({
    description: 'An attempt at a response of the model that failed.',
    fields: (t) => ({
      stepIndex: t.exposeInt('stepIndex', {
        description: 'The number of the step that the response was for, from 1.',
      }),
      attempt: t.exposeInt('attempt', { description: 'The number of the attempt in its step, from 1.' }),
      model: t.exposeString('model', { description: 'The name of the model as provider/model.' }),
      code: t.exposeString('errorCode', {
        description: 'The stable code of the failure, such as MODEL_RATE_LIMITED, for programs.',
      }),
      message: t.exposeString('errorMessage', {
        nullable: true,
        description:
          'An explanation of the failure for people, without keys and addresses; null for an attempt of an older release.',
      }),
      httpStatus: t.exposeInt('httpStatus', {
        nullable: true,
        description:
          'The HTTP status with which the provider answered; null when it gave none, and for an attempt of an older release.',
      }),
      startedAt: t.expose('startedAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When the request was sent to the model; null for an attempt of an older release.',
      }),
      failedAt: t.expose('createdAt', { type: 'DateTime', description: 'When the attempt failed.' }),
    }),
  })
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
