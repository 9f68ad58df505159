/** Events in GraphQL: an interface for each of the two feeds, and an object type for each kind of event. */
import { eventKinds, type EventType } from '../../domain/events/index.ts'
import { eventFields } from './event-fields.ts'
import { eventObjects, type EventObject } from './event-objects.ts'
import type { DeltaShape, EventShape, Fact, Refs } from './refs.ts'

export type EventTypes = ReturnType<typeof addEvents>

/** The name of the object type of a kind: TOOL_CALL_SETTLED is a ToolCallSettledEvent. */
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
  return interfaces
}

function addInterfaces({ builder }: Refs) {
  const described: Record<EventType, { description: string }> = eventObjects
  const EventType = builder.enumType('EventType', {
    description: 'Types of events. Clients must expect new ones.',
    values: {
      ...described,
      TEXT_DELTA: { description: 'A piece of text on its way; never part of the log.' },
    },
  })
  const cursor =
    'The place of the event; pass it as after to go on behind it. The same in subscription and query.'
  const GenerationEvent = builder.interfaceRef<EventShape>('GenerationEvent').implement({
    description: 'An event of a generation. Clients must expect event types that they do not know.',
    resolveType: nameOf,
    fields: (t) => ({
      cursor: t.exposeString('cursor', { description: cursor }),
      generationId: t.id({
        nullable: true,
        description: 'The generation; null for a direct call.',
        resolve: (event) => event.generationId,
      }),
      type: t.field({
        type: EventType,
        description: 'The type of the event.',
        resolve: (event) => event.type,
      }),
      at: t.expose('at', { type: 'DateTime', description: 'When it happened.' }),
    }),
  })
  const ProjectEvent = builder.interfaceRef<EventShape>('ProjectEvent').implement({
    description: 'An event of a project. Clients must expect event types that they do not know.',
    resolveType: nameOf,
    fields: (t) => ({
      cursor: t.exposeString('cursor', { description: cursor }),
      projectId: t.exposeID('projectId', { description: 'The project.' }),
      type: t.field({
        type: EventType,
        description: 'The type of the event.',
        resolve: (event) => event.type,
      }),
      at: t.expose('at', { type: 'DateTime', description: 'When it happened.' }),
    }),
  })
  return { GenerationEvent, ProjectEvent, EventType }
}

function addDelta({ builder }: Refs, { GenerationEvent }: ReturnType<typeof addInterfaces>): void {
  builder.objectRef<DeltaShape>('TextDeltaEvent').implement({
    description:
      'A piece of text on its way. It may be dropped under pressure: MessageCommittedEvent has the whole.',
    interfaces: [GenerationEvent],
    fields: (t) => ({
      stepIndex: t.exposeInt('stepIndex', { description: 'The step, from 1.' }),
      attempt: t.exposeInt('attempt', {
        description: 'The attempt; drop the text that you have of an earlier one.',
      }),
      offset: t.exposeInt('offset', { description: 'UTF-16 code units of this attempt before this piece.' }),
      text: t.exposeString('text', { description: 'The piece.' }),
    }),
  })
}
