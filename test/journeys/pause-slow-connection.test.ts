/**
 * A call that was begun before a pause and whose connection opens after it is not sent, and waits for the end of it; one whose row
 * another worker has taken meanwhile is never sent.
 */
import { afterEach, expect, test, vi } from 'vitest'
import { principalById } from '../../src/domain/access/index.ts'
import { callDirectly } from '../../src/domain/calls/index.ts'
import { createEgress } from '../../src/domain/egress/index.ts'
import { query } from '../../src/store/db/database.ts'
import { sql } from '../../src/store/db/sql.ts'
import { aroundStatements } from '../support/around-statements.ts'
import { openHarness } from '../support/harness.ts'
import { startLoopback } from '../support/loopback.ts'
import { forFile } from '../support/for-file.ts'

const upstream = await forFile(
  startLoopback((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  }),
)
const h = await forFile(openHarness({ leaseMs: 300_000 }))
afterEach(() => void vi.restoreAllMocks())

/** A promise and what resolves it. */
function signal<T>() {
  let resolve: (value: T) => void = () => {}
  const promise = new Promise<T>((done) => (resolve = done))
  return { promise, resolve: (value: T) => resolve(value) }
}

/** A tool whose host this resolver finds, and how the operator calls it. */
async function toolAt(name: string, lookup: () => Promise<string[]>, on = h) {
  const { data } = await on.gql('{ viewer { id } }')
  const principal = await principalById(on.app.services.db, data['viewer'].id, Date.now())
  const egress = createEgress({ allowPrivate: true, allowList: [] }, { lookup })
  const ctx = { ...on.app.ctxOf(principal!), egress }
  const url = `http://slow.test:${new URL(upstream.url).port}/${name}`
  const config = { http: { url, inputSchema: { type: 'object' } } }
  const { tool } = await on.mutate('createTool', { name, config }, 'tool { id }')
  return { toolId: tool.id as string, call: () => callDirectly(ctx, { toolId: tool.id, arguments: {} }) }
}

const sentTo = (name: string) => upstream.seen.filter(({ url }) => url === `/${name}`)

test('nothing is sent after the answer of pause, and the call is sent once when the pause has ended', async () => {
  const asked = signal<void>()
  const answered = signal<string[]>()
  const { toolId, call } = await toolAt('slow', () => {
    asked.resolve()
    return answered.promise
  })
  const calling = call()
  await asked.promise

  const { pause } = await h.mutate('pause', { toolId }, 'pause { id }')
  const again = signal<void>()
  const stop = aroundStatements(h.app.services.leaseDb, async ({ text, execute }) => {
    const done = await execute()
    if (text.startsWith('select open_pause.id')) again.resolve()
    return done
  })
  answered.resolve(['127.0.0.1'])
  await again.promise
  stop()
  expect(sentTo('slow')).toEqual([])

  await h.mutate('resume', { pauseId: pause.id }, 'pause { id }')
  expect((await calling).status).toBe('SUCCEEDED')
  expect(sentTo('slow')).toHaveLength(1)
})

test('a call whose connection is slow again and again, as that of a busy process, is sent once', async () => {
  const realNow = Date.now
  let tries = 0
  vi.spyOn(Date, 'now').mockImplementation(() => realNow() + Math.min(tries, 6) * 3000)
  const { call } = await toolAt('busy', async () => {
    tries++
    return ['127.0.0.1']
  })
  expect(await call()).toMatchObject({ status: 'SUCCEEDED' })
  expect(tries).toBeGreaterThan(6)
  expect(sentTo('busy')).toHaveLength(1)
})

test('a call whose row another worker has taken is not sent when its connection opens', async () => {
  const short = await openHarness({ leaseMs: 1500 })
  try {
    const asked = signal<void>()
    const answered = signal<string[]>()
    const lookup = () => (asked.resolve(), answered.promise)
    const { toolId, call } = await toolAt('taken', lookup, short)
    const calling = call()
    await asked.promise
    const { db, leaseDb } = short.app.services
    const set = (to: ReturnType<typeof sql>) =>
      query(db, sql`update tool_calls set ${to} where tool_id = ${toolId}`)
    await set(sql`epoch = epoch + 1, wake_at = now() + interval '1 hour'`)
    const beat = signal<void>()
    const stop = aroundStatements(leaseDb, async ({ text, execute }) => {
      const done = await execute()
      if (text.startsWith('with h as')) beat.resolve()
      return done
    })
    await beat.promise
    stop()
    answered.resolve(['127.0.0.1'])
    // That worker is lost, too.
    await set(sql`wake_at = now()`)
    await calling
    expect(sentTo('taken')).toEqual([])
  } finally {
    await short.stop()
  }
})
