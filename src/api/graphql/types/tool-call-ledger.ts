/** The attempts of a tool call in GraphQL, and resolveUnknownCall, which sets an unknown outcome. */
import { resolveUnknownCall } from '../../../domain/calls/index.ts'
import {
  resolutions,
  type Resolution,
  type ToolCall,
  type ToolCallAttempt,
  type ToolCallStatus,
} from '../../../domain/tool-calls/index.ts'
import type { EnumOf } from '../builder/builder.ts'
import { described } from '../builder/described.ts'
import { addMutation } from '../builder/mutation.ts'
import type { Refs } from '../builder/refs.ts'

export function resolutionEnum({ builder }: Refs) {
  return builder.enumType('UnknownCallOutcome', {
    description: 'The outcome that a person sets for a tool call with status UNKNOWN.',
    values: described(resolutions, {
      SUCCEEDED: 'The call took effect.',
      FAILED: 'The call did not take effect, or failed.',
      RUN_AGAIN: 'The call is sent once more, with the same Idempotency-Key.',
    }),
  })
}

export function attemptType({ builder }: Refs, Status: EnumOf<ToolCallStatus>) {
  return builder.objectRef<ToolCallAttempt>('ToolCallAttempt').implement({
    description: 'One attempt to send a tool call.',
    fields: (t) => ({
      attempt: t.exposeInt('attempt', { description: 'The number of the attempt, from 1.' }),
      idempotencyKey: t.exposeString('idempotencyKey', {
        description: 'The Idempotency-Key that the tool received.',
      }),
      startedAt: t.field({
        type: 'DateTime',
        description: 'When the attempt was committed, just before the call was sent.',
        resolve: (attempt) => new Date(attempt.startedAt),
      }),
      endedAt: t.field({
        type: 'DateTime',
        nullable: true,
        description:
          'When the outcome was committed; null while the attempt runs, or when its process stopped.',
        resolve: (attempt) => (attempt.endedAt ? new Date(attempt.endedAt) : null),
      }),
      outcome: t.field({
        type: Status,
        nullable: true,
        description: 'The outcome: SUCCEEDED, ERRORED or UNKNOWN; null when endedAt is null.',
        resolve: (attempt) => attempt.outcome ?? null,
      }),
      errorCode: t.string({
        nullable: true,
        description: 'The stable code of the failure for programs; null when the attempt did not fail.',
        resolve: (attempt) => attempt.errorCode ?? null,
      }),
    }),
  })
}

export function addResolve(refs: Refs, Outcome: EnumOf<Resolution>): void {
  const { builder } = refs
  addMutation(refs, {
    name: 'resolveUnknownCall',
    description:
      'Sets the outcome of a tool call with status UNKNOWN, or runs it again; later steps of its thread see ' +
      'the new result. Permission: toolCalls:Resolve.',
    input: builder.inputType('ResolveUnknownCallInput', {
      description: 'The outcome that a person found out.',
      fields: (t) => ({
        toolCallId: t.id({
          required: true,
          description: 'The id of the tool call; it begins with call_. The status must be UNKNOWN.',
        }),
        outcome: t.field({ type: Outcome, required: true, description: 'The outcome to set, or RUN_AGAIN.' }),
        output: t.field({
          type: 'JSON',
          description: 'The output of the call, or the error for FAILED. Not allowed with RUN_AGAIN.',
        }),
        reason: t.string({ description: 'The reason, kept in the audit; at most 2,000 characters.' }),
      }),
    }),
    payload: builder.objectRef<{ toolCall: ToolCall }>('ResolveUnknownCallPayload').implement({
      description: 'The resolved tool call.',
      fields: (t) => ({
        toolCall: t.expose('toolCall', {
          type: refs.ToolCall,
          description: 'The tool call after the mutation.',
        }),
      }),
    }),
    errors: ['NotFoundError', 'ConflictError'],
    run: async (ctx, input) => ({
      toolCall: await resolveUnknownCall(ctx, input),
    }),
  })
}
