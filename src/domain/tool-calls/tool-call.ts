/** A tool call: one request to run a tool, inside a generation or outside. */
import * as view from '../../core/view.ts'
import { z } from 'zod'
import { choice, entity, part } from '../../core/shapes.ts'
import type { ToolResult } from '../../core/content.ts'
import type { JsonObject } from '../../core/json.ts'
import { inKeyOrder, type KeyOrder } from '../../core/key-order.ts'
import type { TraceContext } from '../../core/telemetry/unit.ts'
import type { toolCalls } from '../../store/db/tables/tools.ts'
import { actsForOf, type Requester } from '../access/index.ts'
import type { Attachment } from '../files/index.ts'
import type { GatePolicy } from '../gates/index.ts'
import type { CallKind } from '../tools/index.ts'
import { toolCallStatus } from './state.ts'

/** One time that a call was sent. Without an outcome it is running, or its process was lost. */
const attemptShape = part('ToolCallAttempt', 'One attempt to send a tool call.', {
  attempt: view.int('The number of the attempt, from 1.'),
  idempotencyKey: view.text('The Idempotency-Key that the tool received.'),
  startedAt: view.isoDate('When the attempt was committed, just before the call was sent.'),
  endedAt: view
    .isoDate('When the outcome was committed; null while the attempt runs, or when its process stopped.')
    .optional(),
  outcome: toolCallStatus
    .describe('The outcome: SUCCEEDED, ERRORED or UNKNOWN; null when endedAt is null.')
    .optional(),
  errorCode: view
    .text('The stable code of the failure for programs; null when the attempt did not fail.')
    .nullish(),
})
export interface ToolCallAttempt extends z.output<typeof attemptShape> {
  /** Identifies who began the attempt; see OwnAttempt. Never shown. */
  token?: string
}

/**
 * Input that an upstream requires from the caller in the middle of a call (MCP 2026-07-28, multi round-trip
 * requests).
 */
export interface CallerQuestion {
  /** By keys that are unique within the call. */
  inputRequests: JsonObject
  /** The state that the upstream wants back with the responses. */
  requestState: string | null
  /** Responses so far, by the same keys. */
  answers: JsonObject
  /** How often the upstream has asked. */
  round: number
}

/** What a person can say about a call whose outcome is unknown. */
export const resolution = choice(
  'UnknownCallOutcome',
  'The outcome that a person sets for a tool call with status UNKNOWN.',
  {
    SUCCEEDED: 'The call took effect.',
    FAILED: 'The call did not take effect, or failed.',
    RUN_AGAIN: 'The call is sent once more, with the same Idempotency-Key.',
  },
)
export type Resolution = z.output<typeof resolution>

const callSource = choice('ToolCallSource', 'The origin of a tool call.', {
  GENERATION: 'The model of a generation requested the call.',
  DIRECT: 'A caller requested the call with callTool.',
  BRIDGE: 'An MCP client requested the call through an agent.',
})

export const toolCallShape = part('ToolCall', 'One request to run a tool, with its result.', {
  id: view.id('The id of the tool call; it begins with call_. Tools receive it as Idempotency-Key.'),
  generationId: view
    .object('generation', 'Generation', 'The generation of the call; null for a direct call.')
    .nullable(),
  stepIndex: view
    .int('The number of the step in the generation, from 1; null outside a generation.')
    .nullable(),
  source: callSource.describe('The origin of the call.'),
  toolVersion: view
    .int(
      'The version of the tool, or of the called agent, that the call runs with; null when neither exists.',
    )
    .nullable(),
  runtimeName: view.under('name', view.text('The runtime name of the called tool or agent.')),
  action: view.text('The name of the action; null for a tool without actions.').nullable(),
  childId: view
    .object(
      'child',
      'Generation',
      'The child run whose final answer is the result of the call; null for a call without one.',
    )
    .nullable(),
  status: toolCallStatus.describe('The status of the call.'),
  rawArguments: view
    .text(
      'The text that the model wrote in place of valid arguments, writeOnly values masked; null when the ' +
        'arguments are valid.',
    )
    .nullable(),
  attempt: view.int('The number of times that the call was sent.'),
  isError: view.flag('Whether the call failed; null while it is open.').nullable(),
  errorCode: view
    .text('The stable code of the failure for programs; null when the call did not fail.')
    .nullable(),
  requestedBy: view.principal(
    'requester',
    'The principal that requested the call.',
    'The id of the API key or person that requested the call.',
  ),
  actsFor: view
    .principal(
      'actsFor',
      'The person for whom the program acted that requested the call; null when the requester acted alone.',
    )
    .nullable(),
  agentId: view
    .object('agent', 'Agent', 'The agent through which an MCP client called; null for any other call.')
    .nullable(),
  attempts: z
    .array(attemptShape)
    .describe('The attempts to send the call, oldest first. Empty for a client tool.'),
  approvalId: view
    .object('approval', 'Approval', 'The newest approval of the call; null when the gate let it pass.')
    .nullable(),
  grantId: view
    .object('grant', 'Grant', 'The grant that let the call pass the gate; null when none was needed or used.')
    .nullable(),
  resolution: resolution
    .describe('The outcome that a person set with resolveUnknownCall; null when none was set.')
    .nullable(),
  resolvedBy: view
    .principal(
      'resolver',
      'The principal that resolved the call with resolveUnknownCall; null when none did.',
      'The id of the API key or person that resolved the call; null when it was not resolved.',
    )
    .nullable(),
  resolvedAt: view.date('When the call was resolved; null when it was not.').nullable(),
  deadlineAt: view
    .date('When the call of a client tool times out; null for a call of another tool.')
    .nullable(),
  callerWaitsUntil: view
    .date(
      'The time until which the program waits that asked for permission; after it, the program learns the verdict when it asks again. ' +
        'Null for a call that no program has waited for.',
    )
    .nullable(),
  startedAt: view.date('When the call was first sent; null before that.').nullable(),
  settledAt: view.date('When the call was settled; null while it is open.').nullable(),
  createdAt: view.date('When the call was requested.'),
})
export interface ToolCall extends z.output<typeof toolCallShape> {
  attempts: ToolCallAttempt[]
  projectId: string
  callIndex: number | null
  providerCallId: string | null
  /** For a call of an agent: that agent's id. */
  toolId: string | null
  kind: CallKind | null
  /** Hash of the action's definition when the call was proposed. */
  definitionHash: string | null
  /** Without presets; null when the model sent no valid JSON. */
  arguments: JsonObject | null
  /** Attached files. */
  attachments: Attachment[] | null
  result: ToolResult | null
  outputHash: string | null
  /** The rights of a person with a token, or for whom a program acts; null for any other key. */
  requester: Requester | null
  /** Of the request, for a call outside a generation; null without one. */
  trace: TraceContext | null
  agentGate: GatePolicy | null
  threadId: string | null
  requestHash: string | null
  /** The call was stopped at the gate, and its caller has not fetched the outcome yet. */
  awaited: boolean
  cancelRequestedAt: Date | null
  /** Input that an upstream requires from the caller before it continues; null for none. */
  asked: CallerQuestion | null
  /** Names of the arguments that an approver changed. */
  editedKeys: string[] | null
  /** Argument paths that are never shown. */
  masked: string[][] | null
  /** A rate limit delays the call until then. */
  notBefore: Date | null
}

export const ToolCall = entity<ToolCall>()('ToolCall')

export function toolCallOf(row: typeof toolCalls.$inferSelect): ToolCall {
  const { wakeAt: _wakeAt, epoch: _epoch, argumentOrder, ...rest } = row
  const call = { ...rest, actsFor: actsForOf(rest.requester as Requester | null) } as ToolCall
  return argumentOrder && call.arguments
    ? { ...call, arguments: inKeyOrder(call.arguments, argumentOrder as KeyOrder) }
    : call
}

/** What holds a call outside any generation when it is paused: its project, its tool, and the agent through which it came. */
export type Pausable = Pick<ToolCall, 'projectId' | 'toolId' | 'agentId'>

/** The ids of these. */
export function targetsOf({ projectId, toolId, agentId }: Pausable): string[] {
  return [projectId, toolId, agentId].filter((id) => id !== null)
}
