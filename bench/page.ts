/** Measures the dashboard in headless Chromium: how soon a question and a verdict are on the screen, and what an inbox that is open costs. */
import { existsSync } from 'node:fs'
import { chromium, type Browser, type CDPSession, type Page } from 'playwright-core'
import { report } from './report.ts'
import { cpuDuring, key, openServer, type BenchServer } from './server.ts'
import { pause, percentile } from './statistics.ts'

const path = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium'
const rounds = 60
const openQuestions = 100
const idleSeconds = 20

/** A tool whose calls all stop at the gate. Resolves with its id. */
export async function gatedTool(server: BenchServer): Promise<string> {
  const inputSchema = { type: 'object', properties: { order: { type: 'string' } } }
  // Nothing is ever sent there: every question is rejected or stays.
  const config = { http: { url: 'http://127.0.0.1:9/', method: 'POST', inputSchema } }
  const { createTool } = await server.gql(
    'mutation($i: CreateToolInput!) { createTool(input: $i) { ... on ToolPayload { tool { id } } ... on Error { message } } }',
    { i: { name: 'refund', gate: { mode: 'ALWAYS', timeoutSeconds: 86_400 }, config } },
  )
  if (!createTool.tool) throw new Error(createTool.message)
  return createTool.tool.id as string
}

/** Calls it; resolves with the id of the approval. */
export async function ask(server: BenchServer, toolId: string, order: string): Promise<string> {
  const { callTool } = await server.gql(
    `mutation($i: CallToolInput!) { callTool(input: $i) {
      ... on ToolCallPayload { toolCall { approval { id } } } ... on Error { message } } }`,
    { i: { toolId, arguments: { order } } },
  )
  if (!callTool.toolCall?.approval) throw new Error(JSON.stringify(callTool))
  return callTool.toolCall.approval.id as string
}

/** Opens a screen of the dashboard, signed in, in a context of its own. */
export async function openScreen(browser: Browser, server: BenchServer, at: string): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
  await context.request.post(`${server.url}/session`, { data: { key }, headers: { origin: server.url } })
  const page = await context.newPage()
  await page.goto(server.url + at)
  await page.getByRole('heading', { level: 1 }).waitFor()
  return page
}

/** Resolves with the time, in milliseconds since 1970, of the first frame in which an element has this text. */
async function shownAt(page: Page, selector: string, text: string): Promise<number> {
  const found = await page.waitForFunction(
    ([where, words]) => {
      const { document, performance: clock } = globalThis as any
      const isThere = [...document.querySelectorAll(where)].some((one) => one.textContent.includes(words))
      return isThere ? clock.timeOrigin + clock.now() : null
    },
    [selector, text] as const,
    { polling: 'raf' },
  )
  return found.jsonValue() as Promise<number>
}

const now = () => performance.timeOrigin + performance.now()

async function timesOn(page: Page, server: BenchServer, toolId: string) {
  const asked: number[] = []
  const decided: number[] = []
  for (let round = 0; round < rounds; round++) {
    const order = `order-${round}-`
    const shown = shownAt(page, '.question-row, .question', order)
    const askedAt = now()
    const approvalId = await ask(server, toolId, order)
    asked.push((await shown) - askedAt)
    await page.getByText(order).first().click()
    const outcome = shownAt(page, '.outcome', 'rejected')
    const decidedAt = now()
    await server.gql('mutation($i: DecideApprovalInput!) { decideApproval(input: $i) { __typename } }', {
      i: { approvalId, verdict: 'REJECT' },
    })
    decided.push((await outcome) - decidedAt)
  }
  return { asked, decided }
}

/** CPU seconds of all processes of the browser since their start. */
async function browserCpu(session: CDPSession): Promise<number> {
  const { processInfo } = await session.send('SystemInfo.getProcessInfo')
  return processInfo.reduce((sum, { cpuTime }) => sum + cpuTime, 0)
}

async function idleCost(browser: Browser, server: BenchServer) {
  const session = await browser.newBrowserCDPSession()
  await pause(3000)
  const before = await browserCpu(session)
  const cpu = await cpuDuring(server, () => pause(idleSeconds * 1000))
  return {
    'browser CPU %': ((await browserCpu(session)) - before) * (100 / idleSeconds),
    'server CPU %': cpu / (10 * idleSeconds),
  }
}

/** A browser that `close` ends. Throws where there is none. */
export function openBrowser(): Promise<Browser> {
  if (!existsSync(path)) throw new Error(`There is no browser at ${path}. Set CHROMIUM_PATH.`)
  return chromium.launch({ executablePath: path })
}

export async function measurePage(): Promise<void> {
  const server = await openServer('postgres', { upstream: '127.0.0.1:9' })
  const browser = await openBrowser()
  try {
    const toolId = await gatedTool(server)
    const page = await openScreen(browser, server, '/approvals')
    const { asked, decided } = await timesOn(page, server, toolId)
    const empty = await idleCost(browser, server)
    for (let n = 0; n < openQuestions; n++) await ask(server, toolId, `open-${n}-`)
    await page.reload()
    await page
      .locator('.question-row')
      .nth(openQuestions - 1)
      .waitFor()
    const full = await idleCost(browser, server)
    report(
      'page',
      `The inbox in a browser: ms from the request to the screen over ${rounds} questions; CPU at rest`,
      [
        ...Object.entries({ 'question asked': asked, 'verdict of somebody else': decided }).map(
          ([name, times]) => ({
            case: name,
            figures: { 'p50 ms': percentile(times, 0.5), 'p99 ms': percentile(times, 0.99) },
          }),
        ),
        { case: 'no open questions', figures: empty },
        { case: `${openQuestions} open questions`, figures: full },
      ],
    )
  } finally {
    await browser.close()
    await server.close()
  }
}
