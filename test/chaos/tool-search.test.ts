/** kill -9 between a search of tools and the use of what it found: the next process asks the model with the same tools. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { ask, mutate } from '../support/ask.ts'
import { buildServer } from '../support/build.ts'
import { databaseKinds, embeddedDatabase, postgresDatabase } from '../support/databases.ts'
import { forFile } from '../support/for-file.ts'
import { largeCatalog, serveCatalog } from '../support/large-catalog.ts'
import { startReplica, type Replica } from '../support/replica.ts'
import { startStrictProvider, testKey } from '../support/strict-provider.ts'
import { sentNames } from '../support/tool-refusals.ts'

const key = 'gh_search_operator_012345678901234567890123456789012345'
const closers: (() => unknown)[] = []
const provider = await forFile(startStrictProvider())
const server = await forFile(serveCatalog(largeCatalog()))
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
  provider.clear()
})

test.each(databaseKinds)('on %s', { timeout: 600_000 }, async (kind) => {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-search-'))
  closers.push(() => rm(folder, { recursive: true, force: true }))
  const database = kind === 'PostgreSQL' ? await postgresDatabase() : null
  closers.push(() => database?.drop())
  if (!database) await embeddedDatabase(folder)
  const { entry } = await buildServer()
  const start = async (): Promise<Replica> => {
    const replica = startReplica(entry, {
      GATEHOUSE_DATA_DIR: folder,
      GATEHOUSE_PORT: '0',
      GATEHOUSE_DEMO: 'false',
      GATEHOUSE_ADMIN_KEY: key,
      GATEHOUSE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
      GATEHOUSE_LEASE_MS: '1000',
      GATEHOUSE_EGRESS_ALLOW: `${new URL(provider.url).host},${new URL(server.url).host}`,
      GATEHOUSE_LOG_LEVEL: 'error',
      ...(database ? { DATABASE_URL: database.url } : {}),
    })
    closers.push(() => replica.kill())
    await replica.ready
    return replica
  }
  let replica = await start()
  const make = (name: string, input: object, fields: string) => mutate(replica.url, key, name, input, fields)
  await make('setSecret', { name: 'KEY', value: testKey }, 'secret { name }')
  const { baseUrl } = provider.settings('anthropic')
  const own = { name: 'paid', kind: 'ANTHROPIC', baseUrl, secretName: 'KEY', defaultModel: 'm' }
  await make('setProvider', own, 'provider { name }')
  const { tool } = await make(
    'createTool',
    { name: 'big', config: { mcp: { url: server.url } } },
    'tool { id }',
  )
  const input = { name: 'clerk', model: 'paid/m', toolIds: [tool.id], toolLoading: 'SEARCH' }
  const { agent } = await make('createAgent', input, 'agent { id }')

  const found = 'big_mongodb-list-collections'
  const never = new Promise(() => {})
  const search = { name: 'search_tools', arguments: '{"query":"collections of a database","limit":2}' }
  provider.script(
    { calls: [search] },
    { text: 'lost', after: never },
    { calls: [{ name: found, arguments: '{"connectionId":"a","database":"b"}' }] },
    { text: 'done' },
  )
  const before = provider.journal.length
  const called = server.calls.length
  const second = provider.nextRequest().then(() => provider.nextRequest())
  const { generation } = await make(
    'startGeneration',
    { agentId: agent.id, prompt: 'Go.' },
    'generation { id }',
  )
  await second
  await replica.kill()
  replica = await start()
  const query = 'query($id: ID!) { generation(id: $id) { status output { text } toolCalls { name status } } }'
  const read = async () => (await ask(replica.url, key, query, { id: generation.id })).data['generation']
  await expect.poll(async () => (await read()).status).toBe('COMPLETED')
  expect(await read()).toMatchObject({
    output: { text: 'done' },
    toolCalls: [
      { name: 'search_tools', status: 'SUCCEEDED' },
      { name: found, status: 'SUCCEEDED' },
    ],
  })
  expect(server.calls).toHaveLength(called + 1)
  const bodies = provider.journal.slice(before).map(({ body }) => body)
  expect(bodies).toHaveLength(4)
  expect(sentNames('anthropic', bodies[1]!)[1]).toBe(found)
  expect(bodies[2]).toEqual(bodies[1])
})
