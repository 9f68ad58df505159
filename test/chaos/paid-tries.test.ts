/**
 * Whatever happens behind a model's response, it is asked for a step no more often than a step has tries: the database has no
 * space, or the process dies by kill -9 with each request.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { retryRules } from '../../src/domain/generations/step/tries.ts'
import { ask, mutate } from '../support/ask.ts'
import { buildServer } from '../support/build.ts'
import { databaseKinds, embeddedDatabase, postgresDatabase } from '../support/databases.ts'
import { openDeployment } from '../support/deployment.ts'
import { refuseWrites } from '../support/refusing-tables.ts'
import { startReplica, type Replica } from '../support/replica.ts'
import { startStrictProvider, testKey } from '../support/strict-provider.ts'
import { forFile } from '../support/for-file.ts'

const key = 'gh_tries_operator_012345678901234567890123456789012345'
const closers: (() => unknown)[] = []
const provider = await forFile(startStrictProvider())
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
  provider.clear()
})

type Mutate = (name: string, input: object, fields: string) => Promise<Record<string, any>>

async function startRun(make: Mutate): Promise<string> {
  const { baseUrl } = provider.settings('compatible')
  await make('setSecret', { name: 'KEY', value: testKey }, 'secret { name }')
  const own = { name: 'paid', kind: 'COMPATIBLE', baseUrl, secretName: 'KEY', defaultModel: 'm' }
  await make('setProvider', own, 'provider { name }')
  const { agent } = await make('createAgent', { name: 'payer', model: 'paid/m' }, 'agent { id }')
  const { generation } = await make(
    'startGeneration',
    { agentId: agent.id, prompt: 'Go.' },
    'generation { id }',
  )
  return generation.id
}

const exhausted = { status: 'FAILED', error: { code: 'NOT_STORED' } }

describe.each(databaseKinds)('on %s', { timeout: 720_000 }, (kind) => {
  test('a disk that stays full', async () => {
    const deployment = await openDeployment(kind, { leaseMs: 2000 }, 1)
    closers.push(() => deployment.close())
    const [h] = deployment.replicas
    const before = provider.journal.length
    await refuseWrites(deployment, { table: 'steps', state: '53100' })
    const answers = Array.from({ length: 50 }, () => ({ text: 'paid', usage: { input: 5, output: 2 } }))
    provider.script(...answers)
    const id = await startRun(h!.mutate)
    const attempts = 'failedAttempts { code } usage { totalTokens }'
    expect(await h!.until(id, ['FAILED', 'COMPLETED'], attempts)).toMatchObject({
      ...exhausted,
      usage: { totalTokens: 7 * retryRules.maxAttempts },
      failedAttempts: Array.from({ length: retryRules.maxAttempts }, () => ({ code: 'NOT_STORED' })),
    })
    expect(provider.journal.length - before).toBe(retryRules.maxAttempts)
  })

  test('a process that is killed with each request', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-tries-'))
    closers.push(() => rm(folder, { recursive: true, force: true }))
    const settings: Record<string, string> = {
      GATEHOUSE_DATA_DIR: folder,
      GATEHOUSE_PORT: '0',
      GATEHOUSE_DEMO: 'false',
      GATEHOUSE_ADMIN_KEY: key,
      GATEHOUSE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
      GATEHOUSE_LEASE_MS: '1000',
      GATEHOUSE_EGRESS_ALLOW: new URL(provider.url).host,
      GATEHOUSE_LOG_LEVEL: 'error',
    }
    if (kind === 'PostgreSQL') {
      const database = await postgresDatabase()
      closers.push(() => database.drop())
      settings['DATABASE_URL'] = database.url
    } else await embeddedDatabase(folder)
    const { entry } = await buildServer()
    const start = async (): Promise<Replica> => {
      const replica = startReplica(entry, settings)
      closers.push(() => replica.kill())
      await replica.ready
      return replica
    }
    const before = provider.journal.length
    provider.script(...Array.from({ length: 50 }, () => ({ text: 'never', after: new Promise(() => {}) })))
    let replica = await start()
    let asked = provider.nextRequest()
    const id = await startRun((...what) => mutate(replica.url, key, ...what))
    const read = async () => {
      const query = 'query($id: ID!) { generation(id: $id) { status error { code } } }'
      return (await ask(replica.url, key, query, { id })).data['generation']
    }
    const isOver = async (): Promise<true> => {
      for (;;) {
        if ((await read()).status === 'FAILED') return true
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
    }
    for (let over = false; !over;) {
      // Its reading ends with the process that it asks.
      over = await Promise.race([asked.then(() => false), isOver()])
      if (over) break
      asked = provider.nextRequest()
      await replica.kill()
      replica = await start()
    }
    expect(await read()).toMatchObject(exhausted)
    expect(provider.journal.length - before).toBe(retryRules.maxAttempts)
  })
})
