/** Messages on their way to connectors: rows, so that a connector at any replica serves the calls of all of them. */
import { randomUUID } from 'node:crypto'
import { type JsonObject, writeJson } from '../../../core/json.ts'
import { nowPlus, query } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import type { Services } from '../../access/index.ts'

/** Where a connector is found. */
export interface ConnectorPlace {
  projectId: string
  name: string
}

/** A message as a connector gets it. */
export interface TakenMessage {
  id: string
  /** JSON-RPC, as JSON text. */
  message: string
}

/** What is known of a message that was sent. */
export interface MessageState {
  id: string
  /** Whether it was not taken in time, and will not be. */
  late: boolean
  /** The result or error as JSON text. */
  answer: string | null
  /** Whether the process that took it is gone, so that no answer will come. */
  lost: boolean
}

/** A connector that has not asked for messages for so long is gone, in milliseconds. */
export const goneMs = 15_000
/** The most messages of a connector that are not answered. */
const maxOpen = 64
/** The most messages that are taken at once. */
const maxTaken = 16
/** Messages whose sender was lost, and connectors that do not come back, are deleted after this time, in milliseconds. */
const forgottenMs = 60 * 60_000
/** Older messages are taken already, or never: those that were left behind are not read at each poll. In milliseconds. */
export const takenByMs = 60_000

/** The name of a connector among those of all projects. */
export function connectorKey({ projectId, name }: ConnectorPlace): string {
  return `${projectId} ${name}`
}

const isHere = sql`seen_at > ${nowPlus(-goneMs)}`

/**
 * How long a message waits to be taken, in milliseconds. Half as much again may pass until the connector has it: together
 * less than is left of a lease that its holder is sure of, and than a call may wait that no pause held.
 */
export function takeMs({ limits }: Pick<Services, 'limits'>): number {
  return Math.min(1000, Math.round(limits.leaseMs * 0.1))
}

/** The time of the database, if the connector is connected; else null. */
export async function connectedAt(
  services: Pick<Services, 'db'>,
  { projectId, name }: ConnectorPlace,
): Promise<Date | null> {
  const [row] = await query<{ at: number }>(
    services.db,
    sql`
      select (extract(epoch from now()) * 1000)::float8 as at
      from connectors
      where project_id = ${projectId}
        and name = ${name}
        and ${isHere}`,
  )
  return row ? new Date(row.at) : null
}

/**
 * Sends a JSON-RPC request under an id of our own, which no other connection uses, to be taken within `takeMs` of this time
 * of the database, however long the statement takes. Returns the id, or null when the connector is not connected or has too
 * much to do: nothing was sent.
 */
export async function putRequest(
  services: Pick<Services, 'db' | 'pubsub' | 'limits'>,
  place: ConnectorPlace,
  request: JsonObject,
  at: Date,
): Promise<string | null> {
  const id = randomUUID()
  const message = writeJson({ ...request, id })
  const isPut = await put(services, place, { id, message, answer: null, at })
  return isPut ? id : null
}

/** Sends that the request is cancelled, unless it was not taken: then it is deleted. */
export async function cancel(
  services: Pick<Services, 'db' | 'pubsub' | 'limits'>,
  place: ConnectorPlace,
  requestId: string,
): Promise<void> {
  if (await withdraw(services, requestId)) return
  const message = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } }
  // Nobody waits for an answer.
  const at = await connectedAt(services, place)
  if (at) await put(services, place, { id: randomUUID(), message: writeJson(message), answer: '', at })
}

async function put(
  services: Pick<Services, 'db' | 'pubsub' | 'limits'>,
  place: ConnectorPlace,
  { id, message, answer, at }: { id: string; message: string; answer: string | null; at: Date },
): Promise<boolean> {
  const { projectId, name } = place
  const takeBy = new Date(at.getTime() + takeMs(services)).toISOString()
  const rows = await query(
    services.db,
    sql`
      insert into connector_messages (id, project_id, connector, message, answer, take_by)
      select ${id}, ${projectId}, ${name}, ${message}, ${answer}::text, ${takeBy}::timestamptz
      from connectors
      where project_id = ${projectId}
        and name = ${name}
        and ${isHere}
        and (
          select count(*)
          from connector_messages m
          where m.project_id = ${projectId}
            and m.connector = ${name}
            and m.answer is null
            and (m.taken_by = connectors.instance or m.taken_at is null and m.take_by > now())
        ) < ${maxOpen}
      returning id`,
  )
  if (rows.length > 0)
    services.pubsub.publish([{ kind: 'signal', name: 'connector', id: connectorKey(place) }])
  return rows.length > 0
}

/** Takes messages for this instance, oldest first; none when another one has the connector. */
export function takeMessages(
  services: Pick<Services, 'db'>,
  { projectId, name }: ConnectorPlace,
  instance: string,
): Promise<TakenMessage[]> {
  return query<TakenMessage>(
    services.db,
    sql`
      with due as (
        select id
        from connector_messages
        where project_id = ${projectId}
          and connector = ${name}
          and created_at > ${nowPlus(-takenByMs)}
          and taken_at is null
          and take_by > now()
          and exists (
            select 1
            from connectors
            where connectors.project_id = ${projectId}
              and connectors.name = ${name}
              and connectors.instance = ${instance}
          )
        order by created_at
        limit ${maxTaken}
        for update skip locked
      )
      update connector_messages
      set taken_at = now(),
        taken_by = ${instance}
      from due
      where connector_messages.id = due.id
      returning connector_messages.id, message`,
  )
}

/** Gives back messages that were taken and have not left: their senders withdraw them, or others take them in time. */
export async function giveBack(
  services: Pick<Services, 'db'>,
  messages: readonly TakenMessage[],
): Promise<void> {
  await query(
    services.db,
    sql`
      update connector_messages
      set taken_at = null,
        taken_by = null
      where id in ${messages.map(({ id }) => id)}`,
  )
}

/** Writes the answer of a message that this instance took. A repeat, or an answer that nobody waits for, changes nothing. */
export async function writeAnswer(
  services: Pick<Services, 'db' | 'pubsub'>,
  { projectId, name }: ConnectorPlace,
  { instance, id, answer }: { instance: string; id: string; answer: string },
): Promise<void> {
  const rows = await query(
    services.db,
    sql`
      update connector_messages
      set answer = ${answer}
      where id = ${id}
        and project_id = ${projectId}
        and connector = ${name}
        and taken_by = ${instance}
        and answer is null
      returning id`,
  )
  if (rows.length > 0) services.pubsub.publish([{ kind: 'signal', name: 'connector-answered', id }])
}

/** Deletes the message if nobody has taken it; true when it will certainly never be taken. */
export async function withdraw(services: Pick<Services, 'db'>, id: string): Promise<boolean> {
  const rows = await query(
    services.db,
    sql`delete from connector_messages where id = ${id} and taken_at is null returning id`,
  )
  return rows.length > 0
}

/** Deletes a message that its sender is done with. */
export async function dropMessage(services: Pick<Services, 'db'>, id: string): Promise<void> {
  await query(services.db, sql`delete from connector_messages where id = ${id}`)
}

/** What is known of these messages. */
export function readStates(services: Pick<Services, 'db'>, ids: readonly string[]): Promise<MessageState[]> {
  return query<MessageState>(
    services.db,
    sql`
      select
        id,
        taken_at is null and take_by <= now() as late,
        answer,
        taken_at is not null and answer is null and not exists (
          select 1
          from connectors
          where connectors.project_id = m.project_id
            and connectors.name = m.connector
            and connectors.instance = m.taken_by
            and ${isHere}
        ) as lost
      from connector_messages m
      where id in ${[...ids]}`,
  )
}

/** Deletes messages whose sender was lost, and connectors that ended without a word. */
export async function forgetConnectors(db: Services['db']): Promise<void> {
  await query(db, sql`delete from connector_messages where created_at < ${nowPlus(-forgottenMs)}`)
  await query(db, sql`delete from connectors where seen_at < ${nowPlus(-forgottenMs)}`)
}
