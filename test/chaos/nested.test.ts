/**
 * kill -9 at each named point in the life of a child run: one run for each call, one settlement, no orphan. And an
 * approval request three levels down that outlives every process.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from 'graphql-ws'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { ask, mutate } from '../support/ask.ts'
import { buildServer } from '../support/build.ts'
import { databaseKinds, embeddedDatabase, postgresDatabase } from '../support/databases.ts'
import { startReplica, type Replica } from '../support/replica.ts'
import { drawn } from '../support/random.ts'

const key = 'gh_nest_operator_0123456789012345678901234567890123456'
const points = ['start', 'end'].flatMap((kind) => [
  `before the statement of the ${kind}`,
  `after the statement of the ${kind}, before its commit`,
  `after the commit of the ${kind}, before the hint`,
])
const schema = { type: 'object', properties: { word: { type: 'string' } } }

describe.each(drawn(databaseKinds))('on %s', (kind) => {
  let entry: string
  let settings: Record<string, string>
  let replica: Replica | null = null
  const closers: (() => unknown)[] = []

  beforeAll(async () => {
    entry = (await buildServer()).ownProgram('test/support/nested-killed-process.ts')
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-nested-'))
    closers.push(() => rm(folder, { recursive: true, force: true }))
    settings = {
      GATEHOUSE_DATA_DIR: folder,
      KILL_ORDERS: join(folder, 'orders.json'),
      GATEHOUSE_PORT: '0',
      GATEHOUSE_DEMO: 'false',
      GATEHOUSE_ADMIN_KEY: key,
      GATEHOUSE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
      GATEHOUSE_LEASE_MS: '1000',
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

  const order = (point: string) => writeFile(settings['KILL_ORDERS']!, JSON.stringify({ point }))
  const start = async () => {
    replica = startReplica(entry, settings)
    await replica.ready
    return replica
  }

  test.each(points)(
    'killed %s: one run, one settlement, and the chain ends',
    { timeout: 180_000 },
    async (point) => {
      await order('none')
      const underTest = replica ?? (await start())
      const name = `p${points.indexOf(point)}`
      const agentId = await chainOfThree(underTest.url, name)
      await order(point)
      const inner = JSON.stringify({ message: 'say from the bottom' })
      const message = JSON.stringify({ message: `call ${name}_3 ${inner}\nthen\nsay from the middle` })
      const prompt = `call ${name}_2 ${message}\nthen\nsay from the top`
      const made = await mutate(
        underTest.url,
        key,
        'startGeneration',
        { agentId, prompt, idempotencyKey: name },
        'generation { id }',
      ).catch(() => null)
      expect((await underTest.exited).signal).toBe('SIGKILL')
      await order('none')
      const survivor = await start()
      const again = { agentId, prompt, idempotencyKey: name }
      const { generation } = await mutate(survivor.url, key, 'startGeneration', again, 'generation { id }')
      if (made) expect(generation.id).toBe(made['generation'].id)
      const runs = await untilEnded(survivor.url, generation.id)
      expect(runs.map((run) => run['output']?.text)).toEqual([
        'from the top',
        'from the middle',
        'from the bottom',
      ])
      for (const run of runs.slice(0, 2)) {
        expect(run['children'].nodes, 'one run for one call').toHaveLength(1)
        expect(run['toolCalls']).toMatchObject([
          {
            status: 'SUCCEEDED',
            attempts: [{ outcome: 'SUCCEEDED' }],
            child: { id: run['children'].nodes[0].id },
          },
        ])
        const types = run['events'].nodes.map((event: { type: string }) => event.type)
        expect(types.filter((type: string) => type === 'TOOL_CALL_SETTLED')).toHaveLength(1)
        const children = types.filter((type: string) => type.startsWith('CHILD'))
        expect(children).toEqual(
          run === runs[0]
            ? ['CHILD_STARTED', 'CHILD_STARTED', 'CHILD_ENDED', 'CHILD_ENDED']
            : ['CHILD_STARTED', 'CHILD_ENDED'],
        )
      }
      const { data } = await ask(survivor.url, key, `{ generations(first: 100) { nodes { id status } } }`)
      const open = data['generations'].nodes.filter((one: { status: string }) => one.status !== 'COMPLETED')
      expect(open, 'no orphan').toEqual([])
    },
  )

  test('an approval request three levels down outlives every process: its approval resumes the whole chain', async () => {
    await order('none')
    const first = replica ?? (await start())
    const pay = { name: 'pay', gate: { autoApprove: false }, config: { client: { inputSchema: schema } } }
    const { tool } = await mutate(first.url, key, 'createTool', pay, 'tool { id }')
    const agentId = await chainOfThree(first.url, 'gate', { toolIds: [tool.id] })
    const inner = JSON.stringify({ message: 'call pay {"word":"a"}\nthen\nsay from the bottom' })
    const message = JSON.stringify({ message: `call gate_3 ${inner}\nthen\nsay from the middle` })
    const prompt = `call gate_2 ${message}\nthen\nsay from the top`
    const { generation } = await mutate(
      first.url,
      key,
      'startGeneration',
      { agentId, prompt },
      'generation { id }',
    )
    const asked = await hear(first.url, generation.id, null, 'APPROVAL_REQUESTED')
    await first.kill()
    replica = null
    const second = await start()
    const approvalId = asked.at(-1)!.approval.id
    await mutate(second.url, key, 'decideApproval', { approvalId, verdict: 'APPROVE' }, 'approval { id }')
    const heard = await hear(second.url, generation.id, asked.at(-1)!.cursor, 'REQUIRES_ACTION')
    expect(heard.map((event) => event.type).filter((type) => /APPROVAL|REQUIRES/.test(type))).toEqual([
      'APPROVAL_DECIDED',
      'REQUIRES_ACTION',
    ])
    await second.kill()
    replica = null
    const third = await start()
    const outputs = [{ toolCallId: heard.at(-1)!.toolCalls[0].id, output: 'paid' }]
    await mutate(
      third.url,
      key,
      'submitToolOutputs',
      { generationId: generation.id, outputs },
      'outcomes { status }',
    )
    const rest = await hear(third.url, generation.id, heard.at(-1)!.cursor, 'GENERATION_COMPLETED')
    expect(rest.map((event) => event.type).filter((type) => type === 'CHILD_ENDED')).toHaveLength(2)
    const runs = await untilEnded(third.url, generation.id)
    expect(runs.map((run) => run['output'].text)).toEqual([
      'from the top',
      'from the middle',
      'from the bottom',
    ])
  }, 180_000)
})

/** Three agents, each calling the next; `last` are settings of the third. Returns the id of the first. */
async function chainOfThree(url: string, name: string, last: object = {}): Promise<string> {
  let below: string[] = []
  for (const level of [3, 2, 1]) {
    const agent = {
      name: `${name}_${level}`,
      model: 'builtin/rehearsal',
      agentIds: below,
      ...(level === 3 ? last : {}),
    }
    below = [(await mutate(url, key, 'createAgent', agent, 'agent { id }'))['agent'].id]
  }
  return below[0]!
}

const runFields = `id status output { text } toolCalls { status attempts { outcome } child { id } }
  events(first: 100) { nodes { type } } children { nodes { id } }`

/** The chain from the top down once it has ended. */
async function untilEnded(url: string, id: string): Promise<Record<string, any>[]> {
  const read = async (one: string) =>
    (await ask(url, key, `query($id: ID!) { generation(id: $id) { ${runFields} } }`, { id: one })).data[
      'generation'
    ]
  await hear(url, id, null, 'GENERATION_COMPLETED')
  const runs = [await read(id)]
  while (runs.at(-1)!.children.nodes[0]) runs.push(await read(runs.at(-1)!.children.nodes[0].id))
  return runs
}

/** The log of a generation after a cursor, over graphql-ws, up to the first event of this kind. */
function hear(url: string, generationId: string, after: string | null, until: string): Promise<any[]> {
  const client = createClient({
    url: `${url.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: `Bearer ${key}` },
  })
  const query = `subscription($generationId: ID!, $after: String) {
    generationEvents(generationId: $generationId, after: $after) { type cursor
      ... on ApprovalRequestedEvent { approval { id } } ... on RequiresActionEvent { toolCalls { id } } } }`
  const events: any[] = []
  return new Promise<any[]>((done, fail) => {
    client.subscribe<{ generationEvents: any }>(
      { query, variables: { generationId, after } },
      {
        next: ({ data }) => {
          events.push(data!.generationEvents)
          if (data!.generationEvents.type === until) done(events)
        },
        error: fail,
        complete: () => done(events),
      },
    )
  }).finally(() => client.dispose())
}
