/** Child runs under load: outputs, verdicts, cancels and expiry at the same time, on all replicas. */
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type DatabaseKind, databaseKinds } from '../support/databases.ts'
import type { Harness } from '../support/harness.ts'
import { makeAgent } from '../support/nested-fixtures.ts'
import { openDeployment, type Deployment } from '../support/deployment.ts'
import { orphans } from './judgement.ts'
import { drawn, randomSchedule } from '../support/random.ts'

const random = randomSchedule()

const terminal = ['COMPLETED', 'FAILED', 'CANCELLED', 'EXPIRED']

describe.each(drawn(databaseKinds))('on %s', (kind) => {
  let deployment: Deployment
  let top: Harness
  beforeAll(async () => {
    // Leases are renewed every second, several rows in one statement: those locks must keep the order too.
    deployment = await openDeployment(kind, { leaseMs: 3000 })
    top = deployment.replicas[0]!
  })
  afterAll(() => deployment?.close())

  const replica = (i: number) => deployment.replicas[i % deployment.replicas.length]!
  const call = (name: string, message: string) => `call ${name} ${JSON.stringify({ message })}`

  test(
    'two runs that end at the same instant on two replicas wake their parent once',
    { timeout: 180_000 },
    async () => {
      const worker = await makeAgent(top, { name: 'twin', toolIds: [deployment.fixtures.tools.ask] })
      const asker = await makeAgent(top, { name: 'asker', agentIds: [worker] })
      const inner = (text: string) => `call ask {"word":"x"}\nthen\nsay ${text}`
      const prompt = `${call('twin', inner('one'))}\n${call('twin', inner('two'))}\nthen\nsay both`
      const roots = await Promise.all(
        Array.from({ length: 15 }, () => deployment.fixtures.start(asker, prompt)),
      )
      await Promise.all(
        roots.map(async (root) => {
          const asked = await untilOpen(top, root, 2)
          await Promise.all(
            asked.map(({ id, generation }, i) =>
              replica(i).mutate(
                'submitToolOutputs',
                { generationId: generation.id, outputs: [{ toolCallId: id, output: 'ok' }] },
                'outcomes { status }',
              ),
            ),
          )
          const ended = await top.until(root, terminal, 'toolCalls { status content }')
          expect(ended).toMatchObject({ status: 'COMPLETED', output: { text: 'both' } })
          expect(ended['toolCalls'].map((one: any) => one.content[0].text)).toEqual(['one', 'two'])
        }),
      )
      const ends = await deployment.rows(
        `select generation_id from events where type = 'CHILD_ENDED' group by 1 having count(*) <> 2`,
      )
      expect(ends).toEqual([])
      const steps = await deployment.rows(
        `select 1 from generations where root_id is null and step_count <> 2`,
      )
      expect(steps, 'no step was made twice').toEqual([])
    },
  )

  test(
    'concurrent requests on trees of three levels leave no deadlock, no gap, no orphan and nothing open',
    { timeout: 360_000 },
    async () => {
      const trees = 16
      const { toolId } = await deployment.payer({ autoApprove: false })
      const toolIds = [toolId, deployment.fixtures.tools.ask]
      const leaf = await makeAgent(top, { name: 'leaf', toolIds })
      const middle = await makeAgent(top, { name: 'middle', agentIds: [leaf], toolIds })
      const root = await makeAgent(top, { name: 'root', agentIds: [middle], toolIds })
      const own = 'call pay {"n":"1"}\ncall ask {"word":"x"}'
      const under = `${call('leaf', `${own}\nthen\nsay leaf`)}\n${call('leaf', `${own}\nthen\nsay leaf`)}\n${own}\nthen\nsay middle`
      const prompt = `${call('middle', under)}\n${call('middle', under)}\n${own}\nthen\nsay root`
      const ids = await Promise.all(
        Array.from({ length: trees }, (_, i) =>
          replica(i).mutate('startGeneration', { agentId: root, prompt }, 'generation { id }'),
        ),
      ).then((made) => made.map((one) => one['generation'].id as string))
      await Promise.all(ids.map((id) => untilOpen(top, id, 7)))
      const before = await deadlocks(deployment, kind)
      await Promise.all([answers(), verdicts(), expiries(), cancels(ids)])
      await expireTheRest()
      await Promise.all(ids.map((id) => top.until(id, terminal)))
      await untilNothingRuns()
      expect(await deadlocks(deployment, kind)).toBe(before)
      expect(await deployment.rows(orphans)).toEqual([])
      const broken =
        await deployment.rows(`select g.id from generations g join events e on e.generation_id = g.id
      group by g.id having count(*) <> g.last_seq or max(e.seq) <> g.last_seq or count(distinct e.seq) <> g.last_seq`)
      expect(broken, 'gaps').toEqual([])
      expect(await deployment.rows(`select id from tool_calls where settled_at is null`)).toEqual([])
      expect(await deployment.rows(`select id from approvals where status = 'PENDING'`)).toEqual([])
      const doubled = await deployment.rows(
        `select parent_call_id from generations where parent_call_id is not null group by 1 having count(*) > 1`,
      )
      expect(doubled, 'two runs for one call').toEqual([])
      const children =
        await deployment.rows(`select c.id from generations c join generations p on p.id = c.parent_id
      where p.finished_at is not null and c.finished_at is null`)
      expect(children, 'a run whose parent is gone').toEqual([])
      const statuses = await deployment.rows(
        `select status, count(*)::int as n from generations group by 1 order by 1`,
      )
      console.log(`storm over child runs on ${kind}:`, JSON.stringify(statuses))
    },
  )

  /** Submits outputs for every open client call through its root, two at a time and in random order. */
  async function answers(): Promise<void> {
    const open = await deployment.rows<{
      id: string
      root: string
    }>(`select t.id, coalesce(g.root_id, g.id) as root
      from tool_calls t join generations g on g.id = t.generation_id where t.status = 'AWAITING_CLIENT' order by random()`)
    await Promise.all(
      open.map(async ({ id, root }, i) => {
        await pause(random() * 1500)
        const mates = open.filter((one) => one.root === root && one.id !== id).slice(0, 1)
        const outputs = [id, ...mates.map((one) => one.id)].map((toolCallId) => ({
          toolCallId,
          output: 'ok',
        }))
        await replica(i).mutate('submitToolOutputs', { generationId: root, outputs }, 'outcomes { status }')
      }),
    )
  }

  /** Verdicts over batches that mix the levels of several trees. */
  async function verdicts(): Promise<void> {
    const open = await deployment.rows<{ id: string }>(
      `select id from approvals where status = 'PENDING' order by random()`,
    )
    const most = open.slice(0, Math.floor(open.length * 0.8))
    const batches = Array.from({ length: Math.ceil(most.length / 5) }, (_, i) => most.slice(i * 5, i * 5 + 5))
    await Promise.all(
      batches.map(async (batch, i) => {
        await pause(random() * 1500)
        const decisions = batch.map(({ id }, k) => ({
          approvalId: id,
          verdict: k % 2 ? 'APPROVE' : 'REJECT',
        }))
        const done = await replica(i).mutate(
          'decideApprovals',
          { decisions, atomic: true },
          'outcomes { approvalId }',
        )
        if (done['__typename'] === 'DecideApprovalsPayload') return
        // If one was cancelled meanwhile, the batch is refused: then each is decided alone.
        await Promise.all(
          decisions.map((one) => replica(i + 1).mutate('decideApproval', one, 'approval { id }')),
        )
      }),
    )
  }

  async function expiries(): Promise<void> {
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        await pause(random() * 1500)
        await deployment.rows(`update approvals set wake_at = now(), expires_at = now() where id in (
        select id from approvals where status = 'PENDING' order by random() limit 12 for update skip locked)`)
      }),
    )
  }

  async function expireTheRest(): Promise<void> {
    // A row that another transaction has locked is left for the next round: this statement does not keep the server's
    // lock order.
    const late = `status = 'PENDING' and expires_at > now()`
    while ((await deployment.rows(`select 1 from approvals where ${late}`)).length > 0) {
      await deployment.rows(`update approvals set wake_at = now(), expires_at = now() where id in (
        select id from approvals where ${late} for update skip locked)`)
      await pause(50)
    }
  }

  /** Cancels the root of every fourth tree, and a run in the middle of every other fourth. */
  async function cancels(ids: string[]): Promise<void> {
    await Promise.all(
      ids.map(async (id, i) => {
        if (i % 4 > 1) return
        await pause(random() * 1200)
        const [middle] = await deployment.rows<{ id: string }>(
          `select id from generations where parent_id = '${id}' order by random() limit 1`,
        )
        const generationId = i % 4 === 0 ? id : middle!.id
        await replica(i).mutate('cancelGeneration', { generationId }, 'generation { id }')
      }),
    )
  }

  async function untilNothingRuns(): Promise<void> {
    while ((await deployment.rows(`select 1 from generations where finished_at is null`)).length > 0)
      await pause(50)
  }
})

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

/** The open client calls of a generation and its descendants, once there are so many. */
async function untilOpen(
  h: Harness,
  id: string,
  n: number,
): Promise<{ id: string; generation: { id: string } }[]> {
  const heard = `subscription($id: ID!) { generationEvents(generationId: $id) {
    ... on RequiresActionEvent { toolCalls { id generation { id } } } } }`
  const events = await h.collect(heard, { id }, (all) => all.filter((event) => event.toolCalls).length >= n)
  return events.flatMap((event) => event.toolCalls ?? [])
}

/** The server's own count. PostgreSQL writes its counters when a connection ends, so the test asks on a new one. */
async function deadlocks(deployment: Deployment, kind: DatabaseKind): Promise<number> {
  if (kind === 'PGlite') return 0
  const sql = postgres(deployment.databaseUrl!, { max: 1, onnotice: () => {} })
  const [row] = await sql`select deadlocks::int as n from pg_stat_database where datname = current_database()`
  await sql.end()
  return row!['n']
}
