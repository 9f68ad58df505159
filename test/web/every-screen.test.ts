/** Every screen, once: accessible and as wide as the window in light, dark, on a phone, at 200 % and in forced colours. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { everyLook, hasChromium, openChromium, visit } from '../support/chromium.ts'
import { everyAddress, fill, goTo } from '../support/screens.ts'
import { openShop, type Shop } from '../support/web-fixtures.ts'

describe.skipIf(!hasChromium)('every screen', { timeout: 360_000 }, () => {
  let browser: Browser
  let shop: Shop
  let ids: Record<string, string>

  beforeAll(async () => {
    browser = await openChromium()
    shop = await openShop()
    ids = await fill(shop)
  })
  afterAll(async () => {
    await browser?.close()
    await shop?.close()
  })

  test('is accessible in every look and never scrolls sideways', async () => {
    const tab = await visit(browser, shop.h, '/nowhere')
    await tab.check(everyLook)
    for (const address of everyAddress(ids)) {
      await goTo(tab.page, address)
      await tab.check(everyLook)
    }
    await tab.close()
    const signIn = await visit(browser, shop.h, '/runs', { key: null, expected: /401/ })
    await signIn.page.getByRole('button', { name: 'Sign in' }).waitFor()
    await signIn.check(everyLook)
    await signIn.close()
  })
})
