/** What the palette does by name, the first wrong field of a form, and the news of what was done. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasChromium, openChromium, visit } from '../support/chromium.ts'
import { openShop, type Shop } from '../support/web-fixtures.ts'

describe.skipIf(!hasChromium)('acts by name, and what is said about them', { timeout: 180_000 }, () => {
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

  const type = async (page: Page, text: string) => {
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Screen, action, tool, agent or id' }).waitFor()
    await page.keyboard.type(text)
  }
  const option = (page: Page, name: string) => page.getByRole('option', { name })

  test('the palette invites, creates, pauses, changes the colours and finds by what people call it', async () => {
    const tab = await visit(browser, shop.h, '/approvals')
    const { page } = tab
    await page.getByText('Nothing').first().waitFor()
    await type(page, 'invite')
    await page.keyboard.press('Enter')
    const invitation = page.getByRole('dialog', { name: 'Invite a person' })
    await invitation.waitFor()
    expect(new URL(page.url()).pathname).toBe('/people')
    await tab.check()
    await page.keyboard.press('Escape')
    await invitation.waitFor({ state: 'detached' })
    expect(new URL(page.url()).search).toBe('')
    for (const [text, name, path] of [
      ['new tool', 'New tool', '/tools/new'],
      ['cron', 'Schedule runs', '/agents'],
      ['cost', 'Insights', '/insights'],
      ['legal hold', 'Retention', '/settings/retention'],
    ] as const) {
      await type(page, text)
      await option(page, name).first().waitFor()
      await page.keyboard.press('Enter')
      await page.waitForURL(`**${path}`)
    }
    await type(page, 'colours: dark')
    await page.keyboard.press('Enter')
    await expect.poll(() => page.evaluate(() => document.documentElement.dataset['theme'])).toBe('dark')
    await type(page, 'pause')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Pause everything?' }).waitFor()
    await page.keyboard.press('Control+Enter')
    await page
      .getByRole('region', { name: 'What is paused' })
      .getByRole('button', { name: /^Resume/ })
      .click()
    await page.getByRole('region', { name: 'What is paused' }).waitFor({ state: 'detached' })
    await tab.close()
  })

  test('what waits is found by what it says', async () => {
    const asked = await shop.ask('PAL-77')
    const tab = await visit(browser, shop.h, '/tools')
    await tab.page.getByRole('heading', { name: 'Tools' }).waitFor()
    await type(tab.page, 'pal-77')
    await tab.page.getByRole('option', { name: /waiting$/ }).waitFor()
    await tab.page.keyboard.press('Enter')
    await tab.page.waitForURL(`**/approvals/${asked.approvalId}`)
    await tab.close()
    await shop.settle()
  })

  test('nothing is offered that would be refused, nor opened by its address', async () => {
    const { secret } = await shop.person('Vera', 'VIEWER')
    const tab = await visit(browser, shop.h, '/tools', { key: secret })
    const { page } = tab
    await page.getByRole('heading', { name: 'Tools' }).waitFor()
    for (const text of ['invite', 'pause', 'new tool', 'new webhook']) {
      await type(page, text)
      await page.getByRole('option', { name: `Runs with “${text}”` }).waitFor()
      expect(await page.getByRole('option', { name: /action$/ }).count(), text).toBe(0)
      await page.keyboard.press('Escape')
    }
    await page.goto(`${shop.h.url}/people?new=key`)
    await page.getByRole('button', { name: 'Invite a person' }).waitFor()
    await expect.poll(() => page.getByRole('button', { name: 'Invite a person' }).isDisabled()).toBe(true)
    expect(await page.getByRole('dialog').count()).toBe(0)
    await tab.close()
  })

  test('a refused form shows its first wrong field', async () => {
    const tab = await visit(browser, shop.h, '/settings/providers?new=provider')
    const { page } = tab
    const dialog = page.getByRole('dialog', { name: 'New provider' })
    await dialog.getByLabel('Name', { exact: true }).fill('own')
    await dialog.getByLabel('Default model').fill('small')
    await dialog.getByLabel('Base URL').fill('not a URL')
    await dialog.getByLabel('Name of the secret').fill('no such secret!')
    await page.keyboard.press('Control+Enter')
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.getAttribute('aria-invalid')))
      .toBe('true')
    await page.keyboard.press('Control+a')
    await page.keyboard.type('https://models.example.com')
    expect(await dialog.getByLabel('Base URL').inputValue()).toBe('https://models.example.com')
    await tab.check()
    await tab.close()
  })

  test('news names what was decided, and goes with its screen', async () => {
    const asked = await shop.ask('NEWS-1', 284.5)
    const tab = await visit(browser, shop.h, `/approvals/${asked.approvalId}`)
    const { page } = tab
    const news = page.locator('.toast')
    // Armed, as a reviewer sees it after a moment.
    await page.locator('.danger:enabled').waitFor()
    await page.keyboard.press('Control+Enter')
    await news.getByText(/^Approved: .*284\.5.*NEWS-1|^Approved: .*NEWS-1.*284\.5/).waitFor()
    // Whoever looks at it keeps it.
    await news.hover()
    await page.keyboard.press('g')
    await page.keyboard.press('t')
    await page.waitForURL('**/tools')
    await news.waitFor({ state: 'detached' })
    await tab.close()
  })
})
