/** The fields of event types. Each takes the builder of any event whose data has what the field reads. */
import type { RecordedEvent } from '../../domain/events/index.ts'
import type { SchemaTypes } from './builder.ts'
import type { Refs } from './refs.ts'

export type EventFields = ReturnType<typeof eventFields>

/** Declares fields of objects that resolve from `Shape`. */
export type FieldBuilder<Shape> = PothosSchemaTypes.ObjectFieldBuilder<
  PothosSchemaTypes.ExtendDefaultTypes<SchemaTypes>,
  Shape
>

/** An event whose data has these fields. */
type Has<Data> = Pick<RecordedEvent, 'generationId'> & { data: Data }

export function eventFields(refs: Refs) {
  const text =
    <Name extends string>(name: Name, description: string) =>
    <E extends Has<Record<Name, string>>>(t: FieldBuilder<E>) =>
      t.string({ description, resolve: (event): string => event.data[name] })
  const id =
    <Name extends string>(name: Name, description: string) =>
    <E extends Has<Record<Name, string>>>(t: FieldBuilder<E>) =>
      t.id({ description, resolve: (event): string => event.data[name] })
  const number =
    <Name extends string>(name: Name, description: string) =>
    <E extends Has<Record<Name, number>>>(t: FieldBuilder<E>) =>
      t.int({ description, resolve: (event): number => event.data[name] })
  const names =
    <Name extends string>(name: Name, description: string) =>
    <E extends Has<Record<Name, string[]>>>(t: FieldBuilder<E>) =>
      t.stringList({ description, resolve: (event): string[] => event.data[name] })

  return {
    ...relatedFields(refs),
    stepIndex: number('stepIndex', 'The step, from 1.'),
    attempt: number('attempt', 'The attempt that begins, from 1.'),
    reason: text('reason', 'Why, for programs.'),
    name: text('name', 'The name at that time.'),
    callStatus: text('status', 'The outcome, a ToolCallStatus.'),
    childStatus: text('status', 'How it ended, a GenerationStatus.'),
    upstreamStatus: text('status', 'The status, an UpstreamStatus.'),
    stopReason: text('stopReason', 'Why it ended.'),
    failureCode: text('code', 'Why it failed.'),
    faultCode: <E extends Has<{ code: string | null }>>(t: FieldBuilder<E>) =>
      t.string({
        nullable: true,
        description: 'What went wrong, for programs; null when nothing did.',
        resolve: (event) => event.data.code,
      }),
    added: names('added', 'Tools that are new.'),
    removed: names('removed', 'Tools that are gone.'),
    changed: names('changed', 'Tools that are defined otherwise.'),
    toolId: id('toolId', 'The tool.'),
    agentId: id('agentId', 'The agent.'),
    apiKeyId: id('apiKeyId', 'The key.'),
    childId: id('childId', 'The child run.'),
    descendantId: <E extends Has<{ descendantId?: string }>>(t: FieldBuilder<E>) =>
      t.id({
        nullable: true,
        description:
          'In the log of a root: the run below it that this happened to. null when it happened to the generation itself.',
        resolve: (event) => event.data.descendantId ?? null,
      }),
    verdict: text('verdict', 'The verdict.'),
    outcome: text('outcome', 'SUCCEEDED, FAILED or RUN_AGAIN.'),
    decidedBy: id('decidedBy', 'The key that decided; `system` for a result that came late.'),
    proposedBy: id('proposedBy', 'The key that proposed it.'),
    target: id('target', 'The tool, agent or project that it is about.'),
    gateChangeId: id('gateChangeId', 'The proposed change.'),
  }
}

/** Fields that load what the event names, as it is now. */
function relatedFields(refs: Refs) {
  return {
    step: <E extends Has<{ stepIndex: number }>>(t: FieldBuilder<E>) =>
      t.field({
        type: refs.Step,
        nullable: true,
        description: 'The step with the whole text.',
        resolve: async (event, _args, { loaders }) => {
          const steps = await loaders.stepsOf.load(event.generationId!)
          return steps.find((step) => step.stepIndex === event.data.stepIndex) ?? null
        },
      }),
    toolCall: <E extends Has<{ toolCallId: string }>>(t: FieldBuilder<E>) =>
      t.field({
        type: refs.ToolCall,
        nullable: true,
        description: 'The call as it is now; null when it may not be seen.',
        resolve: (event, _args, { loaders }) => loaders.toolCalls.load(event.data.toolCallId),
      }),
    toolCalls: <E extends Has<{ toolCallIds: string[] }>>(t: FieldBuilder<E>) =>
      t.field({
        type: [refs.ToolCall],
        description: 'The open client calls of this event.',
        resolve: async (event, _args, { loaders }) => {
          const calls = await Promise.all(
            event.data.toolCallIds.map((callId) => loaders.toolCalls.load(callId)),
          )
          return calls.filter((call) => call !== null)
        },
      }),
    child: <E extends Has<{ childId: string }>>(t: FieldBuilder<E>) =>
      t.field({
        type: refs.Generation,
        nullable: true,
        description: 'The child run as it is now; null when it may not be seen.',
        resolve: (event, _args, { loaders }) => loaders.generations.load(event.data.childId),
      }),
    approval: <E extends Has<{ approvalId: string }>>(t: FieldBuilder<E>) =>
      t.field({
        type: refs.Approval,
        nullable: true,
        description: 'The approval as it is now; null when it may not be seen.',
        resolve: (event, _args, { loaders }) => loaders.approvals.load(event.data.approvalId),
      }),
    grant: <E extends Has<{ grantId: string }>>(t: FieldBuilder<E>) =>
      t.field({
        type: refs.Grant,
        nullable: true,
        description: 'The grant as it is now; null when it may not be seen.',
        resolve: (event, _args, { loaders }) => loaders.grants.load(event.data.grantId),
      }),
  }
}
