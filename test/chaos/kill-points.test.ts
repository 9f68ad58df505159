/**
 * kill -9 at each named point between a verdict and its effect: afterwards the upstream's own journal shows one
 * execution, or the call is UNKNOWN with at most one; the generation ends, and its events have no gap.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask, mutate } from '../support/ask.ts'
import { buildServer } from '../support/build.ts'
import { databaseKinds, embeddedDatabase, postgresDatabase } from '../support/databases.ts'
import { dose } from '../support/dose.ts'
import { startLoopback, type Loopback } from '../support/loopback.ts'
import { chaosSeed } from '../support/random.ts'
import { startReplica, type Replica } from '../support/replica.ts'

const key = 'gh_kill_operator_0123456789012345678901234567890123456'
const points = [
  'after the decision commits',
  'before dispatch',
  'during the upstream call',
  'after the answer, before the commit',
  'after the commit, before the hint',
] as const
type Point = (typeof points)[number]

/** A call inside a generation or a direct one, of a tool that may be repeated or not. */
const calls = [
  { source: 'generation', idempotent: false },
  { source: 'generation', idempotent: true },
  { source: 'direct', idempotent: false },
  { source: 'direct', idempotent: true },
] as const

/** What the journal and the rows must contain for a call that must not be repeated. */
const unrepeated: Record<Point, { status: string; requests: number }> = {
  'after the decision commits': { status: 'SUCCEEDED', requests: 1 },
  'before dispatch': { status: 'UNKNOWN', requests: 0 },
  'during the upstream call': { status: 'UNKNOWN', requests: 1 },
  'after the answer, before the commit': { status: 'UNKNOWN', requests: 1 },
  'after the commit, before the hint': { status: 'SUCCEEDED', requests: 1 },
}

describe.each(databaseKinds)('on %s', (kind) => {
  let upstream: Loopback
  let entry: string
  let settings: Record<string, string>
  let replica: Replica | null = null
  const closers: (() => unknown)[] = []
  /** The paths whose first request gets no response. */
  const silent = new Set<string>()

  beforeAll(async () => {
    entry = (await buildServer()).ownProgram('test/support/killed-process.ts')
    upstream = await startLoopback((request, response) => {
      if (silent.delete(request.url)) return
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"paid":true}')
    })
    closers.push(() => upstream.close())
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-kill-'))
    closers.push(() => rm(folder, { recursive: true, force: true }))
    settings = {
      GATEHOUSE_DATA_DIR: folder,
      KILL_ORDERS: join(folder, 'orders.json'),
      GATEHOUSE_PORT: '0',
      GATEHOUSE_DEMO: 'false',
      GATEHOUSE_ADMIN_KEY: key,
      GATEHOUSE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
      GATEHOUSE_LEASE_MS: '1000',
      GATEHOUSE_EGRESS_ALLOW: upstream.address,
      GATEHOUSE_LOG_LEVEL: 'error',
    }
    if (kind === 'PostgreSQL') {
      const database = await postgresDatabase()
      closers.push(() => database.drop())
      settings['DATABASE_URL'] = database.url
    } else await embeddedDatabase(folder)
  })
  afterAll(async () => {
    await replica?.kill()
    for (const close of closers.toReversed()) await close()
  })

  /** Each process survives the previous kill and is killed next. */
  const order = (point: string, path: string) =>
    writeFile(settings['KILL_ORDERS']!, JSON.stringify({ point, path }))
  const start = async () => {
    replica = startReplica(entry, settings)
    await replica.ready
    return replica
  }

  /** By default every case runs on one of the databases, by the seed on which; with the full dose on all of them. */
  const isChosen = (point: Point, call: (typeof calls)[number]) =>
    dose(databaseKinds.length, 1) === 1 ||
    (points.indexOf(point) + calls.indexOf(call) + databaseKinds.indexOf(kind) + chaosSeed) % 2 === 0

  describe.each(points)('killed %s', (point) => {
    test.each(calls.filter((call) => isChosen(point, call)))(
      'a $source call, idempotent: $idempotent',
      { timeout: 180_000 },
      async ({ source, idempotent }) => {
        const path = `/${points.indexOf(point)}_${source}_${idempotent}`
        await order(point, path)
        const underTest = replica ?? (await start())
        const { approvalId, callId, generationId } = await stopAtGate(
          underTest.url,
          path.slice(1),
          source,
          idempotent,
          upstream.url,
        )
        const requests = () => upstream.seen.filter((seen) => seen.url === path)
        if (point === 'during the upstream call') {
          silent.add(path)
          void until(() => requests().length > 0).then(() => underTest.kill())
        }
        // The response may never come: the process ends during the request.
        await mutate(
          underTest.url,
          key,
          'decideApproval',
          { approvalId, verdict: 'APPROVE' },
          'approval { id }',
        ).catch(() => {})
        expect((await underTest.exited).signal).toBe('SIGKILL')
        await order('none', 'none')
        const survivor = await start()
        const call = await settled(survivor.url, callId)
        const { requests: sent, status } = unrepeated[point]
        const wanted = { status: idempotent ? 'SUCCEEDED' : status }
        expect(call).toMatchObject(wanted)
        const keys = requests().map((seen) => seen.headers['idempotency-key'])
        expect(new Set(keys).size, 'executions as an upstream counts that honours the key').toBe(
          idempotent ? 1 : sent,
        )
        if (!idempotent) expect(keys).toHaveLength(sent)
        expect(keys.every((one) => one === callId)).toBe(true)
        expect(call['approval']).toMatchObject({ status: 'APPROVED' })
        if (generationId) await expectWhole(survivor.url, generationId)
      },
    )
  })
})

/** A gated call that waits. Returns its ids. */
async function stopAtGate(url: string, name: string, source: string, idempotent: boolean, upstream: string) {
  const tool = {
    name: `pay${name}`,
    gate: { autoApprove: false },
    idempotent,
    config: { http: { url: `${upstream}/${name}`, inputSchema: { type: 'object' } } },
  }
  const toolId = (await mutate(url, key, 'createTool', tool, 'tool { id }'))['tool'].id as string
  if (source === 'direct') {
    const { toolCall } = await mutate(url, key, 'callTool', { toolId }, 'toolCall { id approval { id } }')
    return { callId: toolCall.id as string, approvalId: toolCall.approval.id as string, generationId: null }
  }
  const agent = { name, model: 'builtin/rehearsal', toolIds: [toolId] }
  const agentId = (await mutate(url, key, 'createAgent', agent, 'agent { id }'))['agent'].id
  const prompt = `call pay${name} {}\nthen\nsay went on`
  const { generation } = await mutate(url, key, 'startGeneration', { agentId, prompt }, 'generation { id }')
  const read = () =>
    ask(
      url,
      key,
      'query($id: ID!) { generation(id: $id) { requiredAction { approvals { id toolCall { id } } } } }',
      {
        id: generation.id,
      },
    ).then(({ data }) => data['generation'].requiredAction?.approvals[0])
  const approval = (await until(read)) as { id: string; toolCall: { id: string } }
  return { callId: approval.toolCall.id, approvalId: approval.id, generationId: generation.id as string }
}

async function settled(url: string, id: string): Promise<Record<string, any>> {
  return (await until(async () => {
    const query =
      'query($id: ID!) { toolCall(id: $id) { status settledAt errorCode content approval { status } attempts { outcome } } }'
    const call = (await ask(url, key, query, { id })).data['toolCall']
    return call.settledAt ? call : null
  })) as Record<string, any>
}

/** The generation ends, and its log has every number once. */
async function expectWhole(url: string, id: string): Promise<void> {
  const query = `query($id: ID!) { generation(id: $id) { status output { text } events(first: 100) { nodes { type } } } }`
  const generation = (await until(async () => {
    const { data } = await ask(url, key, query, { id })
    return data['generation'].status === 'COMPLETED' ? data['generation'] : null
  })) as Record<string, any>
  expect(generation['output'].text).toBe('went on')
  const types = generation['events'].nodes.map((event: { type: string }) => event.type)
  const once = ['APPROVAL_REQUESTED', 'APPROVAL_DECIDED', 'TOOL_CALL_SETTLED', 'GENERATION_COMPLETED']
  expect(types.filter((type: string) => once.includes(type))).toEqual(once)
}

/** Repeats the read until it returns a value. */
async function until<T>(read: () => T | Promise<T>): Promise<NonNullable<Exclude<T, false>>> {
  for (;;) {
    const found = await read()
    if (found) return found as NonNullable<Exclude<T, false>>
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
