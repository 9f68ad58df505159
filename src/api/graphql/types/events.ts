/** Events in GraphQL: an interface for each of the two streams, and an object type for each event type. */
import { eventKinds, type EventType } from '../../../domain/events/index.ts'
import { eventFields, type EventObject } from './event-fields.ts'
import { eventObjects } from './event-objects.ts'
import type { DeltaShape, EventShape, Fact, Refs, StartShape } from '../builder/refs.ts'

export type EventTypes = ReturnType<typeof addEvents>

/** The name of the object type of an event: TOOL_CALL_SETTLED is a ToolCallSettledEvent. */
function nameOf({ type }: Pick<EventShape, 'type'>): string {
  const words = type.split('_').map((word) => word[0] + word.slice(1).toLowerCase())
  return `${words.join('')}Event`
}

export function addEvents(refs: Refs) {
  const interfaces = addInterfaces(refs)
  const fields = eventFields(refs)
  const add = <Type extends EventType>(type: Type) => {
    const { description, fields: own }: EventObject<Type> = eventObjects[type]
    refs.builder.objectRef<Fact<Type>>(nameOf({ type })).implement({
      description,
      interfaces: eventKinds[type].traits.inGeneration
        ? [interfaces.GenerationEvent, interfaces.ProjectEvent]
        : [interfaces.ProjectEvent],
      fields: (t) => own?.(t, fields) ?? {},
    })
  }
  for (const { type } of Object.values(eventKinds)) add(type)
  addDelta(refs, interfaces)
  addStart(refs, interfaces)
  return interfaces
}

function addInterfaces({ builder }: Refs) {
  const described: Record<EventType, { description: string }> = eventObjects
  const EventType = builder.enumType('EventType', {
    description: 'The type of an event. Clients must expect new types.',
    values: {
      ...described,
      TEXT_DELTA: {
        description: 'The model wrote a piece of text. The event is live only and never part of the log.',
      },
      STREAM_STARTED: {
        description:
          'The first event of a subscription projectEvents without after, also with a list of types: its cursor is the ' +
          'beginning of the stream. It is never part of the log.',
      },
    },
  })
  const cursor =
    'The cursor of the event; pass it as after to continue after the event. It is the same in subscriptions ' +
    'and queries.'
  const GenerationEvent = builder.interfaceRef<EventShape>('GenerationEvent').implement({
    description: 'An event of a generation. Clients must ignore event types they do not know.',
    resolveType: nameOf,
    fields: (t) => ({
      cursor: t.exposeString('cursor', { description: cursor }),
      generationId: t.id({
        nullable: true,
        description: 'The id of the generation; null for an event outside a generation, as of a direct call.',
        resolve: (event) => event.generationId,
      }),
      type: t.field({
        type: EventType,
        description: 'The type of the event.',
        resolve: (event) => event.type,
      }),
      at: t.expose('at', { type: 'DateTime', description: 'When the event was committed.' }),
    }),
  })
  const ProjectEvent = builder.interfaceRef<EventShape>('ProjectEvent').implement({
    description: 'An event of a project. Clients must ignore event types they do not know.',
    resolveType: nameOf,
    fields: (t) => ({
      cursor: t.exposeString('cursor', { description: cursor }),
      projectId: t.exposeID('projectId', { description: 'The id of the project of the event.' }),
      type: t.field({
        type: EventType,
        description: 'The type of the event.',
        resolve: (event) => event.type,
      }),
      at: t.expose('at', { type: 'DateTime', description: 'When the event was committed.' }),
    }),
  })
  return { GenerationEvent, ProjectEvent, EventType }
}

function addDelta({ builder }: Refs, { GenerationEvent }: ReturnType<typeof addInterfaces>): void {
  builder.objectRef<DeltaShape>('TextDeltaEvent').implement({
    description:
      'A piece of text that the model wrote. It may be dropped for a slow client: MessageCommittedEvent has ' +
      'the whole text.',
    interfaces: [GenerationEvent],
    fields: (t) => ({
      stepIndex: t.exposeInt('stepIndex', {
        description: 'The number of the step in the generation, from 1.',
      }),
      attempt: t.exposeInt('attempt', {
        description: 'The number of the attempt, from 1: discard the text of earlier attempts of the step.',
      }),
      offset: t.exposeInt('offset', {
        description: 'The offset of the piece in the text of the attempt, in UTF-16 code units.',
      }),
      text: t.exposeString('text', { description: 'The piece of text.' }),
    }),
  })
}

function addStart({ builder }: Refs, { ProjectEvent }: ReturnType<typeof addInterfaces>): void {
  builder.objectRef<StartShape>('StreamStartedEvent').implement({
    description:
      'The beginning of a subscription projectEvents without after. A client that subscribes again with this cursor as ' +
      'after misses no event, even if it had received no other one when its connection was lost.',
    interfaces: [ProjectEvent],
  })
}
