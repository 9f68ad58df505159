/** Which histories of the log a process accepts, after it has seen others. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { silentLog } from '../../src/core/log.ts'
import { historyGuard } from '../../src/store/db/history-guard.ts'
import { openSession, type Session } from '../../src/store/db/postgres/session.ts'
import { hasPostgres, postgresDatabase } from '../support/databases.ts'

const closers: (() => unknown)[] = []
let session: Session
let admit: (session: Session) => Promise<void>
let changes = 0

beforeAll(async () => {
  if (!hasPostgres) return
  const made = await postgresDatabase()
  closers.push(() => made.drop())
  const open = () =>
    openSession({ url: made.url, applicationName: 'guard', settings: {}, connectMs: 5000, silenceMs: null })
  session = await open()
  closers.push(() => session.end(1000))
  admit = historyGuard(open, () => (changes += 1), silentLog)
  // As the first start of a server leaves it: the template was migrated by another process.
  await admit(session)
})
afterAll(async () => {
  for (const close of closers.toReversed()) await close()
})

const run = (text: string) => session.run(text, [], { prepare: false, values: false })
const log = async () =>
  (
    (await run('select incarnation, earlier, fingerprint from installation')) as {
      incarnation: string
      earlier: unknown
      fingerprint: string
    }[]
  )[0]!
/** What the server of this test has: that of the time before, or that of its successor. */
const put = ({ incarnation, earlier, fingerprint }: Awaited<ReturnType<typeof log>>) =>
  run(
    `update installation set incarnation = '${incarnation}', earlier = '${JSON.stringify(earlier)}', fingerprint = '${fingerprint}'`,
  )
const reason = (tried: Promise<unknown>) =>
  tried.then(
    () => 'admitted',
    (error: { cause: Error }) => error.cause.message,
  )

describe.skipIf(!hasPostgres)('a process that has seen a later incarnation', () => {
  test('refuses the earlier one, and admits one that lost the later on another timeline', async () => {
    const first = await log()
    expect(await reason(admit(session))).toBe('admitted')
    expect(changes).toBe(0)
    const earlier = [{ name: first.incarnation, newest: 0 }]
    const second = { ...first, incarnation: 'the-second', earlier }
    await put(second)
    expect(await reason(admit(session))).toBe('admitted')
    expect(changes).toBe(1)

    await put(first)
    expect(await reason(admit(session))).toMatch(/former leader/)
    await put({ ...first, fingerprint: 'another/7' })
    expect(await reason(admit(session))).toBe('admitted')
    expect((await log()).earlier).toMatchObject([{ name: first.incarnation }])
    expect(changes).toBe(2)

    await put(second)
    expect(await reason(admit(session))).toMatch(/former leader/)
    await put({ ...second, incarnation: 'foreign', earlier: [] })
    expect(await reason(admit(session))).toMatch(/another installation/)
  })
})
