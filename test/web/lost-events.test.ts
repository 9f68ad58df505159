/** What happens between a snapshot and its subscription, after a refused cursor, and while a server is dead, is shown. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasChromium, openChromium, visit } from '../support/chromium.ts'
import { openShop, type Shop } from '../support/web-fixtures.ts'

describe.skipIf(!hasChromium)('what a page could miss', { timeout: 360_000 }, () => {
  let browser: Browser
  let shop: Shop
  beforeAll(async () => {
    browser = await openChromium()
    shop = await openShop()
  })
  afterAll(async () => {
    await browser?.close()
    await shop?.close()
  })

  const ask = async (order: string) => {
    const input = { toolId: shop.refundId, arguments: { order_id: order, amount: 5 } }
    const made = await shop.h.mutate('callTool', input, 'toolCall { id }')
    expect(made['toolCall'].id).toBeTruthy()
  }
  const mark = (page: Page) => page.evaluate(() => void ((globalThis as { stays?: boolean }).stays = true))
  const isMarked = (page: Page) => page.evaluate(() => (globalThis as { stays?: boolean }).stays)

  test('a question asked after the list was read and before the events are followed is on the screen', async () => {
    for (let round = 0; round < 6; round++) {
      const tab = await visit(browser, shop.h, '/people/programs')
      const { page, context } = tab
      let release = () => {}
      const held = new Promise<void>((resolve) => (release = resolve))
      // The socket waits until the list has been read and the question asked.
      await context.routeWebSocket('**/graphql', async (ws) => {
        await held
        const server = ws.connectToServer()
        ws.onMessage((message) => server.send(message))
        server.onMessage((message) => ws.send(message))
      })
      await page.goto(`${shop.h.url}/approvals`)
      await page.locator('.question-row, .empty').first().waitFor()
      await ask(`gap-${round}`)
      release()
      await page.getByText(`gap-${round}`).first().waitFor()
      expect(tab.faults).toEqual([])
      await tab.close()
    }
  })

  test('a refused cursor begins anew, and whatever came meanwhile is there without a reload', async () => {
    const tab = await visit(browser, shop.h, '/people/programs')
    const { page, context } = tab
    let refusals = 0
    let kill = () => {}
    await context.routeWebSocket('**/graphql', (ws) => {
      const server = ws.connectToServer()
      kill = () => ws.close({ code: 1012 })
      server.onMessage((message) => ws.send(message))
      ws.onMessage((message) => {
        const { id, type, payload } = JSON.parse(String(message)) as any
        // As after a restore from a backup: the server does not know the cursor of a client that comes back.
        const isRefused = type === 'subscribe' && payload.query.includes('projectEvents') && ++refusals === 2
        if (!isRefused) return server.send(message)
        ws.send(
          JSON.stringify({
            id,
            type: 'error',
            payload: [{ message: 'The cursor is not known.', extensions: { code: 'CURSOR_EXPIRED' } }],
          }),
        )
      })
    })
    await page.goto(`${shop.h.url}/approvals`)
    await page.getByText('gap-5').first().waitFor()
    await mark(page)
    await ask('before-the-cut')
    await page.getByText('before-the-cut').first().waitFor()
    kill()
    await ask('during-the-cut')
    await page.getByText('during-the-cut').first().waitFor()
    await expect.poll(() => refusals).toBeGreaterThanOrEqual(3)
    // It follows again.
    await ask('after-the-cut')
    await page.getByText('after-the-cut').first().waitFor()
    expect(await isMarked(page)).toBe(true)
    await tab.close()
  })

  test('after hours of sleep, with every connection dead, the page goes on without a reload', async () => {
    const tab = await visit(browser, shop.h, '/people/programs', { expected: /WebSocket|ERR_/ })
    const { page, context } = tab
    let isAsleep = false
    const open = new Set<{ close(options: { code: number }): Promise<void> }>()
    await context.routeWebSocket('**/graphql', (ws) => {
      if (isAsleep) return void ws.close({ code: 1012 })
      open.add(ws)
      const server = ws.connectToServer()
      ws.onMessage((message) => server.send(message))
      server.onMessage((message) => ws.send(message))
    })
    // Nor is there another way, such as events over HTTP.
    await context.route('**/graphql', (route) =>
      isAsleep ? route.abort('internetdisconnected') : route.continue(),
    )
    await page.clock.install()
    await page.goto(`${shop.h.url}/approvals`)
    await page.getByText('gap-5').first().waitFor()
    await mark(page)
    isAsleep = true
    for (const ws of open) await ws.close({ code: 1012 })
    await page.getByText('Reconnecting').waitFor()
    await ask('while-asleep')
    await page.clock.fastForward('05:00:00')
    isAsleep = false
    await page.getByText('while-asleep').first().waitFor()
    await page.getByText('Reconnecting').waitFor({ state: 'detached' })
    expect(await isMarked(page)).toBe(true)
    await page.getByRole('link', { name: /while-asleep/ }).click()
    await page.locator('.danger:enabled').click()
    await page.getByText('Rejected: ').waitFor()
    expect(tab.faults).toEqual([])
    await tab.close()
  })
})
