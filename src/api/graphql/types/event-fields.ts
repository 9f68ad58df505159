/** The fields of event objects. Each accepts the builder of any event whose data has what the field reads. */
import type { EventType, RecordedEvent } from '../../../domain/events/index.ts'
import type { SchemaTypes } from '../builder/builder.ts'
import { principalField } from './principals.ts'
import type { Fact, Refs } from '../builder/refs.ts'

export type EventFields = ReturnType<typeof eventFields>

/** Declares fields of objects that resolve from `Shape`. */
export type FieldBuilder<Shape> = PothosSchemaTypes.ObjectFieldBuilder<
  PothosSchemaTypes.ExtendDefaultTypes<SchemaTypes>,
  Shape
>

type Field = ReturnType<EventFields[keyof EventFields]>

/** An event type as an object: its description, and its own fields. */
export interface EventObject<Type extends EventType> {
  description: string
  fields?: (t: FieldBuilder<Fact<Type>>, f: EventFields) => Record<string, Field>
}

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
    stepIndex: number('stepIndex', 'The number of the step in the generation, from 1.'),
    attempt: number('attempt', 'The number of the attempt that begins, from 1.'),
    reason: text('reason', 'The stable code of the reason, for programs.'),
    unknownReason: text(
      'reason',
      'Why the outcome is unknown: NO_RESPONSE (the tool gave no final response), NOT_STORED (the database refused to ' +
        'store the response), WORKER_LOST (the process that sent the call was lost) or GENERATION_ENDED (the generation ended while the call ran).',
    ),
    name: text('name', 'The name of the tool, agent or project at the time of the event.'),
    callStatus: text('status', 'The outcome of the call, a ToolCallStatus.'),
    childStatus: text('status', 'The final status of the child run, a GenerationStatus.'),
    upstreamStatus: text('status', 'The new status of the server, an UpstreamStatus.'),
    stopReason: text('stopReason', 'Why the generation ended, a StopReason.'),
    failureCode: text('code', 'Why the generation failed, a GenerationFailureCode.'),
    faultCode: <E extends Has<{ code: string | null }>>(t: FieldBuilder<E>) =>
      t.string({
        nullable: true,
        description: 'The stable code of the failure for programs; null when the server responds.',
        resolve: (event) => event.data.code,
      }),
    resourceName: text('name', 'The name of the secret or model provider.'),
    fileName: text('name', 'The name of the file.'),
    fileId: id('fileId', 'The id of the file.'),
    added: names('added', 'The names of the tools that the server has added.'),
    removed: names('removed', 'The names of the tools that the server has removed.'),
    changed: names('changed', 'The names of the tools whose definition has changed.'),
    toolId: id('toolId', 'The id of the tool.'),
    agentId: id('agentId', 'The id of the agent.'),
    apiKeyId: id('apiKeyId', 'The id of the API key.'),
    webhookId: id('webhookId', 'The id of the webhook.'),
    holdId: id('holdId', 'The id of the legal hold.'),
    removalId: id('removalId', 'The id of the request.'),
    requester: id('requester', 'The id of the API key or person whose data is meant.'),
    childId: id('childId', 'The id of the child run.'),
    descendantId: <E extends Has<{ descendantId?: string }>>(t: FieldBuilder<E>) =>
      t.id({
        nullable: true,
        description:
          'The id of the child run that the event is about, in the log of a root generation; null when it is ' +
          'about the generation itself.',
        resolve: (event) => event.data.descendantId ?? null,
      }),
    verdict: text('verdict', 'The verdict: APPROVE or REJECT.'),
    via: <E extends Has<{ via?: string }>>(t: FieldBuilder<E>) =>
      t.string({
        nullable: true,
        description: 'How the verdict was given, a VerdictWay; null in events of earlier releases.',
        resolve: (event) => event.data.via ?? null,
      }),
    integrationId: id('integrationId', 'The id of the Slack integration.'),
    outcome: text('outcome', 'The outcome that was set: SUCCEEDED, FAILED or RUN_AGAIN.'),
    decidedBy: id(
      'decidedBy',
      'The id of the API key or person that decided, or `system` for a result that arrived late.',
    ),
    claimedBy: id('claimedBy', 'The id of the API key or person that made the claim.'),
    extendedBy: id('extendedBy', 'The id of the API key or person that gave longer time.'),
    expiresAt: <E extends Has<{ expiresAt: string }>>(t: FieldBuilder<E>) =>
      t.field({
        type: 'DateTime',
        description: 'The new deadline of the approval.',
        resolve: (event) => new Date(event.data.expiresAt),
      }),
    proposedBy: id('proposedBy', 'The id of the API key or person that proposed the change.'),
    target: id('target', 'The id of the object that it is about.'),
    gateChangeId: id('gateChangeId', 'The id of the proposed gate change.'),
  }
}

/** Fields that load the object an event names, in its current state. */
function relatedFields(refs: Refs) {
  return {
    decider: <E extends Has<{ decidedBy: string }>>(t: FieldBuilder<E>) =>
      t.field(principalField(refs, (event: E) => event.data.decidedBy, 'The principal that decided.')),
    proposer: <E extends Has<{ proposedBy: string }>>(t: FieldBuilder<E>) =>
      t.field(
        principalField(refs, (event: E) => event.data.proposedBy, 'The principal that proposed the change.'),
      ),
    step: <E extends Has<{ stepIndex: number }>>(t: FieldBuilder<E>) =>
      t.field({
        type: refs.Step,
        nullable: true,
        description: 'The committed step with the whole text.',
        resolve: async (event, _args, { loaders }) => {
          const steps = await loaders.stepsOf.load(event.generationId!)
          return steps.find((step) => step.stepIndex === event.data.stepIndex) ?? null
        },
      }),
    toolCall: <E extends Has<{ toolCallId: string }>>(t: FieldBuilder<E>) =>
      t.field({
        type: refs.ToolCall,
        nullable: true,
        description: 'The tool call as it is now; null when it is hidden from this API key.',
        resolve: (event, _args, { loaders }) => loaders.toolCalls.load(event.data.toolCallId),
      }),
    toolCalls: <E extends Has<{ toolCallIds: string[] }>>(t: FieldBuilder<E>) =>
      t.field({
        type: [refs.ToolCall],
        description: 'The open client tool calls that the generation waits for.',
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
        description: 'The child run as it is now; null when it is hidden from this API key.',
        resolve: (event, _args, { loaders }) => loaders.generations.load(event.data.childId),
      }),
    approval: <E extends Has<{ approvalId: string }>>(t: FieldBuilder<E>) =>
      t.field({
        type: refs.Approval,
        nullable: true,
        description: 'The approval as it is now; null when it is hidden from this API key.',
        resolve: (event, _args, { loaders }) => loaders.approvals.load(event.data.approvalId),
      }),
    grant: <E extends Has<{ grantId: string }>>(t: FieldBuilder<E>) =>
      t.field({
        type: refs.Grant,
        nullable: true,
        description: 'The grant as it is now; null when it is hidden from this API key.',
        resolve: (event, _args, { loaders }) => loaders.grants.load(event.data.grantId),
      }),
  }
}
