/** Opening a database: migrations under competition, the order of events in a restored one, the directory's lock. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { connect, type Connection } from '../../src/store/db/connect.ts'
import { query } from '../../src/store/db/database.ts'
import { DirectoryInUseError, lockDirectory } from '../../src/store/db/directory-lock.ts'
import { migrate } from '../../src/store/db/migrate.ts'
import { appendProjectEvents, readFeed } from '../../src/store/events/log.ts'
import { beginning, type Position } from '../../src/store/events/position.ts'
import { localBell } from '../../src/store/events/bell.ts'
import { buildServer } from '../support/build.ts'
import { hasPostgres, memoryDatabase, postgresDatabase } from '../support/databases.ts'
import { append, makeGenerations, someEvents } from '../support/log-writer.ts'

describe.skipIf(!hasPostgres)('on PostgreSQL', () => {
  test('four replicas that migrate an empty database at the same moment all succeed', async () => {
    const { url, drop } = await postgresDatabase()
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
  const all = async () => (await readFeed(connection.db, project, beginning, 100)).events
  /** Transactions of strangers in the same cluster may hold the newest back for a moment. */
  const settled = (after: Position, types: string[]) =>
    expect
      .poll(
        async () => (await readFeed(connection.db, project, after, 100)).events.map((event) => event.type),
        { timeout: 10_000 },
      )
      .toEqual(types)
  const shift = async () =>
    Number((await query<{ s: string }>(connection.db, sql`select commit_shift as s from installation`))[0]!.s)

  test('goes on behind its newest event, although transaction ids begin anew', async () => {
    const [id] = await makeGenerations(connection.db, project, 1)
    const desk = { db: connection.db, bell: localBell() }
    await append(desk, project, id!, someEvents(2))
    expect(await shift()).toBe(0)
    // As the old cluster left it, with ids far ahead of this one's.
    await query(
      connection.db,
      sql`insert into events (project_id, type, data, commit_order) values (${project}, 'OLD', '{}', 9000000000)`,
    )
    await migrate(connection)
    expect(await shift()).toBeGreaterThan(8_000_000_000)
    await settled(beginning, ['MESSAGE_COMMITTED', 'MESSAGE_COMMITTED', 'OLD'])
    const seen = await readFeed(connection.db, project, beginning, 100)
    await append(desk, project, id!, someEvents(1))
    await appendProjectEvents(connection.db, project, [{ type: 'NEW', data: {} }])
    await settled(seen.end, ['MESSAGE_COMMITTED', 'NEW'])
    const orders = (await all()).map((event) => event.commitOrder)
    expect(orders).toEqual(orders.toSorted((a, b) => a - b))
  })

  test('a further start changes nothing', async () => {
    const before = await shift()
    await migrate(connection)
    expect(await shift()).toBe(before)
    await settled(beginning, ['MESSAGE_COMMITTED', 'MESSAGE_COMMITTED', 'OLD', 'MESSAGE_COMMITTED', 'NEW'])
  })
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

  test('a second owner in this process is refused, and the message says who and what to do', async () => {
    unlocks.push(await lockDirectory(directory))
    await expect(lockDirectory(directory)).rejects.toThrow(DirectoryInUseError)
    await expect(lockDirectory(directory)).rejects.toThrow(
      new RegExp(`${directory} is in use by process ${process.pid}.*GATEHOUSE_DATA_DIR.*DATABASE_URL`),
    )
  })

  test('it can be taken again when it was given back', async () => {
    await (
      await lockDirectory(directory)
    )()
    unlocks.push(await lockDirectory(directory))
  })

  test('the lock of a living process is respected', async () => {
    await writeFile(join(folder, 'db.lock'), String(process.ppid))
    await expect(lockDirectory(directory)).rejects.toThrow(`in use by process ${process.ppid}`)
    await rm(join(folder, 'db.lock'))
  })

  test('the lock of a process that is gone is taken over', async () => {
    const child = fork('-e', [], { execArgv: ['-e', ''], stdio: 'ignore' })
    await once(child, 'exit')
    await writeFile(join(folder, 'db.lock'), String(child.pid))
    unlocks.push(await lockDirectory(directory))
    expect(await readFile(join(folder, 'db.lock'), 'utf8')).toContain(String(process.pid))
  })

  test(
    'of many processes that find the lock of a dead one, exactly one gets it',
    { timeout: 90_000 },
    async () => {
      const server = await buildServer()
      const program = join(server.entry, '../take-the-lock.js')
      await writeFile(
        program,
        `import { lockDirectory } from './store/db/directory-lock.js'
       process.once('message', async () => {
         const got = await lockDirectory(${JSON.stringify(directory)}).then(() => true, () => false)
         process.send(got)
         process.once('message', () => process.exit())
       })
       process.send('ready')`,
      )
      try {
        for (let round = 0; round < 3; round++) {
          const children = Array.from({ length: 5 }, () => fork(program, [], { execArgv: [] }))
          await Promise.all(children.map((child) => once(child, 'message')))
          await writeFile(join(folder, 'db.lock'), '999999999')
          const answers = children.map((child) => once(child, 'message'))
          for (const child of children) child.send('go')
          const got = (await Promise.all(answers)).map(([answer]) => answer as boolean)
          const ends = children.map((child) => once(child, 'exit'))
          for (const child of children) child.send('end')
          await Promise.all(ends)
          expect(got.filter(Boolean), `round ${round}`).toHaveLength(1)
        }
      } finally {
        await server.remove()
      }
    },
  )
})
