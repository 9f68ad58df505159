/**
 * Replicas are killed at random while chains of three wait, ask and get responses through their roots: at no moment
 * is there a generation that no worker would take, and in the end every call of an agent has one run and one answer.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask, mutate, mutationText } from '../support/ask.ts'
import { buildServer } from '../support/build.ts'
import { hasPostgres, postgresDatabase } from '../support/databases.ts'
import { startReplica, type Replica } from '../support/replica.ts'
import { orphans } from './judgement.ts'
import { randomSchedule } from '../support/random.ts'

const random = randomSchedule()

const key = 'gh_nest_operator_0123456789012345678901234567890123456'
const roots = 8
const kills = 4

describe.skipIf(!hasPostgres)('on PostgreSQL', () => {
  const closers: (() => unknown)[] = []
  const replicas: Replica[] = []
  let entry: string
  let settings: Record<string, string>
  let sql: postgres.Sql

  beforeAll(async () => {
    const [server, database] = await Promise.all([buildServer(), postgresDatabase()])
    closers.push(() => database.drop())
    entry = server.entry
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-nested-kills-'))
    closers.push(() => rm(folder, { recursive: true, force: true }))
    settings = {
      DATABASE_URL: database.url,
      GATEHOUSE_BLOB_DIR: folder,
      GATEHOUSE_PORT: '0',
      GATEHOUSE_DEMO: 'false',
      GATEHOUSE_ADMIN_KEY: key,
      GATEHOUSE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
      GATEHOUSE_LEASE_MS: '1000',
      GATEHOUSE_REQUESTS_PER_MINUTE: '1000000',
      GATEHOUSE_LOG_LEVEL: 'error',
    }
    sql = postgres(database.url, { max: 2, onnotice: () => {} })
    closers.push(() => sql.end())
  })
  afterAll(async () => {
    await Promise.all(replicas.map((one) => one.kill()))
    for (const close of closers.toReversed()) await close()
  })

  const start = async (i: number) => {
    replicas[i] = startReplica(entry, settings)
    await replicas[i].ready
  }
  const url = () => replicas[Math.floor(random() * replicas.length)]!.url

  /** Sends it to any server until one accepts it; null when the call is settled already. */
  const persist = async (
    name: string,
    input: object,
    fields: string,
  ): Promise<Record<string, any> | null> => {
    for (;;) {
      const answer = await ask(url(), key, mutationText(name, fields), { input }).catch(() => null)
      const payload = answer?.data?.[name]
      if (payload?.__typename.endsWith('Payload')) return payload
      if (payload) return null
      await pause(50)
    }
  }

  test(
    'kill -9 at random: one run for each call, one settlement, no orphan at any moment',
    { timeout: 360_000 },
    async () => {
      await Promise.all([start(0), start(1)])
      const agentId = await chain(url())
      const asking = (name: string, message: string, last: string) =>
        `call ${name} ${JSON.stringify({ message })}\nthen\nsay ${last}`
      const bottom = 'slow 20ms\ncall ask {}\ncall pay {}\nthen\nsay at the bottom'
      const middle = `${asking('third', bottom, 'in the middle')}`
      const prompt = `call second ${JSON.stringify({ message: middle })}\n${asking('second', middle, 'at the top')}`
      const ids: string[] = []
      for (let i = 0; i < roots; i++) {
        const input = { agentId, prompt, idempotencyKey: `root ${i}` }
        ids.push((await persist('startGeneration', input, 'generation { id }'))!['generation'].id)
      }
      const stop = { people: false }
      const people = answerAndDecide(stop)
      for (let i = 0; i < kills; i++) {
        await pause(300 + random() * 700)
        await replicas[i % 2]!.kill()
        expect(await sql.unsafe(orphans)).toEqual([])
        await start(i % 2)
      }
      const open = () => sql`select id from generations where finished_at is null`
      while ((await open()).length > 0) await pause(100)
      stop.people = true
      await people
      const found =
        await sql`select root_id, count(*)::int as n from generations where status = 'COMPLETED' group by 1`
      expect(found).toHaveLength(roots + 1)
      expect(found.find((row) => row['root_id'] === null)).toMatchObject({ n: roots })
      for (const row of found.filter((one) => one['root_id'] !== null)) expect(row['n']).toBe(4)
      expect(
        await sql`select parent_call_id from generations where parent_call_id is not null
      group by 1 having count(*) > 1`,
      ).toHaveLength(0)
      const calls = await sql`select t.id from tool_calls t left join generations c on c.id = t.child_id
      where t.kind = 'agent' and (t.status <> 'SUCCEEDED' or t.attempt <> 1 or c.parent_call_id is distinct from t.id)`
      expect(calls, 'calls of agents without one run and one answer').toHaveLength(0)
      expect(
        await sql`select g.id from generations g join events e on e.generation_id = g.id group by g.id
      having count(*) <> g.last_seq or max(e.seq) <> g.last_seq or count(distinct e.seq) <> g.last_seq`,
      ).toHaveLength(0)
      const told =
        await sql`select data->>'childId' from events where type = 'CHILD_ENDED' and not data ? 'descendantId'
      group by 1 having count(*) <> 1`
      expect(told, 'ends that were reported twice').toHaveLength(0)
    },
  )

  /** Submits outputs and verdicts for everything that a root lists, until stopped. */
  async function answerAndDecide(stop: { people: boolean }): Promise<void> {
    const query = `{ generations(first: 100) { nodes { id root { id } requiredAction { toolCalls { id } approvals { id } } } } }`
    while (!stop.people) {
      const { data } = await ask(url(), key, query).catch(() => ({ data: null as any }))
      const asked = (data?.generations.nodes ?? []).filter(
        (one: any) => one.root === null && one.requiredAction,
      )
      for (const { id, requiredAction } of asked) {
        const outputs = requiredAction.toolCalls.map((call: { id: string }) => ({
          toolCallId: call.id,
          output: 'ok',
        }))
        if (outputs.length > 0)
          await persist('submitToolOutputs', { generationId: id, outputs }, 'outcomes { status }')
        for (const approval of requiredAction.approvals)
          await persist('decideApproval', { approvalId: approval.id, verdict: 'APPROVE' }, 'approval { id }')
      }
      await pause(50)
    }
  }

  async function chain(at: string): Promise<string> {
    const inputSchema = { type: 'object' }
    const client = { client: { inputSchema } }
    const make = async (name: string, input: object, fields: string) =>
      (await mutate(at, key, name, input, fields)) as any
    const one = await make('createTool', { name: 'ask', config: client }, 'tool { id }')
    const gated = { name: 'pay', config: client, gate: { autoApprove: false } }
    const two = await make('createTool', gated, 'tool { id }')
    const agent = async (name: string, more: object) =>
      (await make('createAgent', { name, model: 'builtin/rehearsal', ...more }, 'agent { id }')).agent.id
    const third = await agent('third', { toolIds: [one.tool.id, two.tool.id] })
    return agent('first', { agentIds: [await agent('second', { agentIds: [third] })] })
  }
})

const pause = (milliseconds: number) => new Promise((done) => setTimeout(done, milliseconds))
