/** The ledger of a call on the wire: its attempts, and what a person says when nobody else knows. */
import { resolveUnknownCall } from '../../domain/calls/index.ts'
import {
  resolutions,
  type Resolution,
  type ToolCall,
  type ToolCallAttempt,
  type ToolCallStatus,
} from '../../domain/tool-calls/index.ts'
import type { EnumOf } from './builder.ts'
import { described } from './described.ts'
import { addMutation } from './mutation.ts'
import type { Refs } from './refs.ts'

export function resolutionEnum({ builder }: Refs) {
  return builder.enumType('UnknownCallOutcome', {
    description: 'What a person says of a call whose outcome is unknown.',
    values: described(resolutions, {
      SUCCEEDED: 'It took effect.',
      FAILED: 'It did not take effect, or failed.',
      RUN_AGAIN: 'Send it once more, under the same Idempotency-Key.',
    }),
  })
}

export function attemptType({ builder }: Refs, Status: EnumOf<ToolCallStatus>) {
  return builder.objectRef<ToolCallAttempt>('ToolCallAttempt').implement({
    description: 'One time that a call was sent.',
    fields: (t) => ({
      attempt: t.exposeInt('attempt', { description: 'Counts from 1.' }),
      idempotencyKey: t.exposeString('idempotencyKey', {
        description: 'What the outside world heard as Idempotency-Key.',
      }),
      startedAt: t.field({
        type: 'DateTime',
        description: 'When it was committed as sent.',
        resolve: (attempt) => new Date(attempt.startedAt),
      }),
      endedAt: t.field({
        type: 'DateTime',
        nullable: true,
        description:
          'When its outcome was committed; null while it is under way, or when its process went away.',
        resolve: (attempt) => (attempt.endedAt ? new Date(attempt.endedAt) : null),
      }),
      outcome: t.field({
        type: Status,
        nullable: true,
        description: 'SUCCEEDED, ERRORED or UNKNOWN; null without an end.',
        resolve: (attempt) => attempt.outcome ?? null,
      }),
      errorCode: t.string({
        nullable: true,
        description: 'Why it failed, for programs.',
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
      'Says what became of a call whose outcome is unknown, or lets it run again. Later steps of its thread see the new result.',
    input: builder.inputType('ResolveUnknownCallInput', {
      description: 'What a person found out.',
      fields: (t) => ({
        toolCallId: t.id({ required: true, description: 'Begins with call_. Its status is UNKNOWN.' }),
        outcome: t.field({ type: Outcome, required: true, description: 'What became of it.' }),
        output: t.field({
          type: 'JSON',
          description: 'The output, or with FAILED the error; not with RUN_AGAIN.',
        }),
        reason: t.string({ description: 'For the audit, at most 2,000 characters.' }),
      }),
    }),
    payload: builder.objectRef<{ toolCall: ToolCall }>('ResolveUnknownCallPayload').implement({
      description: 'The call.',
      fields: (t) => ({
        toolCall: t.expose('toolCall', { type: refs.ToolCall, description: 'The call as it stands now.' }),
      }),
    }),
    errors: ['NotFoundError', 'ConflictError'],
    run: async (ctx, input) => ({
      toolCall: await resolveUnknownCall(ctx, input),
    }),
  })
}
