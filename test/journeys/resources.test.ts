/** What operators see of keys, secrets, providers and files: when they are used, by what, and events when they change. */
import { sql } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { createKeyUses, loadKeyUses } from '../../src/domain/access/index.ts'
import { query } from '../../src/store/db/database.ts'
import { hasPostgres, postgresDatabase } from '../support/databases.ts'
import { openHarness } from '../support/harness.ts'
import { watchStatements } from '../support/held-statement.ts'
import { startLoopback } from '../support/loopback.ts'
import { objectSchema } from '../support/fixtures.ts'
import { forFile } from '../support/for-file.ts'

const h = await forFile(openHarness())
const upstream = await forFile(startLoopback((_request, response) => void response.end('ok')))

const newKey = async (name: string, role = 'VIEWER') => {
  const made = await h.mutate('createApiKey', { name, role }, 'secret apiKey { id createdBy }')
  return { secret: made['secret'] as string, id: made['apiKey'].id as string, by: made['apiKey'].createdBy }
}

describe('the last use of a key', () => {
  test('is written once a minute for each key, many keys in one statement, and by no request', async () => {
    const { db, log } = h.app.services
    const [one, two] = [await newKey('one'), await newKey('two')]
    let now = Date.parse('2026-11-22T12:00:00.000Z')
    const clock = { now: () => now }
    const uses = createKeyUses({ db, log, clock }, 86_400_000)
    const read = () => loadKeyUses(db, [one.id, two.id])
    uses.note(one)
    uses.note(two)
    uses.note({ id: 'usr_somebody' })
    expect(await read()).toEqual(new Map())
    await uses.close()
    const first = new Date(now)
    expect(await read()).toEqual(new Map([one, two].map(({ id }) => [id, first])))
    // Within the minute nothing is noted, neither here nor by another replica.
    now += 30_000
    uses.note(one)
    await uses.close()
    const replica = createKeyUses({ db, log, clock }, 86_400_000)
    replica.note(one)
    await replica.close()
    expect((await read()).get(one.id)).toEqual(first)
    now += 30_000
    uses.note(one)
    await uses.close()
    expect(await read()).toEqual(
      new Map([
        [one.id, new Date(now)],
        [two.id, first],
      ]),
    )
  })

  test.skipIf(!hasPostgres)(
    'is shown with its creator after requests by key and by session, and null before',
    async () => {
      const database = await postgresDatabase()
      const a = await openHarness({ databaseUrl: database.url })
      const make = async (name: string) => {
        const made = await a.mutate('createApiKey', { name, role: 'VIEWER' }, 'secret apiKey { id }')
        return { secret: made['secret'] as string, id: made['apiKey'].id as string }
      }
      const keys = [await make('by key'), await make('by session'), await make('idle')]
      await a.gql('{ viewer { id } }', {}, keys[0]!.secret)
      const signedIn = await fetch(`${a.url}/session`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ key: keys[1]!.secret }),
      })
      expect(signedIn.status).toBe(201)
      const viewer = await a.gql('{ viewer { id } }')
      // What was noted is written at the latest when the process stops.
      await a.stop()
      const b = await openHarness({ databaseUrl: database.url })
      const { data } = await b.gql('{ apiKeys(first: 10) { nodes { id name lastUsedAt createdBy } } }')
      const of = (id: string) => data['apiKeys'].nodes.find((node: { id: string }) => node.id === id)
      expect(of(keys[0]!.id)).toMatchObject({
        lastUsedAt: expect.any(String),
        createdBy: viewer.data['viewer'].id,
      })
      expect(of(keys[1]!.id).lastUsedAt).toEqual(expect.any(String))
      expect(of(keys[2]!.id).lastUsedAt).toBeNull()
      await b.stop()
      await database.drop()
    },
  )
})

describe('the uses of a secret', () => {
  const usedBy = async (name: string, key?: string) => {
    const { data } = await h.gql('{ secrets(first: 50) { nodes { name usedBy { kind id name } } } }', {}, key)
    return data['secrets'].nodes.find((node: { name: string }) => node.name === name).usedBy
  }

  test('are tools, upstreams and providers by name, as far as the caller may read them', async () => {
    for (const name of ['USED', 'IDLE_ONE'])
      await h.mutate('setSecret', { name, value: 'v' }, 'secret { id }')
    const url = upstream.url
    const inputSchema = objectSchema({})
    const make = async (name: string, config: object) =>
      (await h.mutate('createTool', { name, config }, 'tool { id }'))['tool'].id as string
    const http = await make('b_http', {
      http: { url: `${url}/x?k={{secret:USED}}`, method: 'GET', inputSchema },
    })
    await make('a_plain', { http: { url: `${url}/x`, method: 'GET', inputSchema } })
    const mcp = await make('c_mcp', { mcp: { url: `${url}/mcp`, headers: { 'x-key': 'k {{secret:USED}}' } } })
    const auth = { clientCredentials: { clientId: 'c', clientSecret: 'USED', issuer: `${url}` } }
    const signed = await make('d_auth', { mcp: { url: `${url}/mcp2`, auth } })
    const { provider } = await h.mutate(
      'setProvider',
      { name: 'e_house', kind: 'OPENAI', secretName: 'USED', defaultModel: 'm' },
      'provider { id }',
    )
    expect(await usedBy('USED')).toEqual([
      { kind: 'TOOL', id: http, name: 'b_http' },
      { kind: 'UPSTREAM', id: mcp, name: 'c_mcp' },
      { kind: 'UPSTREAM', id: signed, name: 'd_auth' },
      { kind: 'PROVIDER', id: provider.id, name: 'e_house' },
    ])
    expect(await usedBy('IDLE_ONE')).toEqual([])
    const allow = (action: string[], resource = ['*']) => ({ effect: 'Allow', action, resource })
    const policy = { statement: [allow(['secrets:List']), allow(['tools:Get'], [`tool/${mcp}`])] }
    const narrow = await h.mutate('createApiKey', { name: 'narrow', policy }, 'secret')
    expect(await usedBy('USED', narrow['secret'])).toEqual([{ kind: 'UPSTREAM', id: mcp, name: 'c_mcp' }])
  })

  test('of a whole page of secrets are read with one statement', async () => {
    for (let i = 0; i < 20; i++)
      await h.mutate('setSecret', { name: `MANY_${i}`, value: 'v' }, 'secret { id }')
    const project = (await h.gql('{ viewer { project { id } } }')).data['viewer'].project.id as string
    const watched = watchStatements(h.app.services.db, project)
    const { data } = await h.gql('{ secrets(first: 30) { nodes { name usedBy { name } } } }')
    watched.stop()
    expect(data['secrets'].nodes.length).toBeGreaterThan(20)
    expect(watched.seen.filter((text) => text.includes("'tools' as"))).toHaveLength(1)
  })
})

test('the feed reports secrets, providers and files that are set and deleted, and no value', async () => {
  const value = 'a-value-that-nobody-sees'
  await h.mutate('setSecret', { name: 'TOLD', value }, 'secret { id }')
  await h.mutate('setSecret', { name: 'TOLD', value: `${value}-2` }, 'secret { id }')
  await h.mutate('setProvider', { name: 'told', kind: 'OPENAI', defaultModel: 'm' }, 'provider { id }')
  await h.mutate('deleteProvider', { name: 'told' }, 'deleted')
  await h.mutate('deleteProvider', { name: 'told' }, 'deleted')
  await h.mutate('deleteSecret', { name: 'TOLD' }, 'deleted')
  await h.mutate('deleteSecret', { name: 'TOLD' }, 'deleted')
  const { file, uploadUrl } = await h.mutate(
    'presignUpload',
    { filename: 'told.txt', contentType: 'text/plain' },
    'file { id } uploadUrl',
  )
  await fetch(uploadUrl, { method: 'PUT', body: 'x', headers: { 'content-type': 'text/plain' } })
  await Promise.all([1, 2].map(() => h.mutate('deleteFile', { fileId: file.id }, '__typename')))
  const types = ['SECRET_SET', 'SECRET_DELETED', 'PROVIDER_SET', 'PROVIDER_DELETED']
  const fields = '... on SecretEvent { name } ... on ProviderEvent { name } ... on FileEvent { name fileId }'
  const told = await h.collect(
    `subscription { projectEvents(after: "0", types: [${types.join()}, FILE_CREATED, FILE_UPLOADED, FILE_DELETED]) {
      type ${fields} } }`,
    {},
    (events) => events.some((event) => event.type === 'FILE_DELETED'),
  )
  const mine = told.filter((event) => /^told/i.test(event.name))
  expect(mine).toEqual([
    { type: 'SECRET_SET', name: 'TOLD' },
    { type: 'SECRET_SET', name: 'TOLD' },
    { type: 'PROVIDER_SET', name: 'told' },
    { type: 'PROVIDER_DELETED', name: 'told' },
    { type: 'SECRET_DELETED', name: 'TOLD' },
    { type: 'FILE_CREATED', name: 'told.txt', fileId: file.id },
    { type: 'FILE_UPLOADED', name: 'told.txt', fileId: file.id },
    { type: 'FILE_DELETED', name: 'told.txt', fileId: file.id },
  ])
  const written = await query<{ data: string }>(
    h.app.services.db,
    sql`select data::text from events where type like 'SECRET%' or type like 'FILE%'`,
  )
  expect(written.map(({ data }) => data).join()).not.toContain(value)
  expect(written.filter(({ data }) => data.includes(file.id))).toHaveLength(3)
})
