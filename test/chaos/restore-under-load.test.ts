/**
 * A backup in the middle of gated payments, the server killed, and the backup restored: nothing is paid again without a
 * person, what nobody can know is UNKNOWN, and what is settled is true.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { command } from '../cli/command.ts'
import { ask, mutate } from '../support/ask.ts'
import { buildServer } from '../support/build.ts'
import {
  embeddedDatabase,
  emptyPostgresDatabase,
  hasPostgres,
  postgresDatabase,
} from '../support/databases.ts'
import { dose, seededRandom } from '../support/dose.ts'
import { startLoopback } from '../support/loopback.ts'
import { chaosSeed, drawn } from '../support/random.ts'
import { startReplica } from '../support/replica.ts'

const key = 'gh_restored_operator_0123456789012345678901234567890123'
const closers: (() => unknown)[] = []
afterAll(async () => {
  for (const close of closers.toReversed()) await close()
})

describe.each(drawn(hasPostgres ? ['embedded', 'postgresql'] : ['embedded']))(
  'of the %s database',
  (kind) => {
    async function newPlace(isEmpty: boolean) {
      const folder = await mkdtemp(join(tmpdir(), 'gatehouse-loaded-'))
      closers.push(() => rm(folder, { recursive: true, force: true }))
      const place = {
        GATEHOUSE_PORT: '0',
        GATEHOUSE_DEMO: 'false',
        GATEHOUSE_ADMIN_KEY: key,
        GATEHOUSE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
        GATEHOUSE_LOG_LEVEL: 'error',
        GATEHOUSE_LEASE_MS: '2000',
        GATEHOUSE_DATA_DIR: folder,
      }
      if (kind === 'embedded') {
        if (!isEmpty) await embeddedDatabase(folder)
        return place
      }
      const made = await (isEmpty ? emptyPostgresDatabase : postgresDatabase)()
      closers.push(() => made.drop())
      return { ...place, DATABASE_URL: made.url }
    }

    test.each(Array.from({ length: dose(1, 5) }, (_, round) => round))(
      'round %i: what was paid before is not paid again without a person',
      { timeout: 720_000 },
      async (round) => {
        const random = seededRandom(chaosSeed + round)
        const paid = new Map<number, number>()
        const upstream = await startLoopback(async ({ url }, response) => {
          const n = Number(url.slice('/pay/'.length))
          paid.set(n, (paid.get(n) ?? 0) + 1)
          await pause(random() * 50)
          response.writeHead(200).end(`paid ${n}`)
        })
        closers.push(() => upstream.close())
        const settings = { ...(await newPlace(false)), GATEHOUSE_EGRESS_ALLOW: upstream.address }
        const { entry } = await buildServer()
        const server = startReplica(entry, settings)
        closers.push(() => server.kill())
        await server.ready
        const inputSchema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }
        const http = { url: `${upstream.url}/pay/{n}`, method: 'POST', inputSchema }
        const gate = { autoApprove: false, timeoutSeconds: 3600 }
        const { tool } = await mutate(
          server.url,
          key,
          'createTool',
          { name: 'pay', gate, config: { http } },
          'tool { id }',
        )
        const agent = { name: 'payer', model: 'builtin/rehearsal', toolIds: [tool.id] }
        const agentId = (await mutate(server.url, key, 'createAgent', agent, 'agent { id }'))['agent'].id

        let n = 0
        /** Asks for a payment, outside a run or in one, and answers most questions. */
        const payer = async () => {
          for (;;) {
            const at = n++
            if (random() < 0.5)
              await mutate(
                server.url,
                key,
                'callTool',
                { toolId: tool.id, arguments: { n: at } },
                '__typename',
              )
            else {
              const prompt = `call pay {"n":${at}}\nthen\nsay done`
              await mutate(server.url, key, 'startGeneration', { agentId, prompt }, '__typename')
            }
            const open = await ask(
              server.url,
              key,
              '{ approvals(filter: { statuses: [PENDING] }, first: 20) { nodes { id } } }',
            )
            for (const { id: approvalId } of open.data['approvals'].nodes)
              if (random() < 0.8)
                await mutate(
                  server.url,
                  key,
                  'decideApproval',
                  { approvalId, verdict: random() < 0.9 ? 'APPROVE' : 'REJECT' },
                  '__typename',
                ).catch((error: Error) => expect(error.message).toMatch(/APPROVAL_|CONFLICT/))
          }
        }
        let isKilled = false
        const payers = Array.from({ length: 4 }, () =>
          payer().catch((error: unknown) => {
            if (!isKilled) throw error
          }),
        )
        const failed = Promise.race(payers)
        const enough = (count: number) =>
          expect.poll(() => paid.size, { timeout: 120_000 }).toBeGreaterThan(count)
        await Promise.race([enough(20), failed])
        const folder = join(settings.GATEHOUSE_DATA_DIR, 'copy')
        const backup = await command(['backup', folder], settings)
        expect(await Promise.race([backup.ended, failed]), backup.err()).toBe(0)
        // What is paid now is in no backup.
        await Promise.race([enough(paid.size + 5), failed])
        isKilled = true
        await server.kill()
        await Promise.all(payers)
        const before = new Map(paid)
        expect(Math.max(...before.values())).toBe(1)

        const target = { ...(await newPlace(true)), GATEHOUSE_EGRESS_ALLOW: upstream.address }
        const restore = await command(['restore', folder], target)
        expect(await restore.ended).toBe(0)
        const unknown = Number(/(\d+) calls that ran or were next are UNKNOWN/.exec(restore.out())?.[1])
        const again = startReplica(entry, target)
        closers.push(() => again.kill())
        await again.ready
        const calls = async () => {
          const all: { status: string; arguments: { n: number }; content: unknown }[] = []
          let after: string | null = null
          do {
            const page = `query($after: String) { toolCalls(first: 100, after: $after) {
            nodes { status arguments content } pageInfo { endCursor hasNextPage } } }`
            const { nodes, pageInfo }: Record<string, any> = (await ask(again.url, key, page, { after }))
              .data['toolCalls']
            all.push(...nodes)
            after = pageInfo.hasNextPage ? pageInfo.endCursor : null
          } while (after !== null)
          return all
        }
        const running =
          'query { generations(first: 100, filter: { statuses: [QUEUED, RUNNING] }) { nodes { id } } }'
        await expect
          .poll(async () => (await ask(again.url, key, running)).data['generations'].nodes, {
            timeout: 120_000,
          })
          .toEqual([])
        const restored = await calls()
        expect(restored.length).toBeGreaterThan(20)
        const of = (status: string) => restored.filter((call) => call.status === status)
        const statuses = ['SUCCEEDED', 'REJECTED', 'UNKNOWN', 'AWAITING_APPROVAL']
        const counts = statuses.map((status) => `${of(status).length} ${status}`).join(', ')
        process.stdout.write(`Restored on ${kind}: ${counts}.\n`)
        expect(restored.filter(({ status }) => !statuses.includes(status))).toEqual([])
        expect(of('UNKNOWN')).toHaveLength(unknown)
        for (const call of of('SUCCEEDED')) expect(before.get(call.arguments.n)).toBe(1)
        for (const call of of('REJECTED')) expect(before.has(call.arguments.n)).toBe(false)
        expect(paid).toEqual(before)
        await again.stop()
      },
    )
  },
)
