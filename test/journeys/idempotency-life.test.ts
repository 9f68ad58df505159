/** How long an idempotency key is stored: at least a day after its call or run is settled. */
import { sql } from 'drizzle-orm'
import { beforeAll, describe, expect, test } from 'vitest'
import { forgetExpiredKeys } from '../../src/domain/access/index.ts'
import { query } from '../../src/store/db/database.ts'
import { callRaw } from '../support/bridge.ts'
import { gateFixtures } from '../support/gate-fixtures.ts'
import { adminKey, openHarness } from '../support/harness.ts'
import { leaveBehind } from '../support/left-behind.ts'
import { makeFixtures } from '../support/fixtures.ts'
import { forFile } from '../support/for-file.ts'

const h = await forFile(openHarness({}, { mcp: { inlineHoldMs: 50 } }))
const fixtures = await forFile(makeFixtures(h))
const gate = gateFixtures(h, fixtures)

const rows = <Row>(statement: ReturnType<typeof sql>) => query<Row>(h.app.services.db, statement)

/** Moves the first use of the key a day into the past. */
const aDayLater = (id: string) =>
  rows(sql`update idempotency_keys set expires_at = now() - interval '1 second' where result_id = ${id}`)

/** Moves the end of the call or run a day into the past as well. */
async function aDayAfterItsEnd(id: string) {
  await rows(sql`update tool_calls set settled_at = settled_at - interval '25 hours' where id = ${id}`)
  await rows(sql`update generations set finished_at = finished_at - interval '25 hours' where id = ${id}`)
  await aDayLater(id)
}

const kept = async (id: string) =>
  (await rows(sql`select 1 from idempotency_keys where result_id = ${id}`)).length === 1

interface Way {
  /** Sends the request with the key; returns the id of what it created or joined. */
  ask(key: string): Promise<string>
  end(id: string): Promise<void>
}

describe.each(['callTool', 'startGeneration', 'a call over the bridge'])('the key of %s', (route) => {
  let way: Way

  beforeAll(async () => {
    const tool = await gate.gated({ timeoutSeconds: 7 * 24 * 3600 })
    const agentId = await fixtures.agent({ toolIds: [tool.id], mcp: { enabled: true } })
    const approve = async (id: string) => {
      const [approval] = await rows<{ id: string }>(
        sql`select id from approvals where (tool_call_id = ${id} or generation_id = ${id}) and status = 'PENDING'`,
      )
      await gate.decide(approval!.id, 'APPROVE')
    }
    const endCall = async (id: string) => {
      await approve(id)
      await gate.untilCall(id, ['SUCCEEDED'])
    }
    const ways: Record<string, Way> = {
      callTool: {
        ask: async (idempotencyKey) => (await gate.call(tool.id, { amount: 1 }, { idempotencyKey }))['id'],
        end: endCall,
      },
      startGeneration: {
        ask: (idempotencyKey) =>
          fixtures.start(agentId, `call ${tool.name} {"amount": 1}\nthen\nsay done`, { idempotencyKey }),
        end: async (id) => {
          await h.until(id, ['AWAITING_APPROVAL'])
          await approve(id)
          await h.until(id, ['COMPLETED'])
        },
      },
      'a call over the bridge': {
        ask: async (idempotency_key) => {
          const args = { amount: 1, idempotency_key }
          const { body } = await callRaw(`${h.url}/mcp/${agentId}`, adminKey, tool.name, args)
          return body['result']._meta['gatehouse/call_id']
        },
        end: endCall,
      },
    }
    way = ways[route]!
  })

  test('is stored while an approval is pending, for a day after the end, and not longer', async () => {
    const id = await way.ask('one')
    await aDayLater(id)
    expect(await way.ask('one')).toBe(id)
    await aDayLater(id)
    await forgetExpiredKeys(h.app.services.db)
    expect(await kept(id)).toBe(true)
    await way.end(id)
    await aDayLater(id)
    expect(await way.ask('one')).toBe(id)
    await forgetExpiredKeys(h.app.services.db)
    expect(await kept(id)).toBe(true)
    await aDayAfterItsEnd(id)
    const other = await way.ask('one')
    expect(other).not.toBe(id)
    await way.end(other)
    await aDayAfterItsEnd(other)
    await forgetExpiredKeys(h.app.services.db)
    expect(await kept(other)).toBe(false)
  })
})

test('the key of a call whose outcome is unknown is stored until a person has settled it', async () => {
  const tool = await gate.gated(null)
  const ask = async () => (await gate.call(tool.id, { amount: 1 }, { idempotencyKey: 'lost' }))['id']
  const id: string = await ask()
  await leaveBehind(h, id)
  await aDayAfterItsEnd(id)
  expect(await ask()).toBe(id)
  await forgetExpiredKeys(h.app.services.db)
  expect(await kept(id)).toBe(true)
  await h.mutate('resolveUnknownCall', { toolCallId: id, outcome: 'FAILED' }, 'toolCall { id }')
  await aDayAfterItsEnd(id)
  await rows(sql`update tool_calls set resolved_at = resolved_at - interval '25 hours' where id = ${id}`)
  expect(await ask()).not.toBe(id)
})

test('a sweep checks a bounded number, and those that it keeps do not block the next ones', async () => {
  const tool = await gate.gated({ timeoutSeconds: 7 * 24 * 3600 })
  const waiting: string = (await gate.call(tool.id, { amount: 1 }, { idempotencyKey: 'waits' }))['id']
  const past = (n: number, id: string) =>
    rows(sql`insert into idempotency_keys (project_id, principal_id, operation, key, request_hash, result_id, expires_at)
      select 'proj_sweep', 'key_x', ${id}, i::text, 'x', ${id}, now() - interval '1 hour'
      from generate_series(1, ${n}::int) as i`)
  await past(20, waiting)
  await past(5, 'call_gone')
  await rows(
    sql`update idempotency_keys set expires_at = expires_at - interval '1 day' where operation = ${waiting}`,
  )
  await forgetExpiredKeys(h.app.services.db, 10)
  await forgetExpiredKeys(h.app.services.db, 10)
  await forgetExpiredKeys(h.app.services.db, 10)
  const left = await rows<{ operation: string; n: number }>(
    sql`select operation, count(*)::int as n from idempotency_keys where project_id = 'proj_sweep' group by 1`,
  )
  expect(left).toEqual([{ operation: waiting, n: 20 }])
})
