/** A person logs in for calls of their own in a real browser: on the page of the server, and for a call that waits. */
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasChromium, openChromium, visit } from '../support/chromium.ts'
import { adminKey, openHarness, type Harness } from '../support/harness.ts'
import { call, openOwnLogins, type OwnLogins } from '../support/own-logins.ts'
import { hasPeers } from '../support/peers.ts'

describe.skipIf(!hasChromium || !hasPeers)('a login of one person', { timeout: 180_000 }, () => {
  let browser: Browser
  let h: Harness
  let logins: OwnLogins

  beforeAll(async () => {
    browser = await openChromium()
    h = await openHarness()
    logins = await openOwnLogins(h)
  })
  afterAll(async () => {
    await browser?.close()
    await logins?.close()
    await h?.stop()
  })

  /** Presses the button, and confirms in the window that opens. */
  async function confirm(page: Page, context: BrowserContext, name: string) {
    const opened = context.waitForEvent('page')
    await page.getByRole('button', { name, exact: true }).click()
    const login = await opened
    await login.getByText('Calls of this tool that are made for you').waitFor()
    await login.getByRole('button', { name: 'Log in and connect' }).click()
    await login.getByText('The tool is connected. You can close this window.').waitFor()
    await login.close()
  }

  test('is made and ended on the page of the server', async () => {
    const tab = await visit(browser, h, `/upstreams/${logins.toolId}`)
    const { page, context } = tab
    await page.getByText('You are not logged in.').waitFor()
    await tab.check()
    await confirm(page, context, 'Log in')
    await page.evaluate(() => window.dispatchEvent(new Event('focus')))
    await page.getByText(/^You logged in/).waitFor()
    await page.getByText('1 person is logged in.').waitFor()
    await page.getByRole('button', { name: 'End my login' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'End my login' }).click()
    await page.getByText('You are not logged in.').waitFor()
    await tab.check()
    await tab.close()
  })

  test('lets a call go on that waits for it, from its question', async () => {
    const waits = await call(h, logins, { key: adminKey }, 'from the page')
    expect(waits.status).toBe('AWAITING_APPROVAL')
    const tab = await visit(browser, h, `/approvals/${waits.approval.id}`)
    const { page, context } = tab
    await page.getByText('This call runs with your own login').waitFor()
    await tab.check()
    await confirm(page, context, 'Sign in to go on')
    await page
      .getByRole('status', { name: 'Outcome' })
      .getByText('approved', { exact: true })
      .first()
      .waitFor()
    await expect.poll(() => logins.calls).toMatchObject([{ account: 'ada', message: 'from the page' }])
    await tab.close()
  })
})
