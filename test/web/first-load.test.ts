/** What a browser loads for the first page, without the editor: little enough for a phone on a train. German has its texts in a file. */
import http from 'node:http'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasChromium, openChromium, visit } from '../support/chromium.ts'
import { openShop, type Shop } from '../support/web-fixtures.ts'

describe.skipIf(!hasChromium)('the first load', { timeout: 180_000 }, () => {
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

  /** The files that the page loads until this is on the screen, each once. */
  async function loaded(at: string, shown: string, locale: string): Promise<string[]> {
    const tab = await visit(browser, shop.h, at, { locale })
    await tab.page.locator(shown).first().waitFor()
    const files = await tab.page.evaluate(() =>
      performance
        .getEntriesByType('resource')
        .map(({ name }) => name)
        .filter((name) => /\.(js|css|woff2|svg)(\?|$)/.test(name)),
    )
    await tab.close()
    return [...new Set(files)]
  }

  /** The size of the response to a browser that takes Brotli, as Chromium does over TLS. */
  const sizeOf = (url: string) =>
    new Promise<number>((resolve, reject) => {
      http
        .get(url, { headers: { 'accept-encoding': 'br' } }, (response) => {
          let size = 0
          response.on('data', (chunk: Buffer) => (size += chunk.length))
          response.on('end', () => resolve(size))
        })
        .on('error', reject)
    })

  test.each([
    ['the inbox', '/approvals', '.danger:enabled', 'en-US', 120 * 1024],
    ['the inbox', '/approvals', '.danger:enabled', 'de-DE', 130 * 1024],
    ['the home page', '/', '.insights-sums', 'en-US', 180 * 1024],
  ])(
    'of %s (%s, until %s is there) in %s is at most %i bytes with Brotli',
    async (_what, at, shown, locale, most) => {
      await shop.ask('F-1')
      const files = await loaded(at, shown, locale)
      expect(files.length).toBeGreaterThan(3)
      expect(files.some((name) => /\/de-[^/]+\.js/.test(name))).toBe(locale === 'de-DE')
      const sizes = await Promise.all(files.map(sizeOf))
      const page = await sizeOf(`${shop.h.url}/`)
      expect(sizes.reduce((sum, size) => sum + size, page)).toBeLessThan(most)
    },
  )
})
