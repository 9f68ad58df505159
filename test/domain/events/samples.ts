/** One event of each kind. */
import {
  eventKinds,
  type DomainEvent,
  type EventData,
  type EventType,
  type GenerationEvent,
} from '../../../src/domain/events/index.ts'

export const eventTypes = Object.keys(eventKinds) as EventType[]

/** The data of each kind. */
export const samples = Object.fromEntries(
  Object.values(eventKinds).map(({ type, sample }) => [type, sample]),
) as EventData

const constructors: { [Type in EventType]: (data: EventData[Type]) => DomainEvent } = eventKinds

/** The event of the sample, made by its constructor. */
export function sampleOf<Type extends EventType>(type: Type): DomainEvent {
  return constructors[type](samples[type])
}

/** The samples that the log of a generation can hold. */
export const generationSamples = eventTypes.map(sampleOf).filter(isOfGeneration)

function isOfGeneration(event: DomainEvent): event is GenerationEvent {
  return eventKinds[event.type].traits.inGeneration
}
