/** Events on the wire: one interface for each feed, one type for each kind. */
import type { EventKind } from './event-kind.ts'
import { eventKinds } from './event-kinds.ts'
import type { DeltaShape, EventShape, FactShape, Refs } from './refs.ts'

export type EventTypes = ReturnType<typeof addEvents>

export function addEvents(refs: Refs) {
  const { builder } = refs
  const EventType = builder.enumType('EventType', {
    description: 'Kinds of events. Clients must expect new ones.',
    values: Object.fromEntries([
      ...eventKinds.map((kind) => [kind.type, { description: kind.description }]),
      ['TEXT_DELTA', { description: 'Text on its way; never part of the log.' }],
    ]) as Record<string, { description: string }>,
  })
  const nameByType = new Map(eventKinds.map((kind) => [kind.type, kind.name]))
  const resolveType = (event: EventShape) => nameByType.get(event.type) ?? 'TextDeltaEvent'
  const cursor = 'Where it stands; pass it as after to go on behind it. The same in subscription and query.'
  const GenerationEvent = builder.interfaceRef<EventShape>('GenerationEvent').implement({
    description:
      'Something that happened to a generation. Clients must be ready for eventKinds they do not know.',
    resolveType,
    fields: (t) => ({
      cursor: t.exposeString('cursor', { description: cursor }),
      generationId: t.id({
        nullable: true,
        description: 'The generation; null for a direct call.',
        resolve: (event) => event.generationId,
      }),
      type: t.field({ type: EventType, description: 'Its kind.', resolve: (event) => event.type as never }),
      at: t.expose('at', { type: 'DateTime', description: 'When it happened.' }),
    }),
  })
  const ProjectEvent = builder.interfaceRef<EventShape>('ProjectEvent').implement({
    description:
      'Something that happened in a project. Clients must be ready for eventKinds they do not know.',
    resolveType,
    fields: (t) => ({
      cursor: t.exposeString('cursor', { description: cursor }),
      projectId: t.exposeID('projectId', { description: 'The project.' }),
      type: t.field({ type: EventType, description: 'Its kind.', resolve: (event) => event.type as never }),
      at: t.expose('at', { type: 'DateTime', description: 'When it happened.' }),
    }),
  })
  for (const kind of eventKinds) addKind(refs, kind, GenerationEvent, ProjectEvent)
  addDelta(refs, GenerationEvent)
  return { GenerationEvent, ProjectEvent, EventType }
}

function addKind(refs: Refs, kind: EventKind, ofGeneration: unknown, ofProject: unknown): void {
  const { builder } = refs
  const interfaces = kind.of === 'project' ? [ofProject] : [ofGeneration, ofProject]
  builder.objectRef<FactShape>(kind.name).implement({
    description: kind.description,
    interfaces: interfaces as never,
    fields: (t) => {
      const text = (name: string, description: string) =>
        t.string({ description, resolve: (event) => String(event.data[name]) })
      const number = (name: string, description: string) =>
        t.int({ description, resolve: (event) => Number(event.data[name]) })
      const id = (name: string, description: string) =>
        t.id({ description, resolve: (event) => String(event.data[name]) })
      const names = (name: string, description: string) =>
        t.stringList({ description, resolve: (event) => event.data[name] as string[] })
      const fields = {
        stepIndex: () => number('stepIndex', 'The step, from 1.'),
        attempt: () => number('attempt', 'The attempt that begins, from 1.'),
        reason: () => text('reason', 'Why, for programs.'),
        name: () => text('name', 'The name at that time.'),
        callStatus: () => text('status', 'The outcome, a ToolCallStatus.'),
        stopReason: () => text('stopReason', 'Why it ended.'),
        code: () => text('code', 'Why it failed.'),
        upstreamStatus: () => text('status', 'The status, an UpstreamStatus.'),
        faultCode: () =>
          t.string({
            nullable: true,
            description: 'What went wrong, for programs; null when nothing did.',
            resolve: (event) => (event.data['code'] ?? null) as string | null,
          }),
        added: () => names('added', 'Tools that are new.'),
        removed: () => names('removed', 'Tools that are gone.'),
        changed: () => names('changed', 'Tools that are defined otherwise.'),
        toolId: () => id('toolId', 'The tool.'),
        agentId: () => id('agentId', 'The agent.'),
        child: () =>
          t.field({
            type: refs.Generation,
            nullable: true,
            description: 'The run within the run as it is now; null when it may not be seen.',
            resolve: (event, _args, { loaders }) => loaders.generations.load(String(event.data['childId'])),
          }),
        childId: () => id('childId', 'The run within the run.'),
        childStatus: () => text('status', 'How it ended, a GenerationStatus.'),
        descendantId: () =>
          t.id({
            nullable: true,
            description:
              'In the log of a root: the run under it that this happened to. null when it happened to the generation itself.',
            resolve: (event) => (event.data['descendantId'] as string | undefined) ?? null,
          }),
        verdict: () => text('verdict', 'The verdict.'),
        outcome: () => text('outcome', 'SUCCEEDED, FAILED or RUN_AGAIN.'),
        decidedBy: () => id('decidedBy', 'The key that said so; `system` for an answer that came late.'),
        approval: () =>
          t.field({
            type: refs.Approval,
            nullable: true,
            description: 'The approval as it is now; null when it may not be seen.',
            resolve: (event, _args, { loaders }) => loaders.approvals.load(String(event.data['approvalId'])),
          }),
        grant: () =>
          t.field({
            type: refs.Grant,
            nullable: true,
            description: 'The grant as it is now; null when it may not be seen.',
            resolve: (event, _args, { loaders }) => loaders.grants.load(String(event.data['grantId'])),
          }),
        target: () => id('target', 'The tool, agent or project that it is about.'),
        gateChangeId: () => id('gateChangeId', 'The proposed change.'),
        proposedBy: () => id('proposedBy', 'Who proposed it.'),
        apiKeyId: () => id('apiKeyId', 'The key.'),
        step: () =>
          t.field({
            type: refs.Step,
            nullable: true,
            description: 'The step with the whole text.',
            resolve: async (event, _args, { loaders }) => {
              const steps = await loaders.stepsOf.load(event.generationId!)
              return steps.find((step) => step.stepIndex === event.data['stepIndex']) ?? null
            },
          }),
        toolCall: () =>
          t.field({
            type: refs.ToolCall,
            nullable: true,
            description: 'The call as it is now; null when it may not be seen.',
            resolve: (event, _args, { loaders }) => loaders.toolCalls.load(String(event.data['toolCallId'])),
          }),
        toolCalls: () =>
          t.field({
            type: [refs.ToolCall],
            description: 'The open client calls that this event tells of.',
            resolve: async (event, _args, { loaders }) => {
              const ids = event.data['toolCallIds'] as string[]
              const calls = await Promise.all(ids.map((callId) => loaders.toolCalls.load(callId)))
              return calls.filter((call) => call !== null)
            },
          }),
      }
      return Object.fromEntries(
        (kind.fields ?? []).map((name) => [name.endsWith('Status') ? 'status' : name, fields[name]()]),
      ) as never
    },
  })
}

function addDelta(refs: Refs, ofGeneration: unknown): void {
  refs.builder.objectRef<DeltaShape>('TextDeltaEvent').implement({
    description:
      'Text on its way. It may be dropped under pressure: MessageCommittedEvent repeats the whole.',
    interfaces: [ofGeneration] as never,
    fields: (t) => ({
      stepIndex: t.exposeInt('stepIndex', { description: 'The step, from 1.' }),
      attempt: t.exposeInt('attempt', { description: 'The attempt; drop what you have of an earlier one.' }),
      offset: t.exposeInt('offset', { description: 'UTF-16 code units of this attempt before this piece.' }),
      text: t.exposeString('text', { description: 'The piece.' }),
    }),
  })
}
