/** Connectors that do not do what ours does, senders that were lost, and a database that fails at the worst moment. */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import { forgetConnectors } from '../../src/domain/upstream/index.ts'
import { nowPlus, query } from '../../src/store/db/database.ts'
import { sql, type SQL } from '../../src/store/db/sql.ts'
import { NoConnectionError } from '../../src/store/db/storage-error.ts'
import { aroundStatements } from '../support/around-statements.ts'
import { makeFixtures } from '../support/fixtures.ts'
import { gateFixtures } from '../support/gate-fixtures.ts'
import { adminKey, openHarness } from '../support/harness.ts'
import { forFile } from '../support/for-file.ts'

const hostile = new Set<Hostile>()

const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))
const gates = gateFixtures(h, fixtures)
afterAll(async () => {
  await Promise.all([...hostile].map((one) => one.stop()))
})

async function post(name: string, what: string, body: object, key = adminKey) {
  const response = await fetch(`${h.url}/connectors/${name}/${what}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: response.status, body: await response.json().catch(() => null) }
}

interface Taken {
  id: string
  /** The text of the call of `note`. */
  text: string
  answer(answer: object | null, id?: string): Promise<number>
}

interface Hostile {
  instance: string
  /** Sends one more request for messages; returns the calls that it brought. What else came is answered. */
  next(): Promise<Taken[]>
  stop(): Promise<void>
}

const listed = { tools: [{ name: 'note', inputSchema: { type: 'object' } }] }
const handshake = {
  protocolVersion: '2025-11-25',
  capabilities: { tools: {} },
  serverInfo: { name: 'h', version: '1' },
}

/** Connects by hand. With `act` it goes on to ask for messages, and hands over each call. */
async function connect(name: string, act?: (asked: Taken) => Promise<unknown>): Promise<Hostile> {
  const instance = randomUUID().replaceAll('-', '')
  let stopped = false
  const next = async () => {
    const { body } = await post(name, 'next', { instance })
    const calls: Taken[] = []
    for (const { id, message } of (body?.messages ?? []) as { id: string; message: string }[]) {
      const { method, params } = JSON.parse(message)
      const answer = async (given: object | null, to = id) =>
        (await post(name, 'answer', { instance, id: to, answer: given })).status
      if (method === 'tools/call') calls.push({ id, text: params.arguments.text, answer })
      else if (method === 'initialize') await answer({ result: handshake })
      else if (method === 'tools/list') await answer({ result: listed })
      else if (!method.startsWith('notifications/')) await answer({ error: { code: -32601, message: 'no' } })
    }
    return calls
  }
  await next()
  const asking = (async () => {
    while (act && !stopped) for (const asked of await next()) void act(asked)
  })()
  const made = {
    instance,
    next,
    async stop() {
      stopped = true
      await post(name, 'leave', { instance })
      await asking
    },
  }
  hostile.add(made)
  return made
}

async function toolFor(name: string): Promise<string> {
  const input = { name: name.replaceAll('-', '_'), config: { mcp: { url: `connector:${name}` } } }
  return (await h.mutate('createTool', input, 'tool { id }'))['tool'].id
}

const note = (toolId: string, text: string) => gates.call(toolId, { text }, { action: 'note' })
const rows = <Row>(text: SQL) => query<Row>(h.app.services.db, text)

test('who may not serve a connector does nothing to it by any path', async () => {
  const keys = [
    await gates.key({ role: 'CALLER' }),
    await gates.key({ role: 'APPROVER' }),
    await gates.key({ role: 'VIEWER' }),
  ]
  const instance = 'a'.repeat(32)
  for (const { secret } of keys)
    for (const [what, body] of [
      ['next', {}],
      ['answer', { id: randomUUID(), answer: null }],
      ['changed', {}],
      ['leave', {}],
    ] as const)
      expect((await post('guarded', what, { instance, ...body }, secret)).status, what).toBe(403)
  expect(await rows(sql`select 1 from connectors where name = 'guarded'`)).toEqual([])
})

test('answers of any shape end calls, and answers to what is not its own do nothing', async () => {
  const own = await gates.key({
    policy: { statement: [{ effect: 'Allow', action: ['connectors:Serve'], resource: ['connector/thief'] }] },
  })
  const answers: (object | null)[] = [
    { result: null },
    { result: 5 },
    { result: [] },
    { result: { content: 'text' } },
    { error: 'text' },
    { error: { code: 'x' } },
    { result: { content: [], structuredContent: 7 } },
    { jsonrpc: '2.0', id: 'other', method: 'tools/call', result: {} },
    null,
  ]
  const taken: Taken[] = []
  await connect('odd', async (asked) => {
    taken.push(asked)
    // The thief knows the id, and even the instance; it has another name.
    const instance = [...hostile].at(-1)!.instance
    const stolen = {
      instance,
      id: asked.id,
      answer: { result: { content: [{ type: 'text', text: 'stolen' }] } },
    }
    expect((await post('thief', 'answer', stolen, own.secret)).status).toBe(204)
    expect((await post('odd', 'answer', stolen, own.secret)).status).toBe(403)
    expect(await asked.answer(answers[Number(asked.text)]!)).toBe(204)
    expect(await asked.answer({ result: { content: [{ type: 'text', text: 'second' }] } })).toBe(204)
  })
  const toolId = await toolFor('odd')
  const ended = await Promise.all(answers.map((_, n) => note(toolId, String(n))))
  expect(JSON.stringify(ended)).not.toMatch(/stolen|second/)
  for (const [n, { status }] of ended.entries())
    expect(['SUCCEEDED', 'ERRORED', 'UNKNOWN'], JSON.stringify(answers[n])).toContain(status)
  expect(taken.map(({ text }) => text).toSorted()).toEqual(answers.map((_, n) => String(n)))
})

test('what lost senders and lost connectors left behind is in nobody’s way, and goes', async () => {
  const ran: string[] = []
  const made = await connect('burdened', ({ text, answer }) => {
    ran.push(text)
    return answer({ result: { content: [] } })
  })
  const toolId = await toolFor('burdened')
  const leave = (takenBy: string | null) => sql`
    insert into connector_messages (id, project_id, connector, message, take_by, taken_at, taken_by, created_at)
    select gen_random_uuid(), project_id, name, '{}', now() - interval '1 second',
      case when ${takenBy}::text is null then null else now() end, ${takenBy}, now() - interval '2 minutes'
    from connectors, generate_series(1, 100) where name = 'burdened'`
  await rows(leave(null))
  await rows(leave('b'.repeat(32)))
  expect(await note(toolId, 'one')).toMatchObject({ status: 'SUCCEEDED' })
  // What this process has taken and not answered is its load.
  await rows(leave(made.instance))
  const untaken = { status: 'ERRORED', errorCode: 'unreachable' }
  expect(await note(toolId, 'two')).toMatchObject(untaken)
  // That it did not run is known in a run, too.
  const runId = await fixtures.start(
    await fixtures.agent({ toolIds: [toolId] }),
    'call burdened_note {"text": "run"}\nthen\nsay done',
  )
  const ended = await h.until(runId, ['COMPLETED'], 'toolCalls { status errorCode }')
  expect(ended['toolCalls']).toMatchObject([untaken])
  const old = sql`now() - interval '61 minutes'`
  await rows(sql`update connector_messages set created_at = ${old} where connector = 'burdened'`)
  await rows(sql`insert into connectors (project_id, name, instance, seen_at)
    select project_id, 'lost', instance, ${old} from connectors where name = 'burdened'`)
  await forgetConnectors(h.app.services.db)
  expect(await rows(sql`select name from connectors where name in ('burdened', 'lost')`)).toEqual([
    { name: 'burdened' },
  ])
  expect(await note(toolId, 'three')).toMatchObject({ status: 'SUCCEEDED' })
  expect(ran).toEqual(['one', 'three'])
})

test('a database that did not answer for a while makes no call UNKNOWN, and one that fails before it is sent is not sent', async () => {
  let release = (_asked: Taken) => {}
  const taken = new Promise<Taken>((resolve) => (release = resolve))
  await connect('outage', async (asked) => release(asked))
  const toolId = await toolFor('outage')
  const calling = note(toolId, 'under way')
  const asked = await taken
  const { db } = h.app.services
  // The first read fails; by the next ones the connector was not heard of for long.
  let [reads, seen] = [0, () => {}]
  const enough = new Promise<void>((resolve) => (seen = resolve))
  const undo = aroundStatements(db, async ({ text, execute }) => {
    if (!text.includes('take_by <= now() as late')) return execute()
    if (++reads === 1) throw new NoConnectionError('down')
    await query(db, sql`update connectors set seen_at = ${nowPlus(-16_000)} where name = 'outage'`)
    const result = await execute()
    if (reads > 3) seen()
    return result
  })
  await enough
  undo()
  await asked.answer({ result: { content: [{ type: 'text', text: 'done' }] } })
  expect(await calling).toMatchObject({ status: 'SUCCEEDED' })

  const failing = aroundStatements(db, async ({ text, execute }) => {
    if (text.includes('from connectors where')) throw new NoConnectionError('down')
    return execute()
  })
  const unsent = await note(toolId, 'never').finally(failing)
  expect(unsent).toMatchObject({ status: 'ERRORED', errorCode: 'not_sent' })
})

/** A call that is UNKNOWN because of this, while the connector still has it. */
async function givenUp(name: string, giveUp: (made: Hostile) => Promise<unknown>) {
  const asked: Taken[] = []
  const made = await connect(name, async (taken) => void asked.push(taken))
  const calling = note(await toolFor(name), 'under way')
  await expect.poll(() => asked.length).toBe(1)
  await giveUp(made)
  const { id, status } = await calling
  expect(status).toBe('UNKNOWN')
  return { id: id as string, taken: asked[0]!, asked }
}

async function outcomeOf(id: string) {
  const [call] = await rows<Record<string, unknown>>(
    sql`select status, attempt, result::text as result from tool_calls where id = ${id}`,
  )
  return call
}

const lateAnswer = { result: { content: [{ type: 'text', text: 'it ran' }] } }
const waysToGiveUp = {
  'leaves with a call under way': (made: Hostile) => made.stop(),
  'is not heard of for longer than its lease': ({ instance }: Hostile) =>
    rows(
      sql`update connectors set seen_at = ${nowPlus(-16_000)}, instance = 'another process' where instance = ${instance}`,
    ),
}

test.each(Object.entries(waysToGiveUp))(
  'the answer of a connector that %s becomes the outcome of the call',
  async (way, giveUp) => {
    const name = way.startsWith('leaves') ? 'leaver' : 'sleeper'
    const { id, taken, asked } = await givenUp(name, giveUp)
    expect(await taken.answer(lateAnswer)).toBe(204)
    await expect
      .poll(() => outcomeOf(id))
      .toMatchObject({
        status: 'SUCCEEDED',
        attempt: 1,
        result: expect.stringContaining('it ran'),
      })
    expect(asked).toHaveLength(1)
  },
  180_000,
)

test('what a person resolved meanwhile stands, whatever a connector that left says then', async () => {
  const { id, taken } = await givenUp('too-late', (made) => made.stop())
  const resolved = { toolCallId: id, outcome: 'FAILED', output: 'it did not run' }
  await h.mutate('resolveUnknownCall', resolved, 'toolCall { status }')
  const before = await outcomeOf(id)
  expect(before).toMatchObject({ status: 'ERRORED' })
  expect(await taken.answer(lateAnswer)).toBe(204)
  // The message goes when its sender has read the answer.
  await expect.poll(() => rows(sql`select 1 from connector_messages where id = ${taken.id}`)).toEqual([])
  expect(await outcomeOf(id)).toEqual(before)
}, 180_000)

test('a replica that was frozen between the taking and the reply gives back what it took, and it runs once', async () => {
  const ran: string[] = []
  await connect('frozen', ({ text, answer }) => {
    ran.push(text)
    return answer({ result: { content: [] } })
  })
  const toolId = await toolFor('frozen')
  let takes = 0
  const undo = aroundStatements(h.app.services.db, async ({ text, execute }) => {
    const result = (await execute()) as { message?: string }[] & { rows?: { message?: string }[] }
    const isTaken = (result.rows ?? result).some(({ message }) => message?.includes('given back'))
    // More than half of the second that a message may wait.
    if (text.includes('set taken_at = now()') && isTaken && ++takes === 1) await pause(600)
    return result
  })
  expect(await note(toolId, 'given back').finally(undo)).toMatchObject({ status: 'SUCCEEDED' })
  expect({ takes, ran }).toEqual({ takes: 2, ran: ['given back'] })
})

test('many connectors that wait cost one poll together', async () => {
  const many = await Promise.all(Array.from({ length: 20 }, (_, n) => connect(`idle-${n}`)))
  const { db } = h.app.services
  let [polls, takes, over] = [0, 0, () => {}]
  const enough = new Promise<void>((resolve) => (over = resolve))
  const undo = aroundStatements(db, ({ text, execute }) => {
    if (text.includes('select distinct project_id as')) polls++
    if (text.includes('set taken_at = now()')) takes++
    if (polls === 4) over()
    return execute()
  })
  const waiting = many.map((one) => one.next())
  await enough
  undo()
  expect(takes).toBeLessThan(3 * many.length)
  await Promise.all(many.map((one) => one.stop()))
  await Promise.all(waiting)
})
