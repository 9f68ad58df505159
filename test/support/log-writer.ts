/** Writes generations and their events as the loop does, without a loop: at full speed and of any length. */
import { sql } from 'drizzle-orm'
import { atomically, query, type Database } from '../../src/store/db/database.ts'
import type { PubSub } from '../../src/store/pubsub/pubsub.ts'
import {
  generationCompleted,
  insertGenerationEvents,
  messageCommitted,
  type GenerationEvent,
} from '../../src/domain/events/index.ts'

export interface Writer {
  db: Database
  pubsub: PubSub
}

/** Inserts generations that no worker ever claims; returns their ids. */
export async function makeGenerations(db: Database, projectId: string, count: number): Promise<string[]> {
  const rows = await query<{ id: string }>(
    db,
    sql`insert into generations (id, project_id, agent_id, agent_version, thread_id, status, settings, input,
        requested_by, deadline_at)
      select 'gen_' || md5(random()::text || n), ${projectId}, 'agt_none', 1, 'thread_none', 'WAITING', '{}', '[]',
        'key_none', now() + interval '1 day'
      from generate_series(1, ${count}::int) as n returning id`,
  )
  return rows.map((row) => row.id)
}

/** Appends under the row's lock, in one statement, and publishes after the commit. Returns the newest number. */
export async function append(
  writer: Writer,
  projectId: string,
  id: string,
  events: GenerationEvent[],
): Promise<number> {
  const rows = await query<{ seq: number }>(
    writer.db,
    sql`with g as (update generations set last_seq = last_seq + ${events.length}::int where id = ${id}
        returning id, project_id, requested_by, last_seq), e as (${insertGenerationEvents(events)})
      select last_seq as seq from g`,
  )
  const seq = rows[0]!.seq
  writer.pubsub.publish([{ kind: 'news', generationId: id, projectId, seq }])
  return seq
}

/** Like `append`, in a transaction that stays open for a while after it has taken its number. */
export async function appendSlowly(
  writer: Writer,
  projectId: string,
  id: string,
  events: GenerationEvent[],
  hold: () => Promise<unknown>,
): Promise<void> {
  await atomically(writer.db, async (tx) => {
    await append({ db: tx, pubsub: { ...writer.pubsub, publish: () => {} } }, projectId, id, events)
    await hold()
  })
  writer.pubsub.publish([{ kind: 'news', generationId: id, projectId, seq: null }])
}

/** Events of no particular kind; the last one ends the stream when it is `closing`. */
export function someEvents(count: number, closing = false): GenerationEvent[] {
  return Array.from({ length: count }, (_, i): GenerationEvent =>
    closing && i === count - 1
      ? generationCompleted({ stopReason: 'END_TURN' })
      : messageCommitted({ stepIndex: i }),
  )
}
