/**
 * `gatehouse backup` and `restore`, as processes beside running servers, on both databases: what was answered before is in
 * the backup, what was approved runs once after the restore, and what cannot be restored is refused in a sentence.
 */
import { cp, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { command } from '../cli/command.ts'
import { ask, mutate } from '../support/ask.ts'
import { buildServer } from '../support/build.ts'
import {
  embeddedDatabase,
  emptyPostgresDatabase,
  hasPostgres,
  postgresDatabase,
} from '../support/databases.ts'
import { startLoopback } from '../support/loopback.ts'
import { startReplica, type Replica } from '../support/replica.ts'

const key = 'gh_backups_operator_01234567890123456789012345678901234'
const secret = Buffer.alloc(32, 7).toString('base64')
const closers: (() => unknown)[] = []
const until = (holds: () => boolean | Promise<boolean>) =>
  vi.waitFor(
    async () => {
      if (!(await holds())) throw new Error('It does not hold yet.')
    },
    { timeout: 90_000, interval: 20 },
  )
afterAll(async () => {
  for (const close of closers.toReversed()) await close()
})

describe.each(hasPostgres ? ['embedded', 'postgresql'] : ['embedded'])('of the %s database', (kind) => {
  /** Settings of a server with folders of its own, on this database or the embedded one. */
  async function placeOf(databaseUrl?: string) {
    const dataDir = await mkdtemp(join(tmpdir(), 'gatehouse-backup-'))
    closers.push(() => rm(dataDir, { recursive: true, force: true }))
    return {
      GATEHOUSE_PORT: '0',
      GATEHOUSE_DEMO: 'false',
      GATEHOUSE_ADMIN_KEY: key,
      GATEHOUSE_SECRET_KEY: secret,
      GATEHOUSE_LOG_LEVEL: 'error',
      GATEHOUSE_DATA_DIR: dataDir,
      ...(databaseUrl ? { DATABASE_URL: databaseUrl } : {}),
    }
  }
  /** An empty database, or one that is migrated: that saves a server a part of its first start. */
  async function newPlace({ migrated = false } = {}) {
    if (kind === 'embedded') {
      const place = await placeOf()
      if (migrated) await embeddedDatabase(place.GATEHOUSE_DATA_DIR)
      return place
    }
    const made = await (migrated ? postgresDatabase : emptyPostgresDatabase)()
    closers.push(() => made.drop())
    // A password that must be escaped; this server asks for none.
    return placeOf(made.url.replace('postgres@', 'postgres:p%3A%5Cw@'))
  }
  async function serverIn(settings: Record<string, string>): Promise<Replica> {
    const replica = startReplica((await buildServer()).entry, settings)
    closers.push(() => replica.kill())
    await replica.ready
    return replica
  }
  async function gatehouse(args: string[], settings: Record<string, string>) {
    const running = await command(args, settings)
    const code = await running.ended
    return { code, said: `${running.out()}${running.err()}` }
  }

  test(
    'holds what was answered before, and is restored with what waits, the files, and no key',
    { timeout: 720_000 },
    async () => {
      const calls: string[] = []
      const upstream = await startLoopback((request, response) => {
        calls.push(String(request.headers['idempotency-key']))
        response.writeHead(200).end('paid')
      })
      closers.push(() => upstream.close())
      const settings = { ...(await newPlace({ migrated: true })), GATEHOUSE_EGRESS_ALLOW: upstream.address }
      const server = await serverIn(settings)
      const config = { http: { url: `${upstream.url}/pay`, inputSchema: { type: 'object' } } }
      const made = await mutate(
        server.url,
        key,
        'createTool',
        { name: 'pay', gate: { autoApprove: false, timeoutSeconds: 3600 }, config },
        'tool { id }',
      )
      const { agent } = await mutate(
        server.url,
        key,
        'createAgent',
        { name: 'payer', toolIds: [made['tool'].id] },
        'agent { id }',
      )
      const start = async (prompt: string) =>
        (
          await mutate(server.url, key, 'startGeneration', { agentId: agent.id, prompt }, 'generation { id }')
        )['generation'].id as string
      const waiting = await start('call pay {}\nthen\nsay done')
      const open = '{ approvals(filter: { statuses: [PENDING] }, first: 5) { nodes { id } } }'
      await until(async () => (await ask(server.url, key, open)).data['approvals'].nodes.length === 1)
      const upload = await mutate(
        server.url,
        key,
        'presignUpload',
        { filename: 'a.txt', contentType: 'text/plain' },
        'file { id } uploadUrl',
      )
      expect(
        (
          await fetch(upload['uploadUrl'], {
            method: 'PUT',
            headers: { 'content-type': 'text/plain' },
            body: 'kept',
          })
        ).ok,
      ).toBe(true)

      // Runs are started all the while.
      const answered: string[] = []
      const load = { over: false }
      const loading = Promise.all(
        Array.from({ length: 4 }, async () => {
          while (!load.over) answered.push(await start('say hello'))
        }),
      )
      await until(() => answered.length > 20)
      const before = [...answered]
      const folder = join(settings.GATEHOUSE_DATA_DIR, 'copy')
      const backedUp = await gatehouse(['backup', folder], settings)
      load.over = true
      await loading
      expect(backedUp.said).toContain('The secret key is not in it')
      expect(backedUp.code).toBe(0)
      expect((await readdir(folder)).toSorted()).toEqual(['database', 'files', 'manifest.json'])
      const everything = await Promise.all(
        (await readdir(folder, { recursive: true })).map((path) =>
          readFile(join(folder, path)).catch(() => Buffer.alloc(0)),
        ),
      )
      for (const bytes of everything) {
        expect(bytes.includes(secret)).toBe(false)
        expect(bytes.includes(Buffer.alloc(32, 7))).toBe(false)
      }
      expect((await stat(folder)).mode & 0o077).toBe(0)

      // What is lost: it is in no backup.
      const lost = await start('say lost')
      const page = 'query($after: String) { projectEvents(after: $after, first: 1) { nodes { cursor } } }'
      const cursor = (await ask(server.url, key, '{ viewer { project { feedCursor } } }')).data['viewer']
        .project.feedCursor
      await server.stop()

      const target = { ...(await newPlace()), GATEHOUSE_EGRESS_ALLOW: upstream.address }
      const restored = await gatehouse(['restore', folder], target)
      expect(restored).toEqual({
        code: 0,
        said: expect.stringContaining('0 calls that ran or were next are UNKNOWN'),
      })
      const again = await serverIn(target)
      const found = 'query($ids: [ID!]!) { nodes(ids: $ids) { id } }'
      for (let i = 0; i < before.length; i += 50) {
        const ids = before.slice(i, i + 50)
        expect(
          (await ask(again.url, key, found, { ids })).data['nodes'].map(
            (node: { id: string } | null) => node?.id,
          ),
        ).toEqual(ids)
      }
      expect((await ask(again.url, key, found, { ids: [lost] })).data['nodes']).toEqual([null])
      const { errors } = await ask(again.url, key, page, { after: cursor })
      expect(errors?.[0]?.extensions).toMatchObject({ code: 'CURSOR_EXPIRED' })
      const file = await ask(again.url, key, 'query($id: ID!) { file(id: $id) { downloadUrl } }', {
        id: upload['file'].id,
      })
      const link = new URL(file.data['file'].downloadUrl)
      expect(await (await fetch(new URL(link.pathname + link.search, again.url))).text()).toBe('kept')
      const [{ id: approvalId }] = (await ask(again.url, key, open)).data['approvals'].nodes
      await mutate(
        again.url,
        key,
        'decideApproval',
        { approvalId, verdict: 'APPROVE' },
        'approval { status }',
      )
      await until(
        async () =>
          (await ask(again.url, key, 'query($id: ID!) { generation(id: $id) { status } }', { id: waiting }))
            .data['generation'].status === 'COMPLETED',
      )
      expect(calls).toHaveLength(1)
      await again.stop()

      // Nothing is overwritten, and what does not fit is refused before anything is written.
      const another = await newPlace()
      const refusals: [change: Record<string, string>, said: string][] = [
        [target, kind === 'embedded' ? 'a restore overwrites nothing' : 'is not empty'],
        [
          { ...another, GATEHOUSE_SECRET_KEY: Buffer.alloc(32, 8).toString('base64') },
          'made with another secret key: set GATEHOUSE_SECRET_KEY',
        ],
        [{ ...another, GATEHOUSE_SECRET_KEY: '' }, 'the secret key is missing'],
        kind === 'embedded'
          ? [
              { ...another, DATABASE_URL: 'postgres://127.0.0.1:1/x' },
              'the backup is of an embedded database: unset DATABASE_URL',
            ]
          : [{ ...another, DATABASE_URL: '' }, 'the backup is of PostgreSQL: DATABASE_URL is required'],
      ]
      await Promise.all(
        refusals.map(async ([given, said]) =>
          expect(await gatehouse(['restore', folder], given)).toEqual({
            code: 1,
            said: expect.stringContaining(said),
          }),
        ),
      )
      const changed = join(settings.GATEHOUSE_DATA_DIR, 'changed')
      await cp(folder, changed, { recursive: true })
      const inFiles = await readdir(join(changed, 'files'), { recursive: true, withFileTypes: true })
      const blob = inFiles.find((one) => one.isFile())
      await writeFile(join(blob!.parentPath, blob!.name), 'forged')
      expect((await gatehouse(['restore', changed], another)).said).toContain('the files of')
      await rm(join(changed, 'manifest.json'))
      expect((await gatehouse(['restore', changed], another)).said).toContain(
        'it is no backup, or one that was cut off',
      )
      expect((await gatehouse(['backup', folder], settings)).said).toContain(
        'is not empty: name a new folder',
      )
      const third = join(settings.GATEHOUSE_DATA_DIR, 'third')
      expect(await gatehouse(['backup', third], { ...settings, GATEHOUSE_SECRET_KEY: '' })).toEqual({
        code: 1,
        said: expect.stringContaining('the secret key is missing'),
      })
      const left = await readdir(settings.GATEHOUSE_DATA_DIR)
      expect(left.filter((name) => name.startsWith('third') || name === 'secret.key')).toEqual([])
      expect(await readdir(another.GATEHOUSE_DATA_DIR)).toEqual([])
    },
  )
})

test(
  'a backup of the embedded database that is killed leaves none, and the next one is made',
  { timeout: 180_000 },
  async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'gatehouse-backup-'))
    closers.push(() => rm(dataDir, { recursive: true, force: true }))
    const settings = {
      GATEHOUSE_PORT: '0',
      GATEHOUSE_DEMO: 'false',
      GATEHOUSE_ADMIN_KEY: key,
      GATEHOUSE_SECRET_KEY: secret,
      GATEHOUSE_DATA_DIR: dataDir,
    }
    await embeddedDatabase(dataDir)
    const server = startReplica((await buildServer()).entry, settings)
    closers.push(() => server.kill())
    await server.ready
    const folder = join(dataDir, 'copy')
    const first = await command(['backup', folder], settings)
    await until(async () => {
      const partial = (await readdir(dataDir)).find((name) => name.startsWith('copy.partial-'))
      return partial !== undefined && (await readdir(join(dataDir, partial))).includes('database')
    })
    first.signal('SIGSTOP')
    const second = await command(['backup', join(dataDir, 'second')], settings)
    await second.ended
    expect(second.err()).toContain('Another backup is running.')
    first.signal('SIGKILL')
    await first.ended
    expect(await stat(folder).catch(() => null)).toBeNull()
    await until(async () => {
      const next = await command(['backup', folder], settings)
      return (await next.ended) === 0
    })
    expect((await readdir(folder)).toSorted()).toEqual(['database', 'files', 'manifest.json'])
  },
)

test.skipIf(!hasPostgres)(
  'a restore that is killed while PostgreSQL works leaves an empty database',
  { timeout: 360_000 },
  async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'gatehouse-backup-'))
    closers.push(() => rm(dataDir, { recursive: true, force: true }))
    const settings = {
      GATEHOUSE_SECRET_KEY: secret,
      GATEHOUSE_DATA_DIR: dataDir,
      GATEHOUSE_LOG_LEVEL: 'error',
    }
    const [from, to] = [await postgresDatabase(), await emptyPostgresDatabase()]
    closers.push(
      () => from.drop(),
      () => to.drop(),
    )
    const server = startReplica((await buildServer()).entry, {
      ...settings,
      GATEHOUSE_PORT: '0',
      GATEHOUSE_DEMO: 'false',
      DATABASE_URL: from.url,
    })
    closers.push(() => server.kill())
    await server.ready
    const folder = join(dataDir, 'copy')
    const made = await command(['backup', folder], { ...settings, DATABASE_URL: from.url })
    expect(await made.ended).toBe(0)

    const watcher = postgres(to.url, { max: 2, onnotice: () => {} })
    closers.push(() => watcher.end())
    const loading = async () =>
      (
        await watcher`select wait_event_type as waits from pg_stat_activity
        where datname = current_database() and application_name = 'psql'`
      )[0]
    const restore = await watcher.begin(async (locks) => {
      await locks`lock table pg_catalog.pg_class in share mode`
      const running = await command(['restore', folder], { ...settings, DATABASE_URL: to.url })
      await until(async () => (await loading())?.['waits'] === 'Lock')
      running.signal('SIGKILL')
      await running.ended
      return running
    })
    expect(await restore.ended).toBeNull()
    await until(async () => (await loading()) === undefined)
    const [left] = await watcher`select count(*)::int as tables from pg_class
      where relkind = 'r' and relnamespace = 'public'::regnamespace`
    expect(left).toEqual({ tables: 0 })
  },
)
