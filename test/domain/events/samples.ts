/** One event of each kind. A kind without a sample does not compile. */
import {
  eventKinds,
  samples,
  type DomainEvent,
  type EventData,
  type EventType,
  type GenerationEvent,
} from '../../../src/domain/events/index.ts'

export { samples }

export const eventTypes = Object.keys(samples) as EventType[]

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
