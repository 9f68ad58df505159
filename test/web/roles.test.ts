/** The dashboard for people who may do little, and for those who see it in the colours of their system. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasChromium, openChromium, visit } from '../support/chromium.ts'
import { places } from '../../web/src/parts/places.ts'
import { openShop, type Shop } from '../support/web-fixtures.ts'

const screens = places.flatMap(({ views }) => views.map(({ href }) => href))

describe.skipIf(!hasChromium)('people with few rights', { timeout: 360_000 }, () => {
  let browser: Browser
  let shop: Shop
  let asked: { approvalId: string; generationId: string }

  beforeAll(async () => {
    browser = await openChromium()
    shop = await openShop()
    asked = await shop.ask('R-1')
  })
  afterAll(async () => {
    await browser?.close()
    await shop?.close()
  })

  /** A key of these actions alone. */
  const keyOf = async (name: string, action: string[]) => {
    const policy = {
      statement: [{ effect: 'Allow', action: [...action, 'sessions:Start'], resource: ['*'] }],
    }
    const made = await shop.h.mutate('createApiKey', { name, policy }, 'secret')
    return made['secret'] as string
  }

  test('a viewer reads a question and the reason why no button decides it; no screen is faulty', async () => {
    const { secret } = await shop.person('Vera', 'VIEWER')
    const tab = await visit(browser, shop.h, `/approvals/${asked.approvalId}`, { key: secret })
    const { page } = tab
    await page.getByText('R-1').first().waitFor()
    await page.getByText('may not', { exact: false }).first().waitFor()
    expect(await page.getByRole('button', { name: /^(Approve|Reject)/ }).count()).toBe(0)
    // Keys decide no more than buttons.
    await page.keyboard.press('Control+Enter')
    await page.keyboard.press('Control+Backspace')
    await tab.check()
    for (const screen of screens) {
      await page.goto(shop.h.url + screen)
      await page.locator('main h1, main h2').first().waitFor()
      await page.locator('.skeleton').first().waitFor({ state: 'detached' })
      expect(tab.faults, screen).toEqual([])
    }
    expect(await shop.approval(asked.approvalId)).toMatchObject({ status: 'PENDING', votes: [] })
    await tab.close()
  })

  test('who may only see approvals gets the inbox, and a sentence on every other screen', async () => {
    const key = await keyOf('only approvals', ['approvals:*'])
    const tab = await visit(browser, shop.h, '/approvals', { key })
    const { page } = tab
    // Without the right to follow events the page reads from time to time.
    await page.getByText('R-1').first().waitFor()
    await page.clock.install()
    await page.goto(`${shop.h.url}/approvals`)
    await page.getByText('R-1').first().waitFor()
    await page.clock.runFor(2_000)
    expect(await page.getByText('Reconnecting').count()).toBe(0)
    await page.clock.runFor(6_000)
    // Everybody sees the sessions of their own.
    for (const screen of screens.filter((one) => !/^.(approvals|people.sessions)/.test(one))) {
      await page.goto(shop.h.url + screen)
      await expect
        .poll(() => page.locator('main').innerText(), { message: screen })
        .toMatch(/may not|You need the permission/)
      expect(tab.faults, screen).toEqual([])
    }
    await tab.check()
    await tab.close()
  })

  test('who cannot hear of questions is not told to hear of them, and a switch is of one person', async () => {
    const key = await keyOf('hears nothing', ['approvals:*'])
    const open = async (given?: string) => {
      const tab = await visit(browser, shop.h, '/approvals', given === undefined ? {} : { key: given })
      await tab.context.grantPermissions(['notifications'])
      await tab.page.getByText('R-1').first().waitFor()
      return { ...tab, bell: tab.page.getByRole('button', { name: 'Notifications' }) }
    }
    const deaf = await open(key)
    await deaf.bell.click()
    await deaf.page.getByText('You need the permission events:Subscribe').waitFor()
    expect(await deaf.bell.getAttribute('aria-pressed')).toBe('false')
    await deaf.close()

    const { page, bell, close } = await open()
    await bell.click()
    await bell.and(page.locator('[aria-pressed=true]')).waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('API key').fill((await shop.person('Next')).secret)
    await page.keyboard.press('Enter')
    await bell.waitFor()
    expect(await bell.getAttribute('aria-pressed')).toBe('false')
    await close()
  })

  test('with forced colours every button has an edge, and states are told by shape and word', async () => {
    const tab = await visit(browser, shop.h, `/approvals/${asked.approvalId}`)
    const { page } = tab
    await page.emulateMedia({ forcedColors: 'active' })
    const approve = page.getByRole('button', { name: /^Approve/ })
    await approve.waitFor()
    const edges = await page.locator('main button:visible').evaluateAll((buttons) =>
      buttons
        .filter((button) => {
          const { getComputedStyle } = globalThis as unknown as {
            getComputedStyle(element: unknown): { borderTopStyle: string; borderTopWidth: string }
          }
          const style = getComputedStyle(button)
          return style.borderTopStyle === 'none' || style.borderTopWidth === '0px'
        })
        .map((button) => button.textContent),
    )
    expect(edges).toEqual([])
    await page.goto(`${shop.h.url}/runs/${asked.generationId}?view=timeline`)
    await page.locator('.screen-head [role=status]').getByText('waits for approval').waitFor()
    await page.emulateMedia({ forcedColors: 'active' })
    const bars = page.locator('.timeline svg rect, .timeline .bar')
    await bars.first().waitFor()
    await tab.check()
    await tab.close()
  })
})
