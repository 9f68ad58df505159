/** `gatehouse keys create --local` on both databases: while a server runs and while none does, audited, and refused in a sentence. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { ask, mutate } from '../support/ask.ts'
import { buildServer } from '../support/build.ts'
import { embeddedDatabase, hasPostgres, postgresDatabase } from '../support/databases.ts'
import { startReplica } from '../support/replica.ts'
import { finished } from './command.ts'

const closers: (() => unknown)[] = []
afterAll(async () => {
  for (const close of closers.toReversed()) await close()
})

const lost = 'gh_local_keys_operator_0123456789012345678901234567890'

async function placeOf(kind: string): Promise<Record<string, string>> {
  const dataDir = await mkdtemp(join(tmpdir(), 'gatehouse-local-'))
  closers.push(() => rm(dataDir, { recursive: true, force: true }))
  const settings = {
    GATEHOUSE_PORT: '0',
    GATEHOUSE_DEMO: 'false',
    GATEHOUSE_ADMIN_KEY: lost,
    GATEHOUSE_LOG_LEVEL: 'error',
    GATEHOUSE_DATA_DIR: dataDir,
    GATEHOUSE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
  }
  if (kind === 'embedded') {
    await embeddedDatabase(dataDir)
    return settings
  }
  const made = await postgresDatabase()
  closers.push(() => made.drop())
  return { ...settings, DATABASE_URL: made.url }
}

async function serverIn(settings: Record<string, string>) {
  const replica = startReplica((await buildServer()).entry, settings)
  closers.push(() => replica.kill())
  await replica.ready
  return replica
}

const create = (settings: Record<string, string>, ...more: string[]) =>
  finished(['keys', 'create', 'found again', '--local', ...more], settings)

test.each(hasPostgres ? ['embedded', 'postgresql'] : ['embedded'])(
  'a key is made in the %s database, and the audit log says where',
  async (kind) => {
    const settings = await placeOf(kind)
    const early = await create(settings, '--role', 'admin')
    expect(early.code).toBe(1)
    expect(early.out).toBe('')
    const server = await serverIn(settings)
    const made = await create(settings, '--role', 'admin', '--operator')
    expect(made).toMatchObject({ code: 0, out: expect.stringMatching(/^gh_\S+\n$/) })
    const secret = made.out.trim()
    const { project } = await mutate(server.url, secret, 'createProject', { name: 'Other' }, 'project { id }')
    const unnamed = await create(settings, '--role', 'viewer')
    expect(unnamed).toMatchObject({ code: 1, out: '' })
    expect(unnamed.err).toContain(`project: must name one of several projects`)
    expect(unnamed.err).toContain(`${project.id} ("Other")`)
    for (const [wrong, said] of [
      [['--role', 'king'], 'role: must be one of ADMIN'],
      [['--role', 'viewer', '--project', 'nowhere'], 'project: is no project here'],
      [['--role', 'viewer', '--project', 'Other', '--operator'], "role: must be ADMIN for an operator's key"],
      [['--role', 'viewer', '--project', 'Other', '--expires', '2001-01-01T00:00:00Z'], 'in the future'],
    ] as const) {
      const refused = await create(settings, ...wrong)
      expect(refused, said).toMatchObject({ code: 1, out: '' })
      expect(refused.err).toContain(said)
    }
    await server.stop()

    const json = await create(settings, '--role', 'VIEWER', '--project', 'Other', '--no-votes', '--json')
    const viewer = JSON.parse(json.out)
    expect(viewer).toMatchObject({
      name: 'found again',
      role: 'viewer',
      projectId: project.id,
      expiresAt: null,
    })
    const again = await serverIn(settings)
    const seen = await ask(again.url, viewer.secret, '{ viewer { id operator project { name } } }')
    expect(seen.data['viewer']).toEqual({ id: viewer.id, operator: false, project: { name: 'Other' } })
    const { data } = await ask(
      again.url,
      secret,
      `{ viewer { operator } apiKeys(first: 1, projectId: "${project.id}") { nodes { id votes } }
        auditEntries(first: 5, projectId: "${project.id}", filter: { action: "keys:Create" }) {
        nodes { principalId resource details } } }`,
    )
    expect(data).toMatchObject({
      viewer: { operator: true },
      apiKeys: { nodes: [{ id: viewer.id, votes: false }] },
    })
    expect(data['auditEntries'].nodes[0]).toMatchObject({
      principalId: 'system',
      resource: `key/${viewer.id}`,
      details: {
        name: 'found again',
        role: 'viewer',
        madeOn: 'this machine',
        systemUser: expect.any(String),
      },
    })
  },
)

test('without access, or with options of a server, nothing is made', async () => {
  const none = await mkdtemp(join(tmpdir(), 'gatehouse-local-none-'))
  closers.push(() => rm(none, { recursive: true, force: true }))
  const absent = await create({ GATEHOUSE_DATA_DIR: none }, '--role', 'admin')
  expect(absent).toMatchObject({ code: 1, out: '', err: expect.stringContaining('there is no database in') })
  await embeddedDatabase(none)
  // A process that owns the directory and cannot be reached, as that of another user.
  await writeFile(join(none, 'db.lock'), JSON.stringify({ pid: process.pid, boot: null, socket: null }))
  const shut = await create({ GATEHOUSE_DATA_DIR: none }, '--role', 'admin')
  expect(shut).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringContaining('cannot be reached from here'),
  })
  const away = await create({ DATABASE_URL: 'postgres://postgres@127.0.0.1:9/none' }, '--role', 'admin')
  expect(away).toMatchObject({ code: 1, out: '' })
  for (const wrong of [[], ['--role', 'admin', '--agent', 'agt_x'], ['--role', 'admin', '--url', 'http://x']])
    expect((await create({ GATEHOUSE_DATA_DIR: none }, ...wrong)).code, wrong.join(' ')).toBe(2)
  expect((await finished(['keys', 'create', 'x', '--operator'], { GATEHOUSE_KEY: lost })).code).toBe(2)
})
