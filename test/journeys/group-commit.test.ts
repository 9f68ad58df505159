/**
 * Calls that begin or end in the same moment share a statement (decision 30). Each is judged for itself: here is what one of
 * them must not do to the others, and what a statement without a response must not do to any.
 */
import { sql, type SQL } from 'drizzle-orm'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  basisOf,
  policyOfRole,
  principalById,
  type Ctx,
  type Principal,
} from '../../src/domain/access/index.ts'
import { batchLoadCall } from '../../src/domain/calls/index.ts'
import { createCall, type CreatedCall } from '../../src/domain/calls/create.ts'
import { directStore } from '../../src/domain/calls/direct-store.ts'
import { settleHeld } from '../../src/domain/calls/settle.ts'
import { finish, prepareCall, readTool, requireCallable } from '../../src/domain/tools/index.ts'
import type { Basis } from '../../src/domain/basis/proof.ts'
import { query, type Database } from '../../src/store/db/database.ts'
import { ConnectionLostError } from '../../src/store/db/storage-error.ts'
import { aroundStatements } from '../support/around-statements.ts'
import { databaseKinds, postgresDatabase } from '../support/databases.ts'
import { openHarness, type Harness } from '../support/harness.ts'
import { loseResponse } from '../support/held-statement.ts'
import { holdRow } from '../support/held-row.ts'
import { makeFixtures, type Fixtures } from '../support/fixtures.ts'

const begins = 'with g as (insert into tool_calls'
const ends = 'with o as (select t.id from (select * from jsonb_to_recordset'

describe.each(databaseKinds)('on %s', (kind) => {
  let h: Harness
  let fixtures: Fixtures
  let ctx: Ctx
  let url = ''
  let drop = async () => {}
  let toolVersion: number

  beforeAll(async () => {
    if (kind === 'PostgreSQL') ({ url, drop } = await postgresDatabase())
    // A lease that is longer than any test: nothing here may be saved by its end.
    h = await openHarness({ leaseMs: 300_000, databaseUrl: url || null })
    fixtures = await makeFixtures(h)
    const { data } = await h.gql('{ viewer { project { id } } }')
    ctx = h.app.ctxOf(principalOf({ projectId: data['viewer'].project.id }))
    toolVersion = (await readTool(ctx, fixtures.tools.act)).tool.version
  })
  afterAll(async () => {
    await fixtures?.close()
    await h?.stop()
    await drop()
  })

  const run = (text: SQL) => query<Record<string, any>>(h.app.services.db, text)

  async function request(word: string, basis: Basis = {}, agentId?: string) {
    const { tool, catalogs } = await readTool(ctx, fixtures.tools.act)
    const callable = await requireCallable(ctx, tool, null, [], catalogs)
    const prepared = prepareCall(callable, { word })
    if (!prepared.ok) throw new Error(JSON.stringify(prepared.issues))
    const via = agentId ? { agentId, agentGate: null, threadId: null } : null
    const rest = { attachments: null, idempotency: null, via }
    return { tool: callable, prepared, ...rest, basis }
  }

  /** Creates a call for each basis in the same turn of the event loop. */
  async function createAll(bases: Partial<Basis>[], word = (i: number) => `word ${i}`, agentId?: string) {
    const requests = await Promise.all(bases.map((basis, i) => request(word(i), basis, agentId)))
    return Promise.allSettled(requests.map((one) => createCall(ctx, one)))
  }
  async function created(many: number, word?: (i: number) => string): Promise<CreatedCall[]> {
    const results = await createAll(
      Array.from({ length: many }, () => ({})),
      word,
    )
    return results.map((result) => {
      if (result.status === 'rejected') throw result.reason
      return result.value
    })
  }
  const said = (text: string, isError = false) => finish({ content: [{ type: 'text', text }], isError })
  const settle = ({ call, lease }: CreatedCall, text: string, isError = false) =>
    directStore(h.app.services, lease!)
      .settle(call, said(text, isError))
      .finally(() => lease!.end())

  const eventsOf = async (id: string) =>
    (await run(sql`select type from events where data->>'toolCallId' = ${id} order by id`)).map(
      (row) => row['type'],
    )
  const entriesOf = (id: string) =>
    run(sql`select details->>'status' as status, resource, principal_id as who from audit_entries
      where details->>'toolCallId' = ${id}`)
  const outcome = (id: string, status: string) => ({
    events: ['TOOL_CALL_STARTED', 'TOOL_CALL_SETTLED'],
    entries: [{ status, resource: `tool/${fixtures.tools.act}`, who: ctx.principal.id }],
    id,
  })
  const foundOf = async (id: string) => ({ events: await eventsOf(id), entries: await entriesOf(id), id })

  test('twelve calls begin with one statement and end with one, each with its own row, events and entry', async () => {
    const { db, leaseDb } = h.app.services
    const began = count(db, begins)
    const calls = await created(12)
    expect(began()).toBe(1)
    expect(new Set(calls.map(({ call }) => call.id)).size).toBe(12)
    expect(calls.map(({ call }) => call.arguments)).toEqual(calls.map((_, i) => ({ word: `word ${i}` })))
    const ended = count(leaseDb, ends)
    const settled = await Promise.all(calls.map((one, i) => settle(one, `did ${i}`, i % 3 === 0)))
    expect(ended()).toBe(1)
    for (const [i, call] of settled.entries()) {
      const status = i % 3 === 0 ? 'ERRORED' : 'SUCCEEDED'
      expect(call).toMatchObject({ id: calls[i]!.call.id, status, isError: i % 3 === 0 })
      expect(call.result!.content).toEqual([{ type: 'text', text: `did ${i}` }])
      expect(call.attempts).toMatchObject([{ attempt: 1, idempotencyKey: call.id, outcome: status }])
      expect(await foundOf(call.id)).toEqual(outcome(call.id, status))
    }
  })

  test('a group has at most 64 calls and about a million characters', async () => {
    const { db } = h.app.services
    const small = count(db, begins)
    await created(100)
    expect(small()).toBe(2)
    const large = count(db, begins)
    await created(5, () => 'x'.repeat(240_000))
    expect(large()).toBe(2)
  })

  test('each is proved for itself: what is not so any more refuses its own call and no other', async () => {
    const { db } = h.app.services
    const key = await h.mutate('createApiKey', { name: 'gone', role: 'CALLER' }, 'apiKey { id }')
    const gone = (await principalById(db, key['apiKey'].id, Date.now()))!
    await run(sql`update api_keys set revoked_at = now() where id = ${gone.id}`)
    const other = await h.mutate('createApiKey', { name: 'here', role: 'CALLER' }, 'apiKey { id }')
    const here = (await principalById(db, other['apiKey'].id, Date.now()))!
    const person = principalOf({ id: 'usr_1', expiresAt: new Date(Date.now() + 60_000) })
    const toolId = fixtures.tools.act
    const agentId = await fixtures.agent()
    const bases: [Basis, boolean][] = [
      [{ ...basisOf(here), toolId, toolVersion }, true],
      [basisOf(gone), false],
      [basisOf(person), true],
      [basisOf({ ...person, expiresAt: new Date(Date.now() - 1) }), false],
      [basisOf({ ...person, expiresAt: null }), false],
      [basisOf({ ...here, sessionId: 'ses_ended' }), false],
      [{ agentId, agentVersion: 1 }, true],
      [{ agentId, agentVersion: 2 }, false],
      [{ toolId, toolVersion: toolVersion + 1 }, false],
      [{ toolId, toolVersion, catalogHash: 'other' }, false],
      [{}, true],
    ]
    const began = count(db, begins)
    const results = await createAll(
      bases.map(([basis]) => basis),
      undefined,
      agentId,
    )
    expect(began()).toBe(1)
    expect(results.map((result) => result.status === 'fulfilled')).toEqual(bases.map(([, holds]) => holds))
    for (const result of results)
      if (result.status === 'rejected') expect(result.reason.name).toBe('StaleReadError')
    for (const [basis, holds] of bases) {
      const [lone] = await createAll([basis], undefined, agentId)
      expect(lone!.status, JSON.stringify(basis)).toBe(holds ? 'fulfilled' : 'rejected')
    }
  })

  test('what the database refuses in one call concerns no other', async () => {
    await run(
      sql`alter table tool_calls add constraint no_poison check (arguments->>'word' <> 'poison') not valid`,
    )
    const results = await createAll([{}, {}, {}, {}], (i) => (i === 1 ? 'poison' : `word ${i}`))
    await run(sql`alter table tool_calls drop constraint no_poison`)
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
    const [row] = await run(
      sql`select count(*)::int as n from tool_calls where arguments->>'word' = 'poison'`,
    )
    expect(row!['n']).toBe(0)
  })

  test.each(['after', 'before'])(
    'a beginning whose statement is lost %s it was executed is found or made again, each once',
    async (when) => {
      const { db } = h.app.services
      if (when === 'after') loseResponse(db, { begins })
      else loseStatement(db, begins)
      const words = (i: number) => `lost ${when} ${i}`
      const calls = await created(6, words)
      expect(calls.map(({ joined, lease }) => joined === false && lease !== null)).toEqual(
        Array(6).fill(true),
      )
      const rows = await run(sql`select id from tool_calls where arguments->>'word' like ${`lost ${when} %`}`)
      expect(rows.map((row) => row['id']).toSorted()).toEqual(calls.map(({ call }) => call.id).toSorted())
      for (const { call } of calls) expect(await eventsOf(call.id)).toEqual(['TOOL_CALL_STARTED'])
    },
  )

  test.each(['after', 'before'])(
    'an outcome whose statement is lost %s it was executed is written once',
    async (when) => {
      const calls = await created(6)
      const { leaseDb } = h.app.services
      if (when === 'after') loseResponse(leaseDb, { begins: ends })
      else loseStatement(leaseDb, ends)
      const settled = await Promise.all(calls.map((one, i) => settle(one, `did ${i}`)))
      for (const [i, call] of settled.entries()) {
        expect(call.result!.content).toEqual([{ type: 'text', text: `did ${i}` }])
        expect(await foundOf(call.id)).toEqual(outcome(call.id, 'SUCCEEDED'))
      }
    },
  )

  test('a call that does not exist is missing for who asked for it alone', async () => {
    const [one] = await created(1)
    const ids = [one!.call.id, 'call_00000000000000000000000000', one!.call.id]
    const found = await Promise.allSettled(ids.map((id) => batchLoadCall(h.app.services, id)))
    expect(found.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    one!.lease!.end()
  })

  test('an outcome is written only under the lease of its call', async () => {
    const calls = await created(3)
    await run(sql`update tool_calls set epoch = epoch + 1 where id = ${calls[1]!.call.id}`)
    const endings = calls.map(({ call, lease }) => ({ call, held: lease!.held, finished: said('done') }))
    const settled = await Promise.all(endings.map((ending) => settleHeld(h.app.services, ending)))
    expect(settled.map((call) => call?.status ?? null)).toEqual(['SUCCEEDED', null, 'SUCCEEDED'])
    expect(await foundOf(calls[1]!.call.id)).toMatchObject({ events: ['TOOL_CALL_STARTED'], entries: [] })
    for (const { lease } of calls) lease!.end()
  })

  test.skipIf(kind === 'PGlite')(
    'a beginning that may still be under way elsewhere holds up only itself when it is tried again',
    async () => {
      const own = postgres(url, { max: 1, onnotice: () => {} })
      const { db } = h.app.services
      const other = await own.reserve()
      await other`begin`
      let heldId = ''
      // The statement is lost, and a part of it is still under way on a connection of its own.
      const stop = aroundStatements(db, async ({ text, execute, params }) => {
        if (!text.startsWith(begins)) return execute()
        stop()
        const rows = JSON.parse(params.find((one) => String(one).startsWith('[{"id":"call_')) as string)
        heldId = rows[0].id
        await other`insert into tool_calls (id, project_id, source, runtime_name, status, requested_by)
          values (${heldId}, ${ctx.principal.projectId}, 'DIRECT', 'act', 'EXECUTING', 'key_operator')`
        throw new ConnectionLostError()
      })
      const requests = await Promise.all([0, 1, 2, 3].map((i) => request(`slow ${i}`)))
      // All find in the same moment that nothing was written.
      let reads = 0
      let release = () => {}
      const all = new Promise<void>((resolve) => (release = resolve))
      const stopReads = aroundStatements(h.app.services.leaseDb, async ({ text, execute }) => {
        const rows = await execute()
        if (!text.includes('from "tool_calls" where id =')) return rows
        if (++reads === requests.length) release()
        await all
        return rows
      })
      const calls = requests.map((one) => createCall(ctx, one))
      await Promise.all(calls.slice(1))
      stopReads()
      const waiting = async () => {
        const [waits] = await run(sql`select count(*)::int as n from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`)
        return waits!['n']
      }
      await expect.poll(waiting).toBe(1)
      await other`rollback`
      other.release()
      await own.end({ timeout: 1 })
      expect((await calls[0]!).call.id).toBe(heldId)
      const rows = await run(sql`select id from tool_calls where arguments->>'word' like 'slow %'`)
      expect(rows).toHaveLength(4)
    },
  )

  test.skipIf(kind === 'PGlite')('a call that somebody has locked does not hold up the others', async () => {
    const calls = await created(5)
    const locked = calls[2]!
    const row = await holdRow(url, 'tool_calls', locked.call.id)
    // The locked one has a statement of its own; the others need none.
    const alone = count(h.app.services.leaseDb, 'with g as (update tool_calls')
    try {
      const late = settle(locked, 'late')
      const others = calls.filter((one) => one !== locked)
      const settled = await Promise.all(others.map((one) => settle(one, 'in time')))
      expect(settled.map(({ status }) => status)).toEqual(Array(4).fill('SUCCEEDED'))
      expect(await eventsOf(locked.call.id)).toEqual(['TOOL_CALL_STARTED'])
      await row.release()
      await late
      expect(alone()).toBe(1)
      expect((await late).result!.content).toEqual([{ type: 'text', text: 'late' }])
    } finally {
      await row.release().catch(() => {})
    }
    expect(await foundOf(locked.call.id)).toEqual(outcome(locked.call.id, 'SUCCEEDED'))
  })

  // The embedded database has a commit for each: see decision 54.
  test.runIf(kind === 'PostgreSQL')('runs of one moment share commits, from start to end', async () => {
    const agentId = await fixtures.agent({ toolIds: [fixtures.tools.ask] })
    const many = 24
    const prompt = 'call ask {"word":"x"}\nthen\nsay done'
    const each = <T>(act: (i: number) => Promise<T>) =>
      Promise.all(Array.from({ length: many }, (_, i) => act(i)))
    const runs = await each(() => fixtures.start(agentId, prompt))
    await each((i) => h.until(runs[i]!, ['REQUIRES_ACTION']))
    const rows = await run(
      sql`select id, generation_id as run from tool_calls where generation_id in ${runs}`,
    )
    const open = new Map(rows.map((row) => [row['run'], row['id']]))
    const outputs = (i: number) => [{ toolCallId: open.get(runs[i]!), output: 'ok' }]
    await each((i) =>
      h.mutate('submitToolOutputs', { generationId: runs[i], outputs: outputs(i) }, 'outcomes { status }'),
    )
    await each((i) => h.until(runs[i]!, ['COMPLETED']))
    const commitsOf = async (found: SQL) =>
      (await run(sql`select count(distinct w)::int as n from (${found}) as x(w)`))[0]!['n'] as number
    const started = sql`select xmin::text from threads where id in (select thread_id from generations where id in ${runs})`
    const stepped = sql`select xmin::text from steps where generation_id in ${runs}`
    const answered = sql`select xmin::text from tool_calls where generation_id in ${runs}`
    expect(await commitsOf(started)).toBeLessThan(many)
    expect(await commitsOf(stepped)).toBeLessThan(2 * many)
    expect(await commitsOf(answered)).toBeLessThan(many)
  })
})

function principalOf(more: Partial<Principal>): Principal {
  return {
    id: 'key_operator',
    name: 'operator',
    projectId: null,
    installation: true,
    role: 'admin',
    policy: policyOfRole('admin'),
    expiresAt: null,
    agentId: null,
    votes: true,
    ...more,
  } as Principal
}

/** Counts the statements that begin so; the returned function gives the count and stops. */
function count(db: Database, text: string): () => number {
  let n = 0
  const stop = aroundStatements(db, ({ text: statement, execute }) => {
    if (statement.startsWith(text)) n++
    return execute()
  })
  return () => {
    stop()
    return n
  }
}

/** Loses the next statement that begins so on its way to the database. */
function loseStatement(db: Database, text: string): void {
  const stop = aroundStatements(db, ({ text: statement, execute }) => {
    if (!statement.startsWith(text)) return execute()
    stop()
    return Promise.reject(new ConnectionLostError())
  })
}
