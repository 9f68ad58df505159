/** The attempts of a tool call in GraphQL. */
import type { ToolCallAttempt, ToolCallStatus } from '../../../domain/tool-calls/index.ts'
import type { EnumOf } from '../builder/builder.ts'
import type { Refs } from '../builder/refs.ts'

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
