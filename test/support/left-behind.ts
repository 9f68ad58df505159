/** A call in the state that a process leaves when it dies after sending it. */
import { sql } from 'drizzle-orm'
import { query } from '../../src/store/db/database.ts'
import type { Harness } from './harness.ts'

/**
 * Moves a settled direct call back to the moment after it was sent, due for a worker, and waits until a worker has
 * handled it: it is UNKNOWN then, or was sent again when it is idempotent.
 */
export async function leaveBehind(h: Harness, toolCallId: string): Promise<void> {
  const { db, pubsub } = h.app.services
  await query(
    db,
    sql`update tool_calls set status = 'EXECUTING', result = null, is_error = null, error_code = null,
      settled_at = null, wake_at = now(), attempts = (attempts - -1) || jsonb_build_array(
        (attempts->-1) - 'endedAt' - 'outcome' - 'errorCode') where id = ${toolCallId}`,
  )
  pubsub.publish([{ kind: 'work', table: 'tool_calls' }])
  const [{ project } = {}] = await query<{ project: string }>(
    db,
    sql`select project_id as project from tool_calls where id = ${toolCallId}`,
  )
  const settled = `subscription($project: ID) { projectEvents(projectId: $project, after: "0", types: [TOOL_CALL_SETTLED]) {
    ... on ToolCallSettledEvent { toolCall { id } } } }`
  const times = (events: { toolCall: { id: string } }[]) =>
    events.filter((event) => event.toolCall.id === toolCallId).length
  await h.collect(settled, { project }, (events) => times(events) === 2)
}
