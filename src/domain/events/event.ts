/**
 * All kinds of events, and the types that follow from them. An event kind is declared in this module and named
 * nowhere else.
 */
import { z } from 'zod'
import { scalar } from '../../core/shapes.ts'
import type { EventRow } from '../../store/events/read.ts'
import * as agents from './agent-events.ts'
import * as approvals from './approval-events.ts'
import { kindsIn } from './define.ts'
import * as generations from './generation-events.ts'
import * as project from './project-events.ts'
import * as resources from './project-events.ts'
import * as calls from './tool-call-events.ts'
import * as triggers from './agent-events.ts'

/** Every kind that these modules export, by its type. */
export const eventKinds = kindsIn({
  ...agents,
  ...approvals,
  ...calls,
  ...generations,
  ...project,
  ...resources,
  ...triggers,
})
type Kinds = typeof eventKinds

export type EventType = keyof Kinds
/** Such a type as a field. */
export const eventType = scalar('EventType', z.custom<EventType>())

/** The data of each kind as it is written. */
export type EventData = { [Type in EventType]: Parameters<Kinds[Type]>[0] }

const unsent: ReadonlySet<string> = new Set(
  Object.values(eventKinds).flatMap(({ type, facts }) => (facts.unsent ? [type] : [])),
)

/** Whether webhooks are sent events of a type. */
export const isSent = (type: string): boolean => !unsent.has(type)

/** An event that has happened, to be written in the transaction of the change that it reports. */
export type DomainEvent = { [Type in EventType]: { type: Type; data: EventData[Type] } }[EventType]

type With<Traits> = {
  [Type in EventType]: (typeof eventKinds)[Type]['traits'] extends Traits ? Type : never
}[EventType]

/** An event that the log of a generation can hold. */
export type GenerationEvent = Extract<DomainEvent, { type: With<{ inGeneration: true }> }>

/** An event of what a principal requested. */
export type RequestedEvent = Extract<DomainEvent, { type: With<{ ofRequester: true }> }>

/** An event for the feed of a project alone: with its requester, where it is of one. */
export type ProjectEvent =
  | Exclude<DomainEvent, RequestedEvent>
  | (RequestedEvent & { requestedBy: string | null })

/** Kinds that a generation copies into the log of its root. */
export type CopiedType = With<{ copiedToRoot: true }>

/** The name of a type in webhooks: `approval.requested` for APPROVAL_REQUESTED. */
export function publicName(type: EventType): string {
  if (type === generations.requiresAction.type) return 'generation.requires_action'
  const words = type.toLowerCase().split('_')
  return `${words.slice(0, -1).join('_')}.${words.at(-1)}`
}

/** A copy in the log of a root; `descendantId` is the generation that it happened to. */
export type RootCopy = {
  [Type in CopiedType]: { type: Type; data: EventData[Type] & { descendantId: string } }
}[CopiedType]

/**
 * The data of a kind as it is read. `descendantId` is there in copies only. Fields that are optional in EventData are
 * those that an event of the same kind may have been written without, now or by an earlier release.
 */
export type RecordedData<Type extends EventType> = EventData[Type] &
  (Type extends CopiedType ? { descendantId?: string } : unknown)

/** An event out of the log, with its place there. Its `type` narrows its `data`. */
export type RecordedEvent = { [Type in EventType]: EventRow<Type, RecordedData<Type>> }[EventType]
