/** Many waiting generations at once: a real one, copied row by row in the database. */
import type { Deployment } from './deployment.ts'

/**
 * Copies a generation that waits for an approval with all its rows, `count` times, under new ids. The copies are
 * decided, expire, run and end like any other.
 */
export async function cloneWaiting(
  deployment: Deployment,
  generationId: string,
  count: number,
): Promise<void> {
  const suffix = `'_' || lpad(c::text, 6, '0')`
  const copy = async (table: string, key: string, renamed: Record<string, string>) => {
    const columns = (
      await deployment.rows<{ name: string }>(
        `select column_name as name from information_schema.columns where table_name = '${table}'
         and is_identity = 'NO'`,
      )
    ).map((row) => row.name)
    const values = columns.map((name) => renamed[name] ?? `t."${name}"`)
    await deployment.rows(`insert into ${table} (${columns.map((name) => `"${name}"`).join(', ')})
      select ${values.join(', ')} from ${table} t, generate_series(1, ${count}) c where t.${key} = '${generationId}'`)
  }
  const fresh = (name: string) => `t."${name}" || ${suffix}`
  await copy('steps', 'generation_id', {
    id: fresh('id'),
    generation_id: fresh('generation_id'),
    // The message contains the call ids.
    parts: `regexp_replace(t.parts::text, '"(call_[a-z0-9]+)"', '"\\1' || ${suffix} || '"', 'g')::jsonb`,
  })
  await copy('tool_calls', 'generation_id', {
    id: fresh('id'),
    generation_id: fresh('generation_id'),
    approval_id: fresh('approval_id'),
  })
  await copy('approvals', 'generation_id', {
    id: fresh('id'),
    generation_id: fresh('generation_id'),
    tool_call_id: fresh('tool_call_id'),
  })
  // Each position in the feed belongs to one event.
  await copy('events', 'generation_id', { generation_id: fresh('generation_id'), position: 'null' })
  await copy('generations', 'id', { id: fresh('id'), thread_id: fresh('thread_id') })
}
