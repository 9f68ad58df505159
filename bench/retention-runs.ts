/** Finished runs in bulk, as a bridge or a desk of support leaves them behind: two steps, a call at the gate, an approval, events. */
import { query, type Database } from '../src/store/db/database.ts'
import { sql } from '../src/store/db/sql.ts'
import { numberAll } from '../src/store/events/numbering.ts'
import type { PubSub } from '../src/store/pubsub/pubsub.ts'

export const eventsOfRun = 12
const perStatement = 1000

/** So many finished runs of a project, whose events have their positions. `name` makes their ids. */
export async function makeFinishedRuns(
  db: Database,
  pubsub: PubSub,
  { projectId, name, count }: { projectId: string; name: string; count: number },
): Promise<void> {
  for (let from = 0; from < count; from += perStatement) {
    await makeSome(db, projectId, name, from, Math.min(perStatement, count - from))
    await numberAll(db, pubsub)
  }
}

async function makeSome(
  db: Database,
  projectId: string,
  name: string,
  from: number,
  count: number,
): Promise<void> {
  const id = sql.raw(`'gen_${name}_' || i`)
  const call = sql.raw(`'call_${name}_' || i`)
  const approval = sql.raw(`'apr_${name}_' || i`)
  const series = sql.raw(`generate_series(${from + 1}, ${from + count}) as i`)
  const text = 'Pay the invoice of the customer who has written. '.repeat(6)
  const message = sql`jsonb_build_array(jsonb_build_object('role', 'user', 'content', ${text}::text))`
  for (const statement of [
    sql`insert into threads (id, project_id) select 'thr_' || ${id}, ${projectId} from ${series}`,
    sql`insert into generations (id, project_id, agent_id, agent_version, thread_id, status, settings, input, requested_by,
        step_count, deadline_at, finished_at, last_seq)
      select ${id}, ${projectId}, 'agt_1', 1, 'thr_' || ${id}, 'COMPLETED', '{}', ${message}, 'key_1', 2, now(), now(),
        ${eventsOfRun}::int
      from ${series}`,
    sql`insert into steps (id, project_id, generation_id, step_index, attempt, model, model_kind, parts, surface, tool_choice,
        finish_reason, usage)
      select 'step_' || s || ${id}, ${projectId}, ${id}, s, 1, 'm', 'k', ${message}, '[]', '"auto"', 'stop', '{}'
      from ${series}, generate_series(1, 2) as s`,
    sql`insert into model_attempts (generation_id, step_index, attempt, project_id, agent_id, model, usage)
      select ${id}, s, 1, ${projectId}, 'agt_1', 'm', '{}' from ${series}, generate_series(1, 2) as s`,
    sql`insert into tool_calls (id, project_id, generation_id, step_index, call_index, source, tool_id, tool_version,
        runtime_name, kind, status, arguments, attempt, result, requested_by, approval_id, settled_at)
      select ${call}, ${projectId}, ${id}, 1, 0, 'model', 'tool_1', 1, 'pay', 'http', 'SUCCEEDED', '{"n": 1}', 1, '{}', 'key_1',
        ${approval}, now()
      from ${series}`,
    sql`insert into approvals (id, project_id, tool_call_id, generation_id, tool_id, tool_version, runtime_name, status,
        arguments, digest, requested_by, requirement, on_approve, votes, expires_at, settled_at)
      select ${approval}, ${projectId}, ${call}, ${id}, 'tool_1', 1, 'pay', 'APPROVED', '{"n": 1}', 'd', 'key_1', '{}', 'RUN',
        '[{"by": "key_2", "verdict": "APPROVE", "at": "2026-01-01T00:00:00Z"}]', now(), now()
      from ${series}`,
    sql`insert into events (project_id, generation_id, seq, type, data, commit_order)
      select ${projectId}, ${id}, s, 'MESSAGE_COMMITTED', '{"stepIndex": 1}', pg_current_xact_id()::text::bigint
      from ${series}, generate_series(1, ${eventsOfRun}::int) as s
      order by i, s`,
  ])
    await query(db, statement)
}
