/**
 * The emergency stop under load: after the answer of `pause` no request leaves any replica, whatever was just beginning,
 * and after `resume` every call has run once.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databaseKinds } from '../support/databases.ts'
import { type Deployment, openDeployment } from '../support/deployment.ts'
import { dose } from '../support/dose.ts'
import { adminKey } from '../support/harness.ts'
import { objectSchema } from '../support/fixtures.ts'
import { randomSchedule } from '../support/random.ts'
import { Worker } from 'node:worker_threads'

/** An upstream in a thread of its own, so that the times of its requests do not depend on the work of the test's thread. */
interface TimedUpstream {
  url: string
  /** Each request as it arrived: when, by the wall clock, its body and its Idempotency-Key. */
  seen: { at: number; body: string; key: string }[]
  close(): Promise<void>
}

const program = `
  const { createServer } = require('node:http')
  const { parentPort } = require('node:worker_threads')
  const server = createServer((request, response) => {
    const at = Date.now()
    let body = ''
    request.on('data', (chunk) => { body += chunk })
    request.on('end', () => {
      parentPort.postMessage({ at, body, key: request.headers['idempotency-key'] ?? '' })
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}')
    })
  })
  server.listen(0, '127.0.0.1', () => parentPort.postMessage({ port: server.address().port }))
`

/** Starts it on a free port of loopback. It answers every request at once. */
async function startTimedUpstream(): Promise<TimedUpstream> {
  const worker = new Worker(program, { eval: true })
  const seen: TimedUpstream['seen'] = []
  const port = await new Promise<number>((resolve, reject) => {
    worker.once('error', reject)
    worker.on('message', (message: { port: number } | TimedUpstream['seen'][number]) => {
      if ('port' in message) resolve(message.port)
      else seen.push(message)
    })
  })
  return { url: `http://127.0.0.1:${port}`, seen, close: async () => void (await worker.terminate()) }
}

const random = randomSchedule()
describe.each(databaseKinds)('on %s', (kind) => {
  let deployment: Deployment
  let upstream: TimedUpstream
  beforeAll(async () => {
    upstream = await startTimedUpstream()
    deployment = await openDeployment(kind, {}, 3)
  })
  afterAll(async () => {
    await deployment?.close()
    await upstream?.close()
  })

  test(
    'nothing leaves between the answer of pause and resume, and every call runs once',
    { timeout: 720_000 },
    async () => {
      const { replicas, fixtures } = deployment
      const any = () => replicas[Math.floor(random() * replicas.length)]!
      const http = { url: `${upstream.url}/pay`, inputSchema: objectSchema({ n: { type: 'string' } }, ['n']) }
      const open = await deployment.payer({ autoApprove: true }, { config: { http } })
      const gated = await deployment.payer({ autoApprove: false }, { config: { http } })
      const names = await deployment.rows<{ id: string; name: string }>('select id, name from tools')
      const nameOf = (id: string) => names.find((one) => one.id === id)!.name
      const { ask } = fixtures.tools
      const agentId = await fixtures.agent({ toolIds: [open.toolId, gated.toolId, ask] })
      const expected: string[] = []
      let sequence = 0
      let loading = true

      const startRun = async () => {
        const [first, second, third] = [1, 2, 3].map((i) => `${sequence}-${i}`)
        sequence += 1
        const lines = [
          `call ${nameOf(open.toolId)} {"n": "${first}"}`,
          `call ${nameOf(open.toolId)} {"n": "${second}"}`,
          'then',
          'call ask {"word": "a"}',
          `call ${nameOf(gated.toolId)} {"n": "${third}"}`,
          'then',
          'say done',
        ]
        const input = { agentId, prompt: lines.join('\n') }
        await any().mutate('startGeneration', input, 'generation { id }')
        expected.push(first!, second!, third!)
      }
      const callDirectly = async () => {
        const n = `direct-${sequence++}`
        await any().mutate('callTool', { toolId: open.toolId, arguments: { n } }, 'toolCall { status }')
        expected.push(n)
      }
      const decideSome = async () => {
        const waiting = await deployment.rows<{ id: string }>(
          `select id from approvals where status = 'PENDING' order by created_at limit 5`,
        )
        await Promise.all(
          waiting.map(({ id }) =>
            any().mutate('decideApproval', { approvalId: id, verdict: 'APPROVE' }, 'approval { id }'),
          ),
        )
      }
      const answerSome = async () => {
        const waiting = await deployment.rows<{ id: string; run: string }>(
          `select id, generation_id as run from tool_calls where status = 'AWAITING_CLIENT' order by id limit 5`,
        )
        await Promise.all(
          waiting.map(({ id, run }) =>
            any().mutate(
              'submitToolOutputs',
              { generationId: run, outputs: [{ toolCallId: id, output: 'yes' }] },
              'outcomes { status }',
            ),
          ),
        )
      }
      /** Calls that were given to their client; each of them has a deadline. */
      const offered = () =>
        deployment.rows<{ id: string; tool: string; run: string }>(
          `select id, tool_id as tool, generation_id as run from tool_calls
            where kind = 'client' and deadline_at is not null`,
        )
      /** At most so many times in a round, so that the load does not grow while nothing goes on. */
      const perRound = 30
      let rounds = 0
      const load = async (act: () => Promise<void>) => {
        for (let done = 0; loading; await wait(random() * 20)) {
          if (done >= rounds * perRound) continue
          await act()
          done += 1
        }
      }
      const acts = [
        startRun,
        startRun,
        callDirectly,
        callDirectly,
        decideSome,
        decideSome,
        answerSome,
        answerSome,
      ]
      const loads = acts.map(load)

      const { project } = (await any().gql('{ viewer { project { id } } }', {}, adminKey)).data['viewer']
      for (let round = 0; round < dose(2, 20); round++) {
        rounds += 1
        await wait(200 + random() * 300)
        const target = [{ projectId: project.id }, { agentId }, { toolId: open.toolId }, { toolId: ask }][
          Math.floor(random() * 4)
        ]!
        const { pause } = await any().mutate('pause', target, 'pause { id kind targetId }', adminKey)
        const answered = Date.now()
        const before = new Set((await offered()).map(({ id }) => id))
        const [{ now }] = (await deployment.rows(`select clock_timestamp()::text as now`)) as [
          { now: string },
        ]
        await wait(500 + random() * 500)
        const left = new Set(upstream.seen.filter(({ at }) => at > answered).map(({ key }) => key))
        const calls = await deployment.rows<{ id: string; tool: string; run: string | null }>(
          `select id, tool_id as tool, generation_id as run from tool_calls`,
        )
        const isHeld = ({ tool, run }: { tool: string; run: string | null }) =>
          pause.kind === 'PROJECT' || (pause.kind === 'AGENT' ? run !== null : tool === pause.targetId)
        const given = (await offered()).filter(({ id }) => !before.has(id))
        const leaked = [...calls.filter((call) => left.has(call.id)), ...given].filter(isHeld)
        expect({ kind: pause.kind, leaked }).toEqual({ kind: pause.kind, leaked: [] })
        const steps = await deployment.rows(`select 1 from steps where started_at > '${now}'`)
        if (pause.kind !== 'TOOL') expect(steps).toEqual([])
        await any().mutate('resume', { pauseId: pause.id }, 'pause { id }', adminKey)
      }

      loading = false
      await Promise.all(loads)
      await expect
        .poll(
          async () => {
            await Promise.all([decideSome(), answerSome()])
            return deployment.rows(`select id, status from generations where status <> 'COMPLETED' limit 5`)
          },
          { timeout: 180_000 },
        )
        .toEqual([])
      await expect
        .poll(() => deployment.rows(`select 1 from tool_calls where settled_at is null`))
        .toEqual([])
      const asked = await deployment.rows(
        `select 1 from events where type = 'REQUIRES_ACTION' group by data->'toolCallIds' having count(*) > 1`,
      )
      expect(asked).toEqual([])
      const paid = upstream.seen.map(({ body }) => JSON.parse(body).n)
      expect(paid.toSorted()).toEqual(expected.toSorted())
    },
  )
})
