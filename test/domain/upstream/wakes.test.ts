/** How often upstreams are made due: by servers that report changes all the time, and by calls that fail. */
import { afterEach, expect, it, vi } from 'vitest'
import { paceWakes } from '../../../src/domain/upstream/changes.ts'
import { query } from '../../../src/store/db/database.ts'
import { sql } from '../../../src/store/db/sql.ts'
import { openHarness } from '../../support/harness.ts'
import { saveTo } from '../../support/upstream-services.ts'

afterEach(() => vi.useRealTimers())

it('a server that reports changes all the time is read ever more seldom while they bring nothing new', async () => {
  vi.useFakeTimers()
  let [wakes, known] = [0, 0]
  const report = paceWakes(async () => {
    wakes++
    return known
  })
  /** Reports all the time. Returns how often the upstream was made due. */
  const reportFor = async (seconds: number, news: 0 | 1) => {
    const before = wakes
    for (let i = 0; i < seconds * 10; i++) {
      report()
      known += news
      await vi.advanceTimersByTimeAsync(100)
    }
    return wakes - before
  }
  expect(await reportFor(4, 0), 'after 0, 500, 1500 and 3500 ms').toBe(4)
  expect(await reportFor(600, 0)).toBeLessThan(15)
  await reportFor(61, 1)
  expect(await reportFor(5, 1), 'what is new is read twice a second').toBe(10)
  await reportFor(600, 0)
  await vi.advanceTimersByTimeAsync(200_000)
  expect(await reportFor(1, 0), 'soon again after a quiet time').toBe(2)
})

it('calls that fail while the failure of one is looked at do not begin that anew', async () => {
  // Nobody else reads the upstreams here.
  const h = await openHarness({ role: 'api' })
  const { services } = h.app
  const one = await saveTo(services, 'http://127.0.0.1:9/mcp')
  const row = async () =>
    (await query<{ epoch: number }>(services.db, sql`select epoch from upstreams where id = ${one.id}`))[0]!
  await query(services.db, sql`update upstreams set status = 'CONNECTED', catalog_hash = 'x', catalog = '{}'`)
  const { epoch } = await row()
  for (let i = 0; i < 3; i++) expect(await one.call('echo')).toMatchObject({ sent: false })
  await expect.poll(row).toEqual({ epoch: epoch + 1 })
  await h.stop()
})
