/** Opening a database: concurrent migrations, the order of events after a restore, the lock of the directory. */
import { fork, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { sql } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { connect, type Connection } from '../../src/store/db/connect.ts'
import { query } from '../../src/store/db/database.ts'
import { DirectoryInUseError, lockDirectory } from '../../src/store/db/pglite/directory-lock.ts'
import { migrate } from '../../src/store/db/migrate.ts'
import { appendProjectEvents } from '../../src/store/events/log.ts'
import { numberAll } from '../../src/store/events/numbering.ts'
import { beginning, type Position } from '../../src/store/events/position.ts'
import { readFeed } from '../../src/store/events/read.ts'
import { localPubSub } from '../../src/store/pubsub/pubsub.ts'
import { buildServer } from '../support/build.ts'
import {
  embeddedDatabase,
  emptyPostgresDatabase,
  hasPostgres,
  memoryDatabase,
  postgresDatabase,
} from '../support/databases.ts'
import { append, makeGenerations, someEvents } from '../support/log-writer.ts'

describe.skipIf(!hasPostgres)('on PostgreSQL', () => {
  test('four replicas that migrate an empty database at the same moment all succeed', async () => {
    const { url, drop } = await emptyPostgresDatabase()
    const all = await Promise.all([1, 2, 3, 4].map(() => connect({ kind: 'postgres', url, poolSize: 3 })))
    try {
      await Promise.all(all.map((connection) => migrate(connection)))
      const rows = await query<{ n: number }>(all[0]!.db, sql`select count(*)::int as n from installation`)
      expect(rows).toEqual([{ n: 1 }])
    } finally {
      await Promise.all(all.map((connection) => connection.close()))
      await drop()
    }
  })
})

test('the newest snapshot of the migrations is what the tables are', async () => {
  // drizzle-kit compares with the snapshot alone: one that lacks something makes the next migration create it twice.
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-migrations-'))
  await cp('migrations', folder, { recursive: true })
  const drizzleKit = join('node_modules', 'drizzle-kit', 'bin.cjs')
  const args = [
    'generate',
    '--dialect',
    'postgresql',
    '--schema',
    './src/store/db/tables/*.ts',
    '--out',
    relative('.', folder),
  ]
  const { stdout } = spawnSync(process.execPath, [drizzleKit, ...args], { encoding: 'utf8' })
  expect(stdout).toContain('No schema changes')
  await rm(folder, { recursive: true })
}, 180_000)

const kinds = [
  ['PGlite', async () => connect(await memoryDatabase())],
  ...(hasPostgres
    ? [
        [
          'PostgreSQL',
          async () => {
            const { url, drop } = await postgresDatabase()
            const connection = await connect({ kind: 'postgres', url, poolSize: 5 })
            await migrate(connection)
            return { ...connection, close: () => connection.close().then(drop) }
          },
        ] as const,
      ]
    : []),
] as const

describe.each(kinds)('a database that was restored into another cluster, on %s', (_kind, open) => {
  let connection: Connection
  beforeAll(async () => {
    connection = await open()
  })
  afterAll(() => connection?.close())

  const project = 'proj_restored'
  /** As a replica of the release before tells them. */
  const inOldOrder = async () => {
    const rows = await query<{ type: string }>(
      connection.db,
      sql`select type from events where project_id = ${project} order by commit_order, id`,
    )
    return rows.map(({ type }) => type)
  }
  const inOrder = async (after: Position = beginning) => {
    await numberAll(connection.db, pubsub)
    return readFeed(connection.db, project, after, 100)
  }
  const pubsub = localPubSub()
  const shift = async () =>
    Number((await query<{ s: string }>(connection.db, sql`select commit_shift as s from installation`))[0]!.s)
  const all = ['MESSAGE_COMMITTED', 'MESSAGE_COMMITTED', 'OLD', 'MESSAGE_COMMITTED', 'NEW']

  test('new events sort after its newest event, although transaction ids start again', async () => {
    const [id] = await makeGenerations(connection.db, project, 1)
    const desk = { db: connection.db, pubsub }
    await append(desk, project, id!, someEvents(2))
    expect(await shift()).toBe(0)
    // As the old cluster left it, with ids far ahead of this one's.
    await query(
      connection.db,
      sql`insert into events (project_id, type, data, commit_order) values (${project}, 'OLD', '{}', 9000000000)`,
    )
    await migrate(connection)
    expect(await shift()).toBeGreaterThan(8_000_000_000)
    const { end, events } = await inOrder()
    expect(events.map(({ type }) => type)).toEqual(all.slice(0, 3))
    await append(desk, project, id!, someEvents(1))
    await appendProjectEvents(connection.db, project, [{ type: 'NEW', data: {} }])
    expect((await inOrder(end)).events.map(({ type }) => type)).toEqual(all.slice(3))
    expect(await inOldOrder()).toEqual(all)
  })

  test('a further start changes nothing', async () => {
    const before = await shift()
    await migrate(connection)
    expect(await shift()).toBe(before)
    expect(await inOldOrder()).toEqual(all)
    expect((await inOrder()).events.map(({ type }) => type)).toEqual(all)
  })
})

test('the embedded database keeps few buffers of its own, in a directory and in memory', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-buffers-'))
  await embeddedDatabase(folder)
  const opened = [
    await connect({ kind: 'pglite', directory: join(folder, 'db') }),
    await connect(await memoryDatabase()),
  ]
  try {
    for (const { db } of opened)
      expect(await query(db, sql`show shared_buffers`)).toEqual([{ shared_buffers: '32MB' }])
  } finally {
    for (const one of opened) await one.close()
    await rm(folder, { recursive: true, force: true })
  }
})

describe('the lock of a directory', () => {
  let folder: string
  let directory: string
  const unlocks: (() => Promise<void>)[] = []
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-lock-'))
    directory = join(folder, 'db')
  })
  afterEach(async () => {
    for (const unlock of unlocks.splice(0)) await unlock()
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test('a second owner in this process is refused, and the message names the process and what to do', async () => {
    unlocks.push(await lockDirectory(directory))
    await expect(lockDirectory(directory)).rejects.toThrow(DirectoryInUseError)
    await expect(lockDirectory(directory)).rejects.toThrow(
      new RegExp(`${directory} is in use by process ${process.pid}.*GATEHOUSE_DATA_DIR.*DATABASE_URL`),
    )
  })

  test('it can be taken again after it was released', async () => {
    await (
      await lockDirectory(directory)
    )()
    unlocks.push(await lockDirectory(directory))
  })

  test('only the user of the process may open its socket, whatever the umask', async () => {
    const before = process.umask(0)
    try {
      unlocks.push(await lockDirectory(directory))
    } finally {
      process.umask(before)
    }
    const around = await readdir(dirname(directory), { withFileTypes: true })
    const sockets = around
      .filter((entry) => entry.isSocket())
      .map(({ name }) => join(dirname(directory), name))
    expect(sockets.length).toBe(1)
    expect((await stat(sockets[0]!)).mode & 0o777).toBe(0o700)
  })

  test(
    'it holds between processes that cannot see each other, as two containers on one volume',
    { timeout: 180_000 },
    async ({ skip }) => {
      const apart = ['--pid', '--mount', '--net', '--fork', '--kill-child', '--mount-proc']
      if (spawnSync('unshare', [...apart, 'true']).status !== 0) {
        console.warn('SKIPPED LOUDLY: no namespaces can be made here')
        return skip()
      }
      const program = (await buildServer()).ownProgram('test/support/lock-process.ts')
      const inContainer = (path: string) => {
        const child = spawn('unshare', [...apart, process.execPath, program, path], {
          stdio: ['ignore', 'pipe', 'inherit'],
        })
        const said = once(child.stdout!, 'data').then(([chunk]) => String(chunk).trim())
        return { child, said }
      }
      for (const path of [directory, join(folder, 'a-long-name'.repeat(9), 'db')]) {
        const first = inContainer(path)
        expect(await first.said).toBe('got it')
        // Both are process 1 of their container, and a frozen owner is an owner.
        const inside = await readFile(`/proc/${first.child.pid}/task/${first.child.pid}/children`, 'utf8')
        process.kill(Number(inside.trim()), 'SIGSTOP')
        const second = inContainer(path)
        expect(await second.said, 'a second container').toBe('DirectoryInUseError')
        await expect(lockDirectory(path), 'a process outside').rejects.toThrow(DirectoryInUseError)
        first.child.kill('SIGKILL')
        await once(first.child, 'exit')
        const third = inContainer(path)
        expect(await third.said, 'after its owner was killed').toBe('got it')
        third.child.kill('SIGKILL')
        await once(third.child, 'exit')
      }
    },
  )

  test('the lock of a running process of an earlier release is respected', async () => {
    await writeFile(join(folder, 'db.lock'), String(process.ppid))
    await expect(lockDirectory(directory)).rejects.toThrow(`in use by process ${process.ppid}`)
    await rm(join(folder, 'db.lock'))
  })

  test('another process with the id of the dead owner does not count as the owner', async () => {
    const owner = {
      pid: process.ppid,
      boot: (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim(),
      socket: 'db.lock.gone',
    }
    await writeFile(join(folder, 'db.lock'), JSON.stringify(owner))
    unlocks.push(await lockDirectory(directory))
    expect(await readFile(join(folder, 'db.lock'), 'utf8')).toContain(String(process.pid))
  })

  test('an owner on another machine is alive while it touches its lock, and dead afterwards', async () => {
    const path = join(folder, 'db.lock')
    await writeFile(path, JSON.stringify({ pid: 7, boot: 'another machine', socket: 'db.lock.elsewhere' }))
    const touching = setInterval(() => void utimes(path, new Date(), new Date()), 500)
    await expect(lockDirectory(directory)).rejects.toThrow('in use by process 7')
    clearInterval(touching)
    unlocks.push(await lockDirectory(directory))
  }, 90_000)

  test(
    'of many processes that find the lock of a dead one, exactly one gets it',
    { timeout: 270_000 },
    async () => {
      const program = (await buildServer()).ownProgram('test/support/lock-process.ts')
      for (let round = 0; round < 3; round++) {
        const children = Array.from({ length: 5 }, () => fork(program, [directory], { execArgv: [] }))
        await Promise.all(children.map((child) => once(child, 'message')))
        await writeFile(join(folder, 'db.lock'), '999999999')
        const answers = children.map((child) => once(child, 'message'))
        for (const child of children) child.send('go')
        const got = (await Promise.all(answers)).filter(([said]) => said === 'got it')
        const ends = children.map((child) => once(child, 'exit'))
        for (const child of children) child.send('end')
        await Promise.all(ends)
        expect(got, `round ${round}`).toHaveLength(1)
      }
    },
  )
})
