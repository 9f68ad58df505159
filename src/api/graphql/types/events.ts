/** Events in GraphQL: an interface for each of the two streams, and an object type for each event type. */
import type { InterfaceRef } from '@pothos/core'
import type { z } from 'zod'
import { idShape, isOptional } from '../../../core/shapes.ts'
import { fieldNameOf, relationOf } from '../../../core/view.ts'
import { eventKinds, type EventFacts } from '../../../domain/events/index.ts'
import type { BuilderTypes } from '../builder/builder.ts'
import type { Loaders } from '../builder/context.ts'
import { connectionOf } from '../builder/connections.ts'
import { mapValues } from '../builder/shapes.ts'
import type { DeltaShape, EventShape, Fact, Refs, StartShape } from '../builder/refs.ts'

export type EventTypes = ReturnType<typeof addEvents>

/** The name of the object type of an event: TOOL_CALL_SETTLED is a ToolCallSettledEvent, unless kinds share a type. */
function nameOf({ type }: { type: string }): string {
  const shared = (eventKinds as Record<string, { facts: EventFacts } | undefined>)[type]?.facts.object
  const words = type.split('_').map((word) => word[0] + word.slice(1).toLowerCase())
  return `${shared ?? words.join('')}Event`
}

export function addEvents(refs: Refs) {
  const interfaces = addInterfaces(refs)
  const { GenerationEvent, ProjectEvent } = interfaces
  const kinds = new Map<string, Kind[]>()
  for (const kind of Object.values(eventKinds))
    kinds.set(nameOf(kind), [...(kinds.get(nameOf(kind)) ?? []), kind])
  for (const [name, same] of kinds)
    addEvent(
      refs,
      name,
      same,
      same[0]!.traits.inGeneration ? [GenerationEvent, ProjectEvent] : [ProjectEvent],
    )
  addDelta(refs, interfaces)
  addStart(refs, interfaces)
  const EventConnection = connectionOf<EventShape>(ProjectEvent, 'ProjectEvent')
  return { ...interfaces, EventConnection }
}

type Kind = { type: string; traits: { copiedToRoot: boolean; inGeneration: boolean }; facts: EventFacts }

/** A kind, or several that share a type, as an object type: the fields of the data, and the objects that they name. */
export function addEvent(
  refs: Refs,
  name: string,
  kinds: readonly Kind[],
  interfaces: InterfaceRef<BuilderTypes, EventShape>[],
): void {
  const shapes = shownShapes(kinds[0]!)
  for (const kind of kinds)
    if (formOf(kind) !== formOf(kinds[0]!))
      throw new Error(`${kind.type} has other fields than ${name}: clients could not select them together.`)
  refs.builder.objectRef<Fact>(name).implement({
    description: kinds[1]
      ? `An event of the type ${oneOf(kinds.map(({ type }) => type))}: EventType says what each means.`
      : kinds[0]!.facts.about,
    interfaces,
    fields: (t) =>
      refs.shapes.fieldsAt(t, shapes, ({ data }, key) => (data as Record<string, unknown>)[key], {
        Step: loadStep,
      }),
  })
}

/** What a document sees of a kind beside its values: its streams, and the fields with whether they may be null. */
const formOf = (kind: Kind): string =>
  [
    kind.traits.inGeneration,
    ...Object.entries(shownShapes(kind)).flatMap(([key, shape]) => [key, isOptional(shape)]),
  ].join()

const shownShapes = ({ facts: { data }, traits }: Kind): Record<string, z.ZodType> => ({
  ...Object.fromEntries(
    Object.entries(data.shape).filter(
      ([key, shape]) => fieldNameOf(shape, key) !== null || relationOf(shape),
    ),
  ),
  ...(traits.copiedToRoot && { descendantId }),
})

const oneOf = (words: readonly string[]) => new Intl.ListFormat('en', { type: 'disjunction' }).format(words)

/** Copies alone have it. */
const descendantId = idShape(
  'The id of the child run that the event is about, in the log of a root generation; null when it is about the ' +
    'generation itself.',
).optional()

/** An event names the number of its step. */
async function loadStep({ stepsOf }: Loaders, _id: string, { generationId, data }: Fact) {
  const steps = await stepsOf.load(generationId!)
  return steps.find(({ stepIndex }) => stepIndex === (data as { stepIndex: number }).stepIndex) ?? null
}

function addInterfaces({ builder }: Refs) {
  const described = mapValues(eventKinds, ({ facts }) => ({ description: facts.about }))
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
