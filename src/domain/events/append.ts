/**
 * Writes events, in the transaction of the change that they report, and says whose the things are that they tell of.
 * The store takes any name and any data; these are the same functions for events that are declared.
 */
import { type Database, jsonb, query } from '../../store/db/database.ts'
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
  type RootCopy,
  type RecordedEvent,
} from './event.ts'
import type { Hint } from '../../store/pubsub/pubsub.ts'
import type { Owner } from '../../store/work/owner.ts'
import * as store from '../../store/events/log.ts'
import { writeJson } from '../../core/json.ts'
import { batchStatements } from '../../store/db/fast-statements.ts'
import { memoryOf } from '../basis/index.ts'
import { rowsOf } from '../../store/db/rows.ts'

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

/** The copies that the root of a generation gets of its events, in their order. */
export function rootCopies(events: readonly GenerationEvent[], descendantId: string): RootCopy[] {
  return events.flatMap((event) => {
    if (!eventKinds[event.type].traits.copiedToRoot) return []
    return [{ type: event.type, data: { ...event.data, descendantId } } as RootCopy]
  })
}

/** See the store's function of the same name. */
export const insertRootCopies: (copies: readonly RootCopy[]) => SQL = store.insertRootCopies

/**
 * The part of a statement that appends events to an owner's log and their copies to that of its root, and wakes the
 * owner when it is parked: now, at an SQL moment, or not at all with null. With `when`, a relation of at most one
 * row, nothing is written and no row is returned when that is empty. `claim` claims it instead of waking it. The owner
 * and its root must be locked.
 */
export function ownerUpdate(
  owner: Owner,
  events: readonly GenerationEvent[],
  wake: 'now' | SQL | null,
  { when = null, claim = null }: { when?: SQL | null; claim?: store.OwnerClaim | null } = {},
): store.OwnerUpdate {
  return store.ownerUpdate(owner, { events, copies: rootCopies(events, owner.id), wake, when, claim })
}

/** An update of an owner as a statement of its own. Returns the hints to publish after the commit. */
export async function updateOwner(
  tx: Database,
  owner: Owner,
  events: readonly GenerationEvent[],
  wake: 'now' | SQL | null,
): Promise<Hint[]> {
  return store.runOwnerUpdate(tx, ownerUpdate(owner, events, wake))
}

/** What an event tells of: the first of these ids that it has. */
interface Subject {
  g: string | null
  c: string | null
  a: string | null
  f: string | null
}

function subjectOf({ generationId: g, data }: RecordedEvent): Subject | null {
  const { toolCallId, approvalId, fileId } = data as Record<string, unknown>
  const text = (id: unknown) => (typeof id === 'string' ? id : null)
  if (g) return { g, c: null, a: null, f: null }
  const subject = { g: null, c: text(toolCallId), a: text(approvalId), f: text(fileId) }
  return subject.c || subject.a || subject.f ? subject : null
}

/** The requesters that one process remembers: they never change. */
const requestersIn = memoryOf<string>(10_000)
const readRequester = batchStatements(readRequesters)

async function readRequesters(
  { db }: { db: Database },
  subjects: readonly Subject[],
): Promise<readonly (string | null)[]> {
  const given = subjects.map((subject, i) => ({ i, ...subject }))
  const rows = await query<{ i: number; by: string | null }>(
    db,
    sql`select s.i, coalesce(
        (select requested_by from generations where id = s.g),
        (select requested_by from tool_calls where id = s.c),
        (select requested_by from approvals where id = s.a),
        (select created_by from files where id = s.f)
      ) as by
      from ${rowsOf(jsonb(given), given.length, 's(i int, g text, c text, a text, f text)')}`,
  )
  const found = new Map(rows.map(({ i, by }) => [i, by]))
  return subjects.map((_subject, i) => found.get(i) ?? null)
}

/** The id of the key or person that requested what the event tells of; null when it is of nobody, or cannot be told any more. */
export async function requesterOf(db: Database, event: RecordedEvent): Promise<string | null> {
  if (event.requestedBy !== null) return event.requestedBy
  const subject = subjectOf(event)
  if (!subject) return null
  const requesters = requestersIn(db)
  const key = writeJson(subject)
  const found = requesters.get(key) ?? (await readRequester({ db }, subject))
  if (found !== null) requesters.set(key, found)
  return found
}
