/**
 * The command after a restore: calls in flight become UNKNOWN, once, and cursors of the lost incarnation are refused.
 */
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { afterRestore } from '../../src/after-restore.ts'
import { createApp } from '../../src/app.ts'
import { loadConfig, type Config } from '../../src/config.ts'
import { query, type Database } from '../../src/store/db/database.ts'
import { embeddedDatabase } from '../support/databases.ts'
import { adminKey, harnessOf, type Harness } from '../support/harness.ts'
import { append, makeGenerations, someEvents } from '../support/log-writer.ts'
import { objectSchema } from '../support/fixtures.ts'
import { folderForFile } from '../support/for-file.ts'

/** What each run of the command adds to the epoch of every open row: epochs of the lost future are not given out again. */
const leap = 2 ** 16
const dataDir = await folderForFile()
await embeddedDatabase(dataDir)

const configOf = (): Config => ({
  ...loadConfig({
    GATEHOUSE_PORT: '0',
    GATEHOUSE_LOG_LEVEL: 'silent',
    GATEHOUSE_ADMIN_KEY: adminKey,
    GATEHOUSE_DATA_DIR: dataDir,
    GATEHOUSE_DEMO: 'false',
  }),
  // No workers: the rows stay as the command leaves them.
  role: 'api',
})

async function withServer<T>(work: (h: Harness) => Promise<T>): Promise<T> {
  const h = harnessOf(await createApp(configOf()))
  try {
    return await work(h)
  } finally {
    await h.stop()
  }
}

/** A call in the state that a process leaves when it dies in the middle. */
function executing(db: Database, id: string, tool: string, projectId: string, generationId: string | null) {
  return query(
    db,
    sql`insert into tool_calls (id, project_id, generation_id, step_index, call_index, source, tool_id, tool_version,
        runtime_name, kind, status, arguments, attempt, requested_by, wake_at, epoch)
      select ${id}, ${projectId}, ${generationId}::text, 1, row_number() over (), ${generationId ? 'GENERATION' : 'DIRECT'}, t.id,
        t.version, t.name, t.kind, 'EXECUTING', '{}', 1, 'key_none',
        case when ${generationId}::text is null then now() + interval '1 hour' end, 3
      from tools as t where t.id = ${tool}`,
  )
}

test(
  'calls in flight become UNKNOWN once, leases end, and cursors name their incarnation',
  { timeout: 270_000 },
  async () => {
    const made = await withServer(async (h) => {
      const { db } = h.app.services
      const projectId = (await h.gql('{ viewer { project { id } } }')).data['viewer'].project.id as string
      const tool = async (name: string, method: string) => {
        const http = { url: 'https://example.com', method, inputSchema: objectSchema({}) }
        return (await h.mutate('createTool', { name, config: { http } }, 'tool { id }'))['tool'].id as string
      }
      const [charge, look] = [await tool('charge', 'POST'), await tool('look', 'GET')]
      const [id, ended] = (await makeGenerations(db, projectId, 2)) as [string, string]
      await query(
        db,
        sql`update generations set status = 'RUNNING', epoch = 4, wake_at = now() + interval '1 hour' where id = ${id}`,
      )
      await query(
        db,
        sql`update generations set status = 'COMPLETED', epoch = 4, finished_at = now() where id = ${ended}`,
      )
      await executing(db, 'call_direct', charge, projectId, null)
      await executing(db, 'call_inside', charge, projectId, id)
      await executing(db, 'call_again', look, projectId, null)
      await append(h.app.services, projectId, id, someEvents(2))
      const { data } = await h.gql('{ viewer { project { feedCursor } } }')
      return { projectId, id, ended, cursor: data['viewer'].project.feedCursor as string }
    })
    const incarnationOf = (cursor: string) =>
      JSON.parse(Buffer.from(cursor, 'base64url').toString())[7] as string

    expect(await afterRestore(configOf())).toEqual({ unknown: 2 })
    expect(await afterRestore(configOf()), 'a second time there is nothing left').toEqual({ unknown: 0 })

    await withServer(async (h) => {
      const { db } = h.app.services
      const calls = await query<{ id: string; status: string; epoch: number }>(
        db,
        sql`select id, status, epoch from tool_calls order by id`,
      )
      expect(calls).toEqual([
        { id: 'call_again', status: 'EXECUTING', epoch: 3 + 2 * leap },
        { id: 'call_direct', status: 'UNKNOWN', epoch: 3 + leap },
        { id: 'call_inside', status: 'UNKNOWN', epoch: 3 + leap },
      ])
      const runs = await query<{ due: boolean; epoch: number }>(
        db,
        sql`select wake_at <= now() as due, epoch from generations where id in (${made.id}, ${made.ended}) order by epoch desc`,
      )
      expect(runs).toEqual([
        { due: true, epoch: 4 + 2 * leap },
        { due: null, epoch: 4 },
      ])
      const document = `subscription($after: String) { projectEvents(after: $after) { type cursor
        ... on ToolCallUnknownEvent { reason toolCall { id } } ... on ToolCallSettledEvent { toolCall { id } } } }`
      const told = await h.collect(document, { after: made.cursor }, (events) => events.length === 4)
      expect(told.map((event) => [event.type, event.toolCall.id, event.reason ?? null]).toSorted()).toEqual([
        ['TOOL_CALL_SETTLED', 'call_direct', null],
        ['TOOL_CALL_SETTLED', 'call_inside', null],
        ['TOOL_CALL_UNKNOWN', 'call_direct', 'WORKER_LOST'],
        ['TOOL_CALL_UNKNOWN', 'call_inside', 'WORKER_LOST'],
      ])
      expect(incarnationOf(told[0].cursor)).not.toBe(incarnationOf(made.cursor))
    })
  },
)

test('calls that were about to be sent become UNKNOWN: what came after the backup may have sent them', async () => {
  await withServer(async (h) => {
    const { db } = h.app.services
    const projectId = (await h.gql('{ viewer { project { id } } }')).data['viewer'].project.id as string
    const tool = async (name: string, method: string) => {
      const http = { url: 'https://example.com', method, inputSchema: objectSchema({}) }
      return (await h.mutate('createTool', { name, config: { http } }, 'tool { id }'))['tool'].id as string
    }
    const [pay, read] = [await tool('pay', 'POST'), await tool('read', 'GET')]
    const [run, ended] = (await makeGenerations(db, projectId, 2)) as [string, string]
    await query(db, sql`update generations set status = 'WAITING', wake_at = null where id = ${run}`)
    await query(db, sql`update generations set status = 'COMPLETED', finished_at = now() where id = ${ended}`)
    for (const [id, toolId, generation, change] of [
      ['next_approved', pay, null, sql`status = 'APPROVED'`],
      ['next_in_run', pay, run, sql`status = 'APPROVED', step_index = 2`],
      ['next_proposed', pay, null, sql`status = 'PROPOSED'`],
      ['next_again', pay, ended, sql`status = 'PROPOSED', settled_at = now(), resolution = 'RUN_AGAIN'`],
      ['next_harmless', read, null, sql`status = 'APPROVED'`],
      ['next_asked', pay, null, sql`status = 'AWAITING_APPROVAL'`],
      ['next_of_client', pay, run, sql`status = 'PROPOSED', kind = 'client'`],
    ] as const) {
      await executing(db, id, toolId, projectId, generation)
      await query(db, sql`update tool_calls set ${change}, attempt = 0 where id = ${id}`)
    }
  })
  expect(await afterRestore(configOf())).toEqual({ unknown: 4 })
  await withServer(async (h) => {
    const calls = await query<{ id: string; status: string; epoch: number }>(
      h.app.services.db,
      sql`select id, status, epoch from tool_calls where id like 'next_%' order by id`,
    )
    for (const { id, epoch } of calls) expect(epoch, id).toBe(3 + leap)
    expect(Object.fromEntries(calls.map(({ id, status }) => [id.slice(5), status]))).toEqual({
      again: 'UNKNOWN',
      approved: 'UNKNOWN',
      asked: 'AWAITING_APPROVAL',
      harmless: 'APPROVED',
      in_run: 'UNKNOWN',
      of_client: 'PROPOSED',
      proposed: 'UNKNOWN',
    })
  })
})

test('a permission that was taken, and one that may have been since, become UNKNOWN and are not given again', async () => {
  const ask = (h: Harness, toolId: string, idempotencyKey: string) =>
    h.mutate(
      'askPermission',
      { toolId, arguments: {}, idempotencyKey },
      'answer toolCall { status approval { id } }',
    )
  const shell = await withServer(async (h) => {
    // Of an idempotent tool, too: its program does not say so.
    const tool = {
      name: 'shell',
      gate: { mode: 'ALWAYS' },
      annotations: { idempotentHint: true },
      config: { client: { inputSchema: objectSchema({}) } },
    }
    const { id } = (await h.mutate('createTool', tool, 'tool { id }'))['tool']
    for (const key of ['taken', 'approved']) {
      const { toolCall } = await ask(h, id, key)
      const decision = { approvalId: toolCall.approval.id, verdict: 'APPROVE' }
      await h.mutate('decideApproval', decision, 'approval { id }')
    }
    expect(await ask(h, id, 'taken')).toMatchObject({ answer: 'ALLOW' })
    return id as string
  })
  await afterRestore(configOf())
  await withServer(async (h) => {
    for (const key of ['taken', 'approved'])
      expect(await ask(h, shell, key)).toMatchObject({ answer: 'DENY', toolCall: { status: 'UNKNOWN' } })
  })
})
