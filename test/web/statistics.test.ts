/** The figures of a project in a browser: charts with the same figures as a table, by day and by hour; and their pure parts. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { beginOf, costText, shareText, topOf } from '../../web/src/screens/insights/sums.ts'
import { moneyText } from '../../web/src/parts/money.ts'
import { sql } from 'drizzle-orm'
import { query } from '../../src/store/db/database.ts'
import { hasChromium, openChromium, picture, visit } from '../support/chromium.ts'
import { openShop, type Shop } from '../support/web-fixtures.ts'

describe.skipIf(!hasChromium)('statistics in the browser', { timeout: 180_000 }, () => {
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

  test('a model without a price costs an unknown sum, until its price is set; then it costs so much', async () => {
    const apart = await openShop()
    try {
      const { generationId } = await apart.ask('P-1')
      await apart.settle()
      const { db } = apart.h.app.services
      await query(db, sql`update generations set model = 'corp/own-model'`)
      const tab = await visit(browser, apart.h, '/insights')
      const { page } = tab
      const row = page.getByRole('row', { name: /corp\/own-model/ })
      await row.getByText('unknown').waitFor()
      await row.getByRole('button', { name: 'Set it the price of corp/own-model' }).click()
      await page.getByLabel('Input tokens').fill('1000')
      await page.getByLabel('Output tokens').fill('2000')
      await tab.check()
      await page.getByRole('button', { name: 'Save the price' }).click()
      await row.getByText('$1,000.00 / $2,000.00').waitFor()
      const [used] = await query<{ cost: number }>(
        db,
        sql`select sum(input_tokens::float8 * 1000 + output_tokens::float8 * 2000) / 1e6 as cost from generations`,
      )
      await row.getByText(moneyText(used!.cost), { exact: true }).waitFor()
      await row.getByRole('button', { name: 'Change the price of corp/own-model' }).click()
      await page.getByRole('button', { name: 'Remove this price' }).click()
      await row.getByText('unknown').waitFor()
      await tab.check()
      // The run says so itself.
      await page.goto(`${apart.h.url}/runs/${generationId}`)
      await page.getByRole('region', { name: 'Facts' }).getByText('unknown', { exact: true }).waitFor()
      expect(tab.faults).toEqual([])
      await tab.close()
    } finally {
      await apart.close()
    }
  })

  test('before anything ran nothing is drawn; then runs, verdicts and failing tools are counted', async () => {
    const tab = await visit(browser, shop.h, '/insights')
    const { page } = tab
    await page.getByText('Nothing ran in this period').waitFor()
    await tab.check()
    const start = async (prompt: string) => {
      const input = { agentId: shop.agentId, prompt }
      const made = await shop.h.mutate('startGeneration', input, 'generation { id }')
      await shop.h.until(made['generation'].id, ['COMPLETED', 'FAILED'])
    }
    await start('say one')
    await start('say two')
    await start('fail 400')
    await start('call send_refund {"order_id":7}')
    await shop.ask('R-1')
    await shop.settle()
    await shop.ask('R-2')
    await page.getByRole('button', { name: 'Refresh' }).click()
    const sum = (name: string) =>
      page
        .locator('.insights-sums > div')
        .filter({ has: page.getByText(name, { exact: true }) })
        .locator('dd')
    await expect.poll(() => sum('Runs').innerText()).toBe('6')
    // One of the five that ended; the sixth still waits.
    expect(await sum('Failed, of those that ended').innerText()).toBe('20 %')
    expect(await sum('Cost').innerText()).toBe('$0.00')
    expect(await sum('Approval requests').innerText()).toBe('2')
    const newest = page.locator('.insights-table tbody tr').first().locator('td')
    expect((await newest.allInnerTexts()).slice(0, 5)).toEqual(['4', '1', '0', '0', '1'])
    expect(await page.locator('.insights-table tbody tr').count()).toBe(1)
    expect(await page.locator('.chart-plot .chart-failed').count()).toBe(1)
    const tool = page.getByRole('region', { name: 'Calls by tool' }).getByRole('row', { name: /send_refund/ })
    const texts = await tool.locator('td').allInnerTexts()
    expect(texts.slice(0, 5)).toEqual(['send_refund', '3', '1', '0', '33 %'])
    expect(texts.at(-1)).toBe('$0.00')
    await picture(tab, 'statistics')
    await tab.check()
    await page.emulateMedia({ forcedColors: 'active' })
    const strokes = await page
      .locator('.chart-plot rect')
      .first()
      .evaluate((rect) => {
        const { getComputedStyle } = globalThis as unknown as {
          getComputedStyle(element: unknown): { stroke: string; fill: string }
        }
        const { stroke, fill } = getComputedStyle(rect)
        return stroke !== fill
      })
    expect(strokes).toBe(true)
    await page.emulateMedia({ forcedColors: 'none' })
    await page.getByRole('button', { name: 'Last 30 days' }).click()
    await page
      .locator('.insights-table time')
      .filter({ hasText: /[A-Z][a-z]{2}$/ })
      .waitFor()
    await expect.poll(() => sum('Runs').innerText()).toBe('6')
    expect(new URL(page.url()).search).toBe('?range=30d')
    await tab.check()
    await page.goBack()
    await page.locator('.insights-table time').filter({ hasText: /:00$/ }).waitFor()
    await tab.close()
  })
})

describe('money', () => {
  test('is never nothing for something, and says what is not known', () => {
    expect([0, 0.004, 0.01, 1234.5].map(moneyText)).toEqual(['$0.00', 'under $0.01', '$0.01', '$1,234.50'])
    expect([costText(2, 0), costText(2, 10), costText(0, 10)]).toEqual(['$2.00', '$2.00 and more', 'unknown'])
  })
})

describe('the figures', () => {
  test('are shares that are never rounded to all or nothing', () => {
    expect([shareText(0, 0), shareText(0, 5), shareText(1, 1000), shareText(999, 1000)]).toEqual([
      'none',
      '0 %',
      'under 1 %',
      'over 99 %',
    ])
    expect([shareText(1, 3), shareText(5, 5)]).toEqual(['33 %', '100 %'])
  })

  test('begin with a whole hour or day, so that the newest bucket is the one of now', () => {
    const now = new Date(2026, 10, 22, 14, 35, 12).getTime()
    expect(beginOf({ bucket: 'HOUR', count: 24 }, now)).toBe(new Date(2026, 10, 21, 15).toISOString())
    expect(beginOf({ bucket: 'DAY', count: 7 }, now)).toBe(new Date(2026, 10, 16).toISOString())
  })

  test('end their axis at a round number', () => {
    expect([0, 1, 3, 7, 10, 11, 0.4, 90_000].map(topOf)).toEqual([1, 1, 5, 10, 10, 20, 0.5, 100_000])
  })
})
