/** Steps of a generation: the responses of its model, and the attempts at one that failed. Pure. */
import type { z } from 'zod'
import type { JsonObject } from '../../core/json.ts'
import { entity, idOf, part } from '../../core/shapes.ts'
import * as view from '../../core/view.ts'
import type { steps } from '../../store/db/tables/generations.ts'
import type { StepResetReason } from '../events/index.ts'
import type { AssistantPart, Usage } from '../models/index.ts'

/** The model that produced a response. */
export interface UsedModel {
  name: string
  kind: string
}
export const usedModel = entity<UsedModel>()('Model')

const toolOfStep = {
  name: view.text('The runtime name of the tool.'),
  toolId: view.id('The id of the tool, or of the agent that is called.'),
}
export interface StepTool extends z.output<z.ZodObject<typeof toolOfStep>> {
  version: number
}

/** A tool that the model of a step did not get. */
export const leftOutTool = part(
  'LeftOutTool',
  "A tool of an agent that its model did not get: the model's provider refused it, or there were too many. It can be " +
    'called all the same, by callTool and by MCP clients.',
  {
    ...toolOfStep,
    reason: view.text(
      'Why the tool was left out, for people: the words of the provider, without keys and addresses, or how many tools ' +
        'the model takes.',
    ),
  },
)
export interface LeftOutTool extends StepTool, z.output<typeof leftOutTool> {
  /** True when the model's provider refused this tool; false when there were too many. */
  isRefused: boolean
}

/** What tools take in a request to a model. */
export const toolSize = part('ToolSize', 'What the tools take in a request to the model.', {
  tools: view.int('How many tools the request has, also those that Gatehouse adds.'),
  bytes: view.int(
    'The bytes of their names, descriptions and schemas, as JSON before the provider’s own form.',
  ),
  tokens: view.int('The tokens that these bytes are estimated to be.'),
})
export type ToolSize = z.output<typeof toolSize>

export const agentToolSize = part(
  'AgentToolSize',
  'What the tools of an agent take in a request to its model.',
  {
    all: toolSize.describe('All tools of the agent; client tools that a run brings are not counted.'),
    first: toolSize.describe(
      'The tools in the first request of a run: less than all where toolLoading leaves tools to be found.',
    ),
  },
)
export type AgentToolSize = z.output<typeof agentToolSize>

/** One committed model response. */
export const stepShape = part('Step', 'One response of the model with its tool calls.', {
  id: idOf('step'),
  stepIndex: view.under('index', view.int('The number of the step in its generation, from 1.')),
  attempt: view.int('The number of the attempt that succeeded, from 1.'),
  model: usedModel.describe('The model that produced the response.'),
  finishReason: view.text(
    'Why the provider ended the response: stop, length, content-filter, tool-calls or other.',
  ),
  notice: view
    .text('The message that Gatehouse added for the model in this step; null when it added none.')
    .nullable(),
  elided: view
    .jsonObject(
      'Counts of the parts of the history that the model did not receive; null when it received all.',
    )
    .nullable(),
  toolSize: toolSize
    .describe('What the tools took in the request of this step; null for a step of an older release.')
    .nullable(),
  startedAt: view
    .date(
      'When the request of the successful attempt was sent to the model; null for a step of an older release.',
    )
    .nullable(),
  firstTokenAt: view
    .date('When the first part of the response arrived; null for a step of an older release.')
    .nullable(),
  createdAt: view.date('When the step was committed.'),
})
export interface Step extends z.output<typeof stepShape> {
  projectId: string
  generationId: string
  parts: AssistantPart[]
  /** The tools as sent to the model. */
  surface: StepTool[]
  toolChoice: JsonObject
  usage: Usage
  /** The tools that were left out of the request; null: none. */
  leftOut: LeftOutTool[] | null
}

/** An attempt at a model response that failed. */
export const failedAttempt = part('FailedAttempt', 'An attempt at a response of the model that failed.', {
  /** Without a later attempt the generation has no such step. */
  stepIndex: view.int('The number of the step that the response was for, from 1.'),
  attempt: view.int('The number of the attempt in its step, from 1.'),
  model: view.text('The name of the model as provider/model.'),
  errorCode: view.under(
    'code',
    view.text<StepResetReason>('The stable code of the failure, such as MODEL_RATE_LIMITED, for programs.'),
  ),
  errorMessage: view
    .under(
      'message',
      view.text(
        'An explanation of the failure for people, without keys and addresses; null for an attempt of an older release.',
      ),
    )
    .nullable(),
  httpStatus: view
    .int(
      'The HTTP status with which the provider answered; null when it gave none, and for an attempt of an older release.',
    )
    .nullable(),
  startedAt: view
    .date('When the request was sent to the model; null for an attempt of an older release.')
    .nullable(),
  createdAt: view.under('failedAt', view.date('When the attempt failed.')),
})
export interface FailedAttempt extends z.output<typeof failedAttempt> {
  generationId: string
}

export function stepOf(row: typeof steps.$inferSelect): Step {
  const { model: name, modelKind: kind, ...rest } = row
  return { ...rest, model: { name, kind } } as Step
}
