/** A person logs in for calls of their own in a real browser: on the page of the server, and for a call that waits. */
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addProgram, mutateFor } from '../support/acts-for.ts'
import { hasChromium, openChromium, visit } from '../support/chromium.ts'
import { adminKey, openHarness, type Harness } from '../support/harness.ts'
import { oidcAt } from '../support/identity-provider.ts'
import { addPerson, call, openOwnLogins, type OwnLogins } from '../support/own-logins.ts'
import { hasPeers } from '../support/peers.ts'
import {
  addSignedIn,
  begin,
  openExchanging,
  saveExchangeSecrets,
  signOut,
  startExchangingProvider,
} from '../support/signed-in.ts'
import { freePort } from '../support/upstream-servers.ts'

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

  test('says for whom a program has asked', async () => {
    const grace = await addPerson(h, 'Grace')
    const program = await addProgram(h)
    const input = { toolId: logins.toolId, action: 'echo', arguments: { message: 'for Grace' } }
    const made = await mutateFor(h, program, grace, 'callTool', input, 'toolCall { approval { id } }')
    const tab = await visit(browser, h, `/approvals/${made['toolCall'].approval.id}`)
    const who = tab.page.locator('.question-who')
    await who.waitFor()
    expect(await who.innerText()).toMatch(/program\s[^>]*\sfor\s+Grace/)
    await tab.check()
    await tab.close()
  })
})

describe.skipIf(!hasChromium || !hasPeers)('a sign-in that is exchanged', { timeout: 180_000 }, () => {
  test('lets a call go on that waits for it, from its question', async () => {
    const port = await freePort()
    const browser = await openChromium()
    const h = await openHarness({ oidc: oidcAt(port) })
    const provider = await startExchangingProvider(port, [h.url])
    await saveExchangeSecrets(h)
    const tool = await openExchanging(h, provider.issuer)
    try {
      const other = await addSignedIn(h, provider, 'grace')
      await begin(h, tool, other)
      const ada = await addSignedIn(h, provider, 'ada')
      await signOut(ada)
      const waits = await call(h, tool, ada, 'from the page')
      expect(waits.status).toBe('AWAITING_APPROVAL')
      provider.person = { ...provider.person, sub: 'ada' }
      const tab = await visit(browser, h, `/approvals/${waits.approval.id}`, { key: ada.key })
      const { page } = tab
      await page.getByText('This call runs with your own login').waitFor()
      await tab.check()
      // The identity provider signs in without asking, and the browser is back on this page.
      await page.getByRole('button', { name: 'Sign in to go on', exact: true }).click()
      await page
        .getByRole('status', { name: 'Outcome' })
        .getByText('approved', { exact: true })
        .first()
        .waitFor()
      await expect.poll(() => tool.calls).toMatchObject([{ account: 'ada', message: 'from the page' }])
      await page.goto(`${h.url}/upstreams/${tool.toolId}`)
      await page.getByText(/^You logged in/).waitFor()
      await page.getByRole('button', { name: 'Log in again' }).click()
      await tab.close()
    } finally {
      await browser.close()
      await tool.close()
      await h.stop()
      await provider.close()
    }
  })
})
