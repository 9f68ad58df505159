/** A person connects an upstream in a real browser: the page, the confirmation, a real authorization server, and back. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  protect,
  startAuthorizationServer,
  type AuthorizationServer,
} from '../support/authorization-server.ts'
import { hasChromium, openChromium, visit } from '../support/chromium.ts'
import { openHarness, type Harness } from '../support/harness.ts'
import { hasPeers } from '../support/peers.ts'
import { startModern, type ModernServer } from '../support/upstream-servers.ts'

describe.skipIf(!hasChromium || !hasPeers)('a login at an upstream', { timeout: 180_000 }, () => {
  let browser: Browser
  let h: Harness
  let issuer: AuthorizationServer
  let server: ModernServer
  let toolId: string

  beforeAll(async () => {
    browser = await openChromium()
    h = await openHarness()
    issuer = await startAuthorizationServer(`${h.url}/oauth/callback`)
    server = await startModern()
    server.tools.set('send', {
      tool: { name: 'send', description: 'Sends a letter.', inputSchema: { type: 'object' } },
      run: () => ({ content: [] }),
    })
    protect(server, issuer.issuer)
    const config = { mcp: { url: server.url } }
    toolId = (await h.mutate('createTool', { name: 'mailbox', config }, 'tool { id }'))['tool'].id
  })
  afterAll(async () => {
    await browser?.close()
    await h?.stop()
    await server?.kill()
    await issuer?.close()
  })

  const isGranted = () => issuer.granted.some(({ grant_type }) => grant_type === 'authorization_code')

  test('goes through the confirmation and returns; the page that was open hears of it without a reload', async () => {
    const tab = await visit(browser, h, `/upstreams/${toolId}`)
    const { page, context } = tab
    const status = page.locator('.screen-head')
    await status.getByText('needs a sign-in').waitFor()
    await page.evaluate(() => void ((globalThis as { stays?: boolean }).stays = true))
    await tab.check()
    const opened = context.waitForEvent('page')
    await page.getByRole('button', { name: 'Sign in there' }).click()
    const login = await opened
    await login.getByRole('heading', { name: 'Connect your account?' }).waitFor()
    // It cannot reach the dashboard, and nothing has happened before it is confirmed.
    expect(await login.evaluate(() => (globalThis as { opener?: unknown }).opener)).toBeNull()
    expect(isGranted()).toBe(false)
    await login.getByRole('button', { name: 'Log in and connect' }).click()
    await login.getByText('The tool is connected. You can close this window.').waitFor()
    expect(new URL(login.url()).origin).toBe(h.url)
    expect(isGranted()).toBe(true)
    await status.getByText('connected', { exact: true }).waitFor()
    await page.getByRole('region', { name: 'Tools of the server' }).waitFor()
    expect(await page.evaluate(() => (globalThis as { stays?: boolean }).stays)).toBe(true)
    await tab.check()
    await tab.close()
  })

  test('that another person started is confirmed by nobody who only opens the link, and ends', async () => {
    const { url } = await h.mutate('connectUpstream', { toolId }, 'url')
    const visitor = await visit(browser, { url: h.url }, url.slice(h.url.length), { key: null })
    await visitor.page.getByRole('button', { name: 'Log in and connect' }).waitFor()
    const before = issuer.requests.length
    // The other browser is sent to where the login would go on, without having confirmed anything.
    const stranger = await browser.newContext()
    const page = await stranger.newPage()
    const state = new URL(url).searchParams.get('state')!
    await page.goto(`${h.url}/oauth/callback?code=stolen&state=${state}`)
    expect(await page.locator('body').innerText()).not.toContain('The tool is connected')
    expect(issuer.requests.slice(before).filter((line) => line === 'POST /token')).toEqual([])
    await stranger.close()
    await visitor.close()
  })
})
