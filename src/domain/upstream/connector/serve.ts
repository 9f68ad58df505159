/** Operations of connectors: to connect, take messages, answer them, say that lists changed, and leave. */
import { AppError, invalidAt } from '../../../core/errors.ts'
import { onAbort, elapsedSince, momentNow } from '../../../core/time.ts'
import { type JsonObject, writeJson } from '../../../core/json.ts'
import { atomically, nowPlus, query, type Database } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import { connectors } from '../../../store/db/tables/connectors.ts'
import { assertMay, assertQuota, recordChange, unauthenticatedError, type Ctx } from '../../access/index.ts'
import { connectorName, connectorUrl } from '../config.ts'
import { tooLarge } from './fetch.ts'
import { arrivalWatch } from './watch.ts'
import {
  writeAnswer,
  connectorKey,
  giveBack,
  goneMs,
  takeMessages,
  takeMs,
  type ConnectorPlace,
  type TakenMessage,
} from './messages.ts'
import { wakeUpstreams } from '../save.ts'

/** How long a request for messages waits for one, in milliseconds. */
const waitMs = 3000
const instanceShape = /^[A-Za-z0-9_-]{16,64}$/

/** One process that serves a connector. */
export interface ConnectorInput {
  name: string
  /** Chosen by the process: random, and the same in all of its requests. */
  instance: string
}

/**
 * Connects, or stays connected, and returns the messages that came meanwhile; none after some seconds, or when it has just
 * connected. Each is given out once. Action `connectors:Serve` on the connector. CONFLICT while another process has it.
 */
export async function nextMessages(
  ctx: Ctx,
  input: ConnectorInput,
  disconnected: AbortSignal,
): Promise<TakenMessage[]> {
  const place = await placeOf(ctx, input)
  // Who has just connected is told so at once.
  if (await hold(ctx, place, input.instance)) return []
  const until = Date.now() + waitMs
  const news = newsOf(ctx, place, disconnected)
  try {
    for (;;) {
      if (news.isRevoked()) throw unauthenticatedError()
      const found = disconnected.aborted ? [] : await takeInTime(ctx, place, input.instance, disconnected)
      const left = until - Date.now()
      if (found.length > 0 || left <= 0 || disconnected.aborted) return found
      await news.next(left)
    }
  } finally {
    news.end()
  }
}

/** Takes messages for a client that is there. What cannot leave soon is given back: its sender may not let it leave later. */
async function takeInTime(
  ctx: Ctx,
  place: ConnectorPlace,
  instance: string,
  disconnected: AbortSignal,
): Promise<TakenMessage[]> {
  const asked = momentNow()
  const found = await takeMessages(ctx, place, instance)
  const isLate = elapsedSince(asked) > takeMs(ctx) / 2
  if (found.length === 0 || !(isLate || disconnected.aborted)) return found
  await giveBack(ctx, found)
  return []
}

/** Answers a message: with the result or error of its request, or null when that was too large to send. */
export async function answerMessage(
  ctx: Ctx,
  input: ConnectorInput & { id: string; answer: JsonObject | null },
): Promise<void> {
  const place = await placeOf(ctx, input)
  const { id, answer, instance } = input
  const kept = answer && ('result' in answer ? { result: answer['result'] } : { error: answer['error'] })
  if (kept && Object.values(kept)[0] === undefined)
    throw invalidAt(['answer'], 'must have a "result" or an "error"')
  await writeAnswer(ctx, place, { instance, id, answer: kept ? writeJson(kept) : tooLarge })
}

/** Says that the lists of the server changed: the upstreams behind the connector are read again. */
export async function noteChange(ctx: Ctx, input: ConnectorInput): Promise<void> {
  await wake(ctx, await placeOf(ctx, input))
}

/** Disconnects: messages that were taken and not answered will not be. Idempotent. */
export async function leave(ctx: Ctx, input: ConnectorInput): Promise<void> {
  const place = await placeOf(ctx, input)
  const hasLeft = await atomically(ctx.db, async (tx) => {
    const rows = await query(
      tx,
      sql`
        delete from connectors
        where project_id = ${place.projectId}
          and name = ${place.name}
          and instance = ${input.instance}
        returning name`,
    )
    if (rows.length > 0) await audit(tx, ctx, place, { connected: false })
    return rows.length > 0
  })
  if (hasLeft) await wake(ctx, place)
}

async function placeOf(ctx: Ctx, { name, instance }: ConnectorInput): Promise<ConnectorPlace> {
  if (!connectorName.test(name)) throw invalidAt(['name'], 'must be lower-case letters, digits and hyphens')
  if (!instanceShape.test(instance))
    throw invalidAt(['instance'], 'must be 16 to 64 letters, digits, - and _')
  const { projectId } = ctx.principal
  await assertMay(ctx, 'connectors:Serve', projectId, `connector/${name}`)
  return { projectId, name }
}

/**
 * True when the process has just got the connector. The first of several has it until it leaves, or is not heard of any
 * more.
 */
async function hold(ctx: Ctx, place: ConnectorPlace, instance: string): Promise<boolean> {
  const { projectId, name } = place
  // Without a transaction: a process that hangs must not keep the row locked, which says that the connector is there.
  const kept = await query(
    ctx.db,
    sql`
      update connectors
      set seen_at = now()
      where project_id = ${projectId}
        and name = ${name}
        and instance = ${instance}
      returning name`,
  )
  if (kept.length > 0) return false
  const isNew = await atomically(ctx.db, async (tx) => {
    const [row] = await query<{ isNew: boolean; isFirst: boolean }>(
      tx,
      sql`
        with before as (
          select instance
          from connectors
          where project_id = ${projectId}
            and name = ${name}
        )
        insert into connectors as c (project_id, name, instance)
        values (${projectId}, ${name}, ${instance})
        on conflict (project_id, name) do update
        set instance = excluded.instance,
          connected_at = case when c.instance = excluded.instance then c.connected_at else now() end,
          seen_at = now()
        where c.instance = excluded.instance
          or c.seen_at <= ${nowPlus(-goneMs)}
        returning
          (select instance from before) is distinct from c.instance as "isNew",
          not exists (select 1 from before) as "isFirst"`,
    )
    if (!row)
      throw new AppError(
        'CONFLICT',
        `Another process serves the connector ${name}. Stop it, or connect this one under another name.`,
      )
    if (row.isFirst) await assertQuota(tx, ctx, connectors, projectId, 'connectors')
    if (row.isNew) await audit(tx, ctx, place, { connected: true })
    return row.isNew
  })
  if (isNew) await wake(ctx, place)
  return isNew
}

function audit(
  tx: Database,
  ctx: Ctx,
  { projectId, name }: ConnectorPlace,
  details: JsonObject,
): Promise<void> {
  const resource = `connector/${name}`
  return recordChange(tx, ctx, { projectId, action: 'connectors:Serve', resource, details })
}

/** Makes the upstreams behind the connector due, so that their lists and their status are those of now. */
async function wake(ctx: Ctx, { projectId, name }: ConnectorPlace): Promise<void> {
  await wakeUpstreams(ctx, sql`project_id = ${projectId} and config->>'url' = ${connectorUrl(name)}`)
}

/** Wakes whoever waits for messages of a connector: when there are some, when the client is gone, and when its key is revoked. */
function newsOf(ctx: Ctx, place: ConnectorPlace, disconnected: AbortSignal) {
  let [isHinted, revoked] = [false, false]
  let act = () => {}
  const ring = () => {
    isHinted = true
    act()
  }
  const ends = [
    onAbort(disconnected, ring),
    ctx.revocations.onRevoked(ctx.principal, () => {
      revoked = true
      ring()
    }),
    arrivalWatch(ctx)(connectorKey(place), (hasMessages) => void (hasMessages && ring())),
  ]
  return {
    isRevoked: () => revoked,
    /** Resolves at the next hint, also one since the last call, or after this time. */
    async next(limitMs: number): Promise<void> {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, limitMs)
        act = () => (clearTimeout(timer), resolve())
        if (isHinted) act()
      })
      isHinted = false
    },
    end: () => ends.forEach((forget) => forget()),
  }
}
