/** The dashboard with hundreds of questions, and while its server is killed and comes back. */
import { execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask, mutate } from '../support/ask.ts'
import { hasChromium, openChromium, visit } from '../support/chromium.ts'
import { adminKey } from '../support/harness.ts'
import { startReplica, type Replica } from '../support/replica.ts'
import { openShop } from '../support/web-fixtures.ts'

/** Counts the bytes over the wire, heads included, of responses from a path, from now on. */
async function bytesOf(page: Page, path: string): Promise<{ bytes: number }> {
  const session = await page.context().newCDPSession(page)
  const counted = { bytes: 0 }
  const ids = new Set<string>()
  session.on('Network.responseReceived', ({ requestId, response }) => {
    if (new URL(response.url).pathname === path) ids.add(requestId)
  })
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    if (ids.has(requestId)) counted.bytes += encodedDataLength
  })
  await session.send('Network.enable')
  return counted
}

/** How many pixels an element moves while the page is drawn that has been scrolled to it: a click would miss it. */
async function movesWhenReached(element: Element): Promise<number> {
  element.scrollIntoView()
  const { top } = element.getBoundingClientRect()
  for (let frame = 0; frame < 6; frame++) await new Promise((resolve) => requestAnimationFrame(resolve))
  return element.getBoundingClientRect().top - top
}

describe.skipIf(!hasChromium)('a busy and a broken day', { timeout: 720_000 }, () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await openChromium()
  })
  afterAll(() => browser?.close())

  test('five hundred questions are read by the page, and the chosen one is decided', async () => {
    const shop = await openShop()
    try {
      const call = (n: number) => {
        const input = { toolId: shop.refundId, arguments: { order_id: `M-${n}`, amount: n } }
        return shop.h.mutate('callTool', input, 'toolCall { id }')
      }
      for (let n = 0; n < 500; n += 25) await Promise.all(Array.from({ length: 25 }, (_, i) => call(n + i)))
      const tab = await visit(browser, shop.h, '/approvals')
      const sent = await bytesOf(tab.page, '/graphql')
      await tab.page.reload()
      const rows = tab.page.locator('.question-row')
      await tab.page.getByRole('checkbox', { name: 'Select all 500' }).check()
      await tab.page.getByText('500 of 500 selected').waitFor()
      await tab.page.getByRole('button', { name: 'Clear' }).click()
      // Only those near the screen are in the document.
      expect(await rows.count()).toBeLessThan(60)
      expect(sent.bytes).toBeGreaterThan(0)
      expect(sent.bytes).toBeLessThan(120_000)
      const middle = tab.page.locator('.question-row[aria-posinset="250"]')
      await tab.page.locator('.inbox-list').evaluate((list) => list.scrollTo(0, 0.5 * list.scrollHeight))
      expect(await middle.evaluate(movesWhenReached)).toBe(0)
      await middle.getByRole('link').click()
      const id = new URL(tab.page.url()).pathname.split('/').at(-1)!
      await tab.page.locator('.danger:enabled').click()
      await tab.page.getByText('Rejected: ').waitFor()
      expect(await shop.approval(id)).toMatchObject({ status: 'REJECTED' })
      expect(tab.faults).toEqual([])
      await tab.close()
    } finally {
      await shop.close()
    }
  })

  test('the server is killed and comes back: what was asked meanwhile is there, without a reload', async () => {
    // The page is served from dist, so the server must be the one that was built with it.
    execFileSync(process.execPath, ['tools/build-when-stale.mjs'], { stdio: 'inherit' })
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-gone-'))
    const port = await freePort()
    const settings = {
      GATEHOUSE_PORT: String(port),
      GATEHOUSE_DATA_DIR: join(folder, 'data'),
      GATEHOUSE_ADMIN_KEY: adminKey,
      GATEHOUSE_LOG_LEVEL: 'silent',
    }
    let server: Replica | null = null
    const start = async () => {
      server = startReplica('dist/main.js', settings)
      await server.ready
      return server
    }
    try {
      const first = await start()
      const url = `http://127.0.0.1:${port}`
      const refund = async (order: string) => {
        const { data } = await ask(url, adminKey, '{ agents(first: 1) { nodes { id } } }')
        const prompt = `call send_refund {"order_id":"${order}","amount":250}`
        const agentId = data['agents'].nodes[0].id as string
        await mutate(url, adminKey, 'startGeneration', { agentId, prompt }, 'generation { id }')
      }
      const tab = await visit(browser, { url }, '/approvals', { expected: /ERR_|WebSocket|Failed to load/ })
      const { page } = tab
      await page.getByText('A-1', { exact: false }).first().waitFor()
      const { data } = await ask(
        url,
        adminKey,
        '{ approvals(filter: { statuses: [PENDING] }, first: 1) { nodes { id generation { id } } } }',
      )
      const waiting = data['approvals'].nodes[0] as { id: string; generation: { id: string } }
      const run = await visit(browser, { url }, `/runs/${waiting.generation.id}`, {
        expected: /ERR_|WebSocket|Failed to load/,
      })
      const status = run.page.locator('.screen-head [role=status]')
      await status.getByText('waits for approval').waitFor()
      for (const one of [page, run.page])
        await one.evaluate(() => void ((globalThis as { stays?: boolean }).stays = true))
      await first.kill()
      await page.getByText('Reconnecting').waitFor()
      await start()
      for (const order of ['K-1', 'K-2', 'K-3']) await refund(order)
      await page
        .getByRole('link', { name: 'Inbox, 4 waiting' })
        .or(page.locator('.count', { hasText: '4' }))
        .waitFor()
      await page.getByText('Reconnecting').waitFor({ state: 'detached' })
      // The open run is followed again from its cursor: the verdict of somebody else and its end are shown.
      const verdict = { approvalId: waiting.id, verdict: 'REJECT', reason: 'not after a crash' }
      await mutate(url, adminKey, 'decideApproval', verdict, 'approval { id }')
      await status.getByText('completed').waitFor()
      for (const one of [page, run.page])
        expect(await one.evaluate(() => (globalThis as { stays?: boolean }).stays)).toBe(true)
      expect([...tab.faults, ...run.faults]).toEqual([])
      await run.close()
      await tab.close()
    } finally {
      await (server as Replica | null)?.kill()
      await rm(folder, { recursive: true, force: true })
    }
  })
})

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
