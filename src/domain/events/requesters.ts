/** Whose the things are that events tell of: who requested the generation, tool call or approval, or made the file. */
import { writeJson } from '../../core/json.ts'
import { batch } from '../../core/batch.ts'
import { BoundedMap } from '../../core/bounded-map.ts'
import { jsonb, query, type Database } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import { rowsOf } from '../../store/db/write.ts'
import type { RecordedEvent } from './event.ts'
import type { EventStream } from './follow.ts'

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

/** How many requesters one process remembers. They never change. */
const mostKnown = 10_000

type Lookup = (subject: Subject) => Promise<string | null>

const lookups = new WeakMap<Database, Lookup>()

function lookupIn(db: Database): Lookup {
  const made = lookups.get(db)
  if (made) return made
  const known = new BoundedMap<string, string>(mostKnown)
  const read = batch((subjects: readonly Subject[]) => readRequesters(db, subjects), {
    maxItems: 500,
    maxBytes: Infinity,
    bytesOf: () => 0,
    waitMs: 5,
  })
  const lookup: Lookup = async (subject) => {
    const key = writeJson(subject)
    const found = known.get(key) ?? (await read(subject))
    if (found !== null) known.set(key, found)
    return found
  }
  lookups.set(db, lookup)
  return lookup
}

async function readRequesters(
  db: Database,
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

/** The events of a stream that tell of what one of these principals requested. What cannot be told is left out. */
export function onlyOf(db: Database, stream: EventStream, requesters: readonly string[]): EventStream {
  const lookup = lookupIn(db)
  const wanted = new Set(requesters)
  return {
    async next() {
      for (;;) {
        const item = await stream.next()
        if (item.done) return item
        const subject = 'event' in item.value ? subjectOf(item.value.event) : null
        const by = subject && (await lookup(subject))
        if (by && wanted.has(by)) return item
      }
    },
    return: async () => (await stream.return?.()) ?? { done: true, value: undefined },
    throw: async (error) => {
      await stream.return?.()
      throw error
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
