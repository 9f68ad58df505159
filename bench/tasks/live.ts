/** A page that is open for long: how soon a key is answered among 3,000 requests, and what the page keeps of 2,000 events. */
import type { Page } from 'playwright-core'
import postgres from 'postgres'
import { heapOf } from '../page-size.ts'
import type { Row } from '../report.ts'
import { percentile } from '../statistics.ts'
import { askRefund, openGround, reject, runToEnd, type Ground } from './ground.ts'

const presses = 100
const waiting = 3_000
const marks = [500, 1_000, 1_500, 2_000]

/** Opens a screen of somebody who is signed in. */
export type Open = (ground: Ground, at: string) => Promise<Page>

/** Keeps how long each `j` took until the next paint, and whether the row had the focus in it. */
function keepTimes(): void {
  const page = globalThis as any
  page.times = []
  page.addEventListener(
    'keydown',
    ({ key, timeStamp }: any) => {
      if (key !== 'j') return
      const before = page.document.activeElement
      page.requestAnimationFrame(() => {
        const isMoved = page.document.activeElement !== before
        const { port1, port2 } = new MessageChannel()
        // A message of a frame is delivered once the frame has been painted.
        port1.addEventListener('message', () =>
          page.times.push(isMoved ? page.performance.now() - timeStamp : null),
        )
        port1.start()
        port2.postMessage(null)
      })
    },
    { capture: true },
  )
}

/** Milliseconds from each of many presses of `j` to the next paint; each begins when the request before is shown. */
async function timesOfKey(page: Page): Promise<number[]> {
  await page.getByRole('checkbox', { name: `Select all ${waiting.toLocaleString('en-US')}` }).waitFor()
  await page.waitForURL(/apr_/)
  await page.evaluate(keepTimes)
  const seen = (count: number) =>
    page.waitForFunction(
      (wanted) => {
        const { times, document, location } = globalThis as any
        const chosen = document.querySelector('.question-row[data-chosen] [data-item]')?.dataset.item
        return (
          times.length === wanted && location.pathname.endsWith(chosen) && document.querySelector('.verdict')
        )
      },
      count,
      { polling: 'raf' },
    )
  for (let press = 1; press <= presses; press++) {
    await page.keyboard.press('j')
    await seen(press)
  }
  const times = (await page.evaluate(() => (globalThis as any).times)) as (number | null)[]
  return times.map((time) => {
    if (time === null) throw new Error('A press of j did not move the focus before the next paint.')
    return time
  })
}

export async function keyRows(open: Open): Promise<Row[]> {
  const ground = await openGround(waiting)
  try {
    const page = await open(ground, '/approvals')
    const times = await timesOfKey(page)
    await page.context().close()
    const figures = { 'median ms': percentile(times, 0.5), 'p95 ms': percentile(times, 0.95) }
    return [{ case: `j to the next paint, ${waiting} requests`, figures }]
  } finally {
    await ground.close()
  }
}

/** How many nodes the documents of a page hold, shown or not. */
async function nodesOf(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page)
  const { nodes } = await session.send('Memory.getDOMCounters')
  await session.detach()
  return nodes
}

/** Asks and rejects, and begins and ends runs, until so many events have been written since the first of them. */
async function fillUp(ground: Ground, sql: postgres.Sql, until: number): Promise<void> {
  const written = async () => (await sql<{ n: number }[]>`select count(*)::int as n from events`)[0]!.n
  for (let n = await written(); n < until; n = await written()) {
    await reject(ground, await askRefund(ground, `E-${n}`))
    await runToEnd(ground.server, ground.agentId, `say ${n}`)
  }
}

/** One request more stays, so that each page says when it has heard of everything before. */
async function heardOf(ground: Ground, pages: Page[], at: number): Promise<void> {
  await askRefund(ground, `mark-${at}`)
  const { approvalTally } = await ground.server.gql(
    '{ approvalTally(filter: { statuses: [PENDING] }) { total { pending } } }',
  )
  for (const page of pages)
    await page.waitForFunction(
      (title) => (globalThis as any).document.title.startsWith(title),
      `(${approvalTally.total.pending})`,
    )
}

export async function heapRows(open: Open): Promise<Row[]> {
  const ground = await openGround()
  const sql = postgres(ground.server.databaseUrl!, { max: 1, onnotice: () => {} })
  try {
    const screens = { Waiting: '/approvals', Activity: '/runs' }
    const pages: Page[] = []
    for (const at of Object.values(screens)) pages.push(await open(ground, at))
    const rows = Object.keys(screens).map((name): Row => ({ case: `heap of ${name}`, figures: {} }))
    const measure = async (at: number) => {
      await heardOf(ground, pages, at)
      for (const [n, page] of pages.entries()) {
        rows[n]!.figures[`${at} MB`] = await heapOf(page)
        rows[n]!.figures[`${at} nodes`] = await nodesOf(page)
      }
    }
    await measure(0)
    const [{ first }] = (await sql`select count(*)::int as first from events`) as any
    for (const mark of marks) {
      await fillUp(ground, sql, first + mark)
      await measure(mark)
    }
    return rows
  } finally {
    await sql.end()
    await ground.close()
  }
}
