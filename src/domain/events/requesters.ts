/**
 * Whose the things are that events tell of: who requested the generation, tool call or approval, or made the file. An event
 * says it; of one that the release before has written, the rows are asked that are still there.
 */
import { writeJson } from '../../core/json.ts'
import { batchStatements } from '../../store/db/batch-statements.ts'
import { jsonb, query, type Database } from '../../store/db/database.ts'
import { memoryOf } from '../../store/db/memory.ts'
import { sql } from '../../store/db/sql.ts'
import { rowsOf } from '../../store/db/write.ts'
import type { RecordedEvent } from './event.ts'

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
