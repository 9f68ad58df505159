/**
 * A server dies after it has noted that a caller has the outcome of a gated call, and before the outcome leaves: the same
 * request is asked about anew, nothing runs without that answer, and the first outcome is kept.
 */
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask, mutate } from '../support/ask.ts'
import { callRaw } from '../support/bridge.ts'
import { buildServer } from '../support/build.ts'
import { hasPostgres, postgresDatabase } from '../support/databases.ts'
import { startLoopback, type Loopback } from '../support/loopback.ts'
import { startReplica, type Replica } from '../support/replica.ts'

const key = 'gh_delivered_operator_012345678901234567890123456789012'

describe.skipIf(!hasPostgres)('on PostgreSQL', () => {
  const closers: (() => unknown)[] = []
  const paid: string[] = []
  let upstream: Loopback
  let db: postgres.Sql
  let start: () => Promise<Replica>

  beforeAll(async () => {
    const { entry } = await buildServer()
    upstream = await startLoopback(({ url }, response) => {
      paid.push(url)
      response.writeHead(200).end(`paid ${paid.length}`)
    })
    closers.push(() => upstream.close())
    const database = await postgresDatabase()
    closers.push(() => database.drop())
    db = postgres(database.url, { max: 2, onnotice: () => {} })
    closers.push(() => db.end({ timeout: 1 }))
    start = async () => {
      const replica = startReplica(entry, {
        DATABASE_URL: database.url,
        GATEHOUSE_PORT: '0',
        GATEHOUSE_DEMO: 'false',
        GATEHOUSE_ADMIN_KEY: key,
        GATEHOUSE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
        GATEHOUSE_LEASE_MS: '1500',
        GATEHOUSE_EGRESS_ALLOW: upstream.address,
        GATEHOUSE_LOG_LEVEL: 'error',
      })
      closers.push(() => replica.kill())
      await replica.ready
      return replica
    }
  })
  afterAll(async () => {
    for (const close of closers.toReversed()) await close()
  })

  /** Commits the note of the next delivery only when the lock is free: the database works on while the server is gone. */
  async function holdNote(table: string, when: string) {
    await db.unsafe(`create or replace function hold_note() returns trigger language plpgsql as $$
      begin perform pg_advisory_xact_lock(4711); return new; end $$`)
    await db.unsafe(`create trigger hold_note before update on ${table} for each row when (${when})
      execute function hold_note()`)
    const holder = await db.reserve()
    await holder`select pg_advisory_lock(4711)`
    const waiting = () =>
      db`select 1 from pg_stat_activity where datname = current_database() and wait_event = 'advisory'`
    return {
      arrived: () => expect.poll(waiting).toHaveLength(1),
      async release() {
        await holder`select pg_advisory_unlock(4711)`
        holder.release()
        await expect.poll(waiting).toEqual([])
        await db.unsafe(`drop trigger hold_note on ${table}`)
      },
    }
  }

  test.each([
    ['a call of a tool', 'pay', { n: 1 }, 'tool_calls', 'old.awaited and not new.awaited'],
    [
      'a run of the agent',
      'teller',
      { message: 'call pay {"n":2}\nthen\nsay paid' },
      'awaited_requests',
      'new.delivered',
    ],
  ])('%s', { timeout: 180_000 }, async (_what, name, args, table, when) => {
    let server = await start()
    const suffix = name === 'pay' ? '' : '_2'
    const inputSchema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }
    const http = { url: `${upstream.url}/pay/{n}`, method: 'POST', inputSchema }
    const gate = { autoApprove: false, timeoutSeconds: 3600 }
    const { tool } = await mutate(
      server.url,
      key,
      'createTool',
      { name: `pay${suffix}`, gate, config: { http } },
      'tool { id }',
    )
    const made = await mutate(
      server.url,
      key,
      'createAgent',
      { name: `teller${suffix}`, model: 'builtin/rehearsal', toolIds: [tool.id], mcp: { enabled: true } },
      'agent { id }',
    )
    const words = JSON.parse(JSON.stringify(args).replace('call pay', `call pay${suffix}`)) as object
    const request = () => callRaw(`${server.url}/mcp/${made['agent'].id}`, key, `${name}${suffix}`, words)
    const open = async () =>
      (
        await ask(
          server.url,
          key,
          '{ approvals(filter: { statuses: [PENDING] }, first: 5) { nodes { id } } }',
        )
      ).data['approvals'].nodes as { id: string }[]
    const decide = async (verdict: string) => {
      await expect.poll(open).toHaveLength(1)
      const [{ id: approvalId }] = (await open()) as [{ id: string }]
      await mutate(server.url, key, 'decideApproval', { approvalId, verdict }, '__typename')
    }
    const before = paid.length
    const note = await holdNote(table, when)
    const lost = request().catch(() => 'gone')
    await decide('APPROVE')
    await note.arrived()
    expect(paid.length).toBe(before + 1)
    await server.kill()
    expect(await lost).toBe('gone')
    await note.release()

    server = await start()
    const again = request()
    await decide('REJECT')
    expect((await again).status).toBe(200)
    expect(paid.length).toBe(before + 1)
    const { data } = await ask(
      server.url,
      key,
      'query($id: ID!) { toolCalls(filter: { toolId: $id }, first: 5) { nodes { status content } } }',
      { id: tool.id },
    )
    expect(data['toolCalls'].nodes).toMatchObject([
      { status: 'REJECTED' },
      { status: 'SUCCEEDED', content: [{ text: `paid ${before + 1}` }] },
    ])
    await server.kill()
  })
})
