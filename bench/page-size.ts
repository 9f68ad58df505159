/**
 * Measures the dashboard with 10,000 runs and 2,000 waiting questions: how long searches take, how soon a list is on the
 * screen, and what its heap holds before and after the events of ten minutes in one.
 */
import type { Browser, Page } from 'playwright-core'
import postgres from 'postgres'
import { ask, gatedTool, openBrowser, openScreen } from './page.ts'
import { report, type Row } from './report.ts'
import { openServer, type BenchServer } from './server.ts'
import { percentile, timed } from './statistics.ts'
import { unitsOn, type Units } from './unit.ts'

const manyRuns = 10_000
const manyQuestions = 2_000
const times = 20
/** A project with a run each second and a half: 400 runs, about 4,000 events. */
const runsOfTenMinutes = 400
const heapSeconds = 60

/** What is copied, how often, and how many seconds lie between the copies. */
export interface Copies {
  runId: string
  runs: number
  approvalId: string
  questions: number
  apart: number
}

/** Copies of a run and of a question that exist, so that every column has what a server writes. */
export async function fill(databaseUrl: string, copies: Copies): Promise<void> {
  const { runId, runs, approvalId, questions, apart } = copies
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} })
  const words = (kind: string) => sql`array_to_tsvector(array[${kind}, 'order', 'w' || n % 100, 'n' || n])`
  const at = sql`now() - n * ${apart} * interval '1 second'`
  await sql`insert into generations select (jsonb_populate_record(g, jsonb_build_object(
      'id', 'gen_' || lpad(n::text, 24, '0'), 'thread_id', 'thr_' || lpad(n::text, 24, '0'),
      'input', replace(g.input::text, 'call ask', 'order n' || n || ' w' || n % 100)::jsonb,
      'status', case n % 20 when 0 then 'FAILED' else 'COMPLETED' end,
      'error_code', case n % 20 when 0 then 'MODEL_UNAVAILABLE' end,
      'created_at', ${at}, 'started_at', ${at}, 'finished_at', ${at} + interval '3 seconds'))).*
    from generations as g, generate_series(1, ${runs}) as n where g.id = ${runId}`
  await sql`update generations set search = ${words('clerk')} from generate_series(1, ${runs}) as n
    where id = 'gen_' || lpad(n::text, 24, '0')`
  const shown = sql`jsonb_build_object('order', 'order n' || n || ' w' || n % 100)`
  await sql`insert into tool_calls select (jsonb_populate_record(c, jsonb_build_object(
      'id', 'call_' || lpad(n::text, 24, '0'), 'approval_id', 'apr_' || lpad(n::text, 24, '0'), 'arguments', ${shown},
      'created_at', ${at}))).*
    from tool_calls as c, generate_series(1, ${questions}) as n where c.approval_id = ${approvalId}`
  await sql`insert into approvals select (jsonb_populate_record(a, jsonb_build_object(
      'id', 'apr_' || lpad(n::text, 24, '0'), 'tool_call_id', 'call_' || lpad(n::text, 24, '0'), 'arguments', ${shown},
      'expires_at', now() + interval '1 day' + n * interval '1 second', 'created_at', ${at}))).*
    from approvals as a, generate_series(1, ${questions}) as n where a.id = ${approvalId}`
  await sql`update approvals set search = ${words('refund')} from generate_series(1, ${questions}) as n
    where id = 'apr_' || lpad(n::text, 24, '0')`
  await sql`vacuum (analyze) generations, approvals, tool_calls`
  await sql.end()
}

/** What the lists of the page read. */
const searches = {
  runs: `query($s: String) { generations(filter: { search: $s }, first: 50) { nodes { id status createdAt inputLine outputLine
    agent { name } error { code } totalUsage { totalTokens } } pageInfo { endCursor } } }`,
  'numbers of runs': `query($s: String) { generationTally(filter: { search: $s }) { total { completed failed }
    agents { agentId completed } } }`,
  questions: `query($s: String) { approvals(filter: { search: $s, statuses: [PENDING] }, orderBy: EXPIRES_AT, first: 50) {
    nodes { id toolName summary { text } arguments expiresAt } pageInfo { endCursor } } }`,
}

/** Of all rows, of one in a hundred, of one, and of none. */
const texts = ['order', 'w42', 'n1234', 'nowhere']

async function searchRows(server: BenchServer): Promise<Row[]> {
  const rows: Row[] = []
  for (const [name, query] of Object.entries(searches)) {
    const took: number[] = []
    for (let i = 0; i < times; i++)
      took.push(await timed(() => server.gql(query, { s: texts[i % texts.length] })))
    rows.push({ case: `search of ${name}`, figures: medianAndWorst(took) })
  }
  return rows
}

const medianAndWorst = (took: number[]) => ({
  'median ms': percentile(took, 0.5),
  'worst ms': Math.max(...took),
})

const lists = { '/runs': 'table.runs tbody tr', '/approvals': '.question-row' }

/** From the request for the page to its first row, in a browser that has the program of the page. */
async function listRows(browser: Browser, server: BenchServer): Promise<Row[]> {
  const rows: Row[] = []
  for (const [at, selector] of Object.entries(lists)) {
    const page = await openScreen(browser, server, at)
    const took: number[] = []
    for (let i = 0; i < times; i++) {
      await page.goto('about:blank')
      took.push(
        await timed(async () => {
          await page.goto(server.url + at, { waitUntil: 'commit' })
          // A locator would ask twice a second only.
          await page.waitForFunction(
            (row) => (globalThis as any).document.querySelector(row) !== null,
            selector,
            { polling: 'raf' },
          )
        }),
      )
    }
    rows.push({ case: `${at} opens`, figures: medianAndWorst(took) })
    await page.context().close()
  }
  return rows
}

/** The heap of the page after everything unused was freed, in MB. */
export async function heapOf(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page)
  await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  await session.detach()
  return usedSize / 1e6
}

/** The heap of each list while runs begin and end at an even pace; twice, because the first pass fills what is kept. */
async function heapRows(browser: Browser, server: BenchServer, units: Units): Promise<Row[]> {
  const pages = await Promise.all(Object.keys(lists).map((at) => openScreen(browser, server, at)))
  const heaps = () => Promise.all(pages.map(heapOf))
  const measured = [await heaps()]
  for (let pass = 0; pass < 2; pass++) {
    const began = performance.now()
    for (let run = 0; run < runsOfTenMinutes; run++) {
      const due = began + (run * heapSeconds * 1000) / runsOfTenMinutes
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, due - performance.now())))
      await units.one()
    }
    measured.push(await heaps())
  }
  return Object.keys(lists).map((at, n) => ({
    case: `heap of ${at}`,
    figures: {
      'before MB': measured[0]![n]!,
      'after ten minutes MB': measured[1]![n]!,
      'after twenty MB': measured[2]![n]!,
    },
  }))
}

export async function measurePageSize(): Promise<void> {
  const server = await openServer('postgres', { upstream: '127.0.0.1:9' })
  const browser = await openBrowser()
  try {
    const units = await unitsOn(server)
    await units.one()
    const { generations } = await server.gql('{ generations(first: 1) { nodes { id } } }')
    const approvalId = await ask(server, await gatedTool(server), 'order n0')
    const runId = generations.nodes[0].id as string
    const counts = { runs: manyRuns, questions: manyQuestions }
    await fill(server.databaseUrl!, { runId, approvalId, ...counts, apart: 20 })
    report(
      'page-size',
      `The dashboard with ${manyRuns} runs and ${manyQuestions} questions, ${times} times each`,
      [
        ...(await searchRows(server)),
        ...(await listRows(browser, server)),
        ...(await heapRows(browser, server, units)),
      ],
    )
    await units.close()
  } finally {
    await browser.close()
    await server.close()
  }
}
