/**
 * Writes events, in the transaction of the change that they report. The store takes any name and any data; these are
 * the same functions for events of the domain, and no other module may call those of the store.
 */
import type { Database } from '../../store/db/database.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import * as log from '../../store/events/log.ts'
import type { EventKind } from './define.ts'
import {
  eventKinds,
  type EventData,
  type EventType,
  type GenerationEvent,
  type ProjectEvent,
  type RequestedEvent,
} from './event.ts'

/** The events with the id of the key or person that requested what they tell of. */
export function withRequester<Event extends RequestedEvent>(
  requestedBy: string | null,
  events: readonly Event[],
): (Event & { requestedBy: string | null })[] {
  return events.map((event) => ({ ...event, requestedBy }))
}

/** Appends events that belong to no generation. */
export const appendProjectEvents: (
  tx: Database,
  projectId: string,
  events: readonly ProjectEvent[],
) => Promise<void> = log.appendProjectEvents

/**
 * The same as a part of a larger statement. Nothing is written when `when`, a relation of at most one row, is empty.
 */
export const insertProjectEvents: (
  projectId: string,
  events: readonly ProjectEvent[],
  when?: SQL | null,
) => SQL = log.insertProjectEvents

/**
 * The part of a statement that inserts the events of the generations in `relation (id, project_id, requested_by, last_seq)`,
 * `g` unless named otherwise; the statement has raised `last_seq` by `events.length`.
 */
export const insertGenerationEvents: (events: readonly GenerationEvent[], relation?: SQL) => SQL =
  log.insertGenerationEvents

/**
 * The part of a statement that inserts an event for each of the rows `(project_id, generation_id, seq, type, data,
 * requested_by)`, in their order. `type` and `data` come from eventColumns or eventName.
 */
export const insertEventRows: (rows: SQL) => SQL = log.insertEvents

type Kind<Type extends EventType> = Pick<EventKind<Type, EventData[Type]>, 'type'>

/** The name of a kind as an SQL literal. */
export function eventName({ type }: Kind<EventType>): SQL {
  return sql.raw(`'${type}'`)
}

/** The columns `type` and `data` of an event whose fields are SQL expressions; each must have an SQL type. */
export function eventColumns<Type extends EventType>(
  kind: Kind<Type>,
  fields: { [Field in keyof EventData[Type]]: SQL },
): SQL {
  const pairs = Object.entries<SQL>(fields).map(([name, value]) => sql`${sql.raw(`'${name}'`)}, ${value}`)
  return sql`${eventName(kind)} as type, jsonb_build_object(${sql.join(pairs, sql`, `)}) as data`
}

/** The condition that an SQL expression names a kind that roots get copies of. */
export function isCopiedToRoot(type: SQL): SQL {
  const names = Object.values(eventKinds)
    .filter((kind) => kind.traits.copiedToRoot)
    .map(eventName)
  return sql`${type} in (${sql.join(names, sql`, `)})`
}
