/** Where everything is: the places and their screens, the addresses of the release before, and what each role finds there. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { formerTabs, placeAt, places } from '../../web/src/parts/places.ts'
import { hasChromium, openChromium, visit } from '../support/chromium.ts'
import { openShop, type Shop } from '../support/web-fixtures.ts'

const views = places.flatMap((place) => place.views.map((view) => ({ ...view, place: place.name })))

describe('an address', () => {
  test('is in one place and view, and a longer one is not that of a shorter', () => {
    for (const { href, name, place } of views) {
      const [path, query] = href.split('?')
      const at = placeAt(path!, query ?? '')
      expect([at?.place.name, at?.view?.name]).toEqual([place, name])
    }
    expect(placeAt('/settings/slack', '')?.view?.href).toBe('/settings/slack')
    expect(placeAt('/tools/tool_1', 'view=decided')?.view?.href).toBe('/tools')
    expect(placeAt('/upstreams/tool_1', '')).toMatchObject({ place: { name: 'Catalogue' }, view: null })
    expect(placeAt('/nowhere', '')).toBeNull()
    expect(placeAt('/toolshed', '')).toBeNull()
  })
})

/** Buttons that only show, sort, copy or fill in what is not sent. */
const harmless =
  /^(Last |Between|Saved views$|Compare with …$|Refresh$|Back to the list|Not grouped|By |Export |Details$|All$|http$|client$|mcp$|platform$|Hide$|As JSON|Empty text|Preview on|Paste a curl|Import a server|Rows$|JSON Schema|Remove (order_id|amount|card|note|send_refund)|Add an argument|From an example|Decide …|Zoom in|(Show s|S)tep \d|send_refund$|shop assistant$|$)|copy the id$/

describe.skipIf(!hasChromium)('the places of the dashboard', { timeout: 360_000 }, () => {
  let browser: Browser
  let shop: Shop

  beforeAll(async () => {
    browser = await openChromium()
    shop = await openShop()
    await shop.ask('P-1')
  })
  afterAll(async () => {
    await browser?.close()
    await shop?.close()
  })

  test('have the screens of the release before, with what their address narrowed them to', async () => {
    const { webhook } = await shop.h.mutate(
      'createWebhook',
      { url: `${shop.till.url}/hook` },
      'webhook { id }',
    )
    const tab = await visit(browser, shop.h, '/approvals')
    const { page } = tab
    for (const [from, to] of [
      ...Object.entries(formerTabs).map(([name, at]) => [`/operations/${name}`, at]),
      ['/operations', '/unknown'],
      ['/operations/audit?action=tools:Call', '/audit?action=tools:Call'],
      [`/operations/webhooks/${webhook.id}`, `/settings/webhooks/${webhook.id}`],
      ['/upstreams', '/tools?kind=MCP'],
    ] as [string, string][]) {
      await page.goto(shop.h.url + from)
      await page.waitForURL(shop.h.url + to)
      await page.locator('#content h1').first().waitFor({ state: 'attached' })
      expect(await page.getByText('Page not found').count(), from).toBe(0)
    }
    await page.goto(`${shop.h.url}/operations/coffee`)
    await page.getByText('Page not found').waitFor()
    expect(tab.faults).toEqual([])
    await tab.close()
  })

  test('begin with the figures, which lead to what waits; who may not see those begins in the inbox', async () => {
    const tab = await visit(browser, shop.h, '/')
    const { page } = tab
    await page.waitForURL('**/insights')
    const waiting = page.locator('.insights-now > div').filter({ hasText: 'Waiting for approval' })
    await waiting.getByRole('link', { name: '1', exact: true }).waitFor()
    await tab.check()
    await waiting.getByRole('link', { name: /oldest/ }).click()
    await page.waitForURL('**/approvals/apr_*')
    await page.goto(`${shop.h.url}/insights?from=2020-01-01T00:00&to=2020-01-03T00:00`)
    await page.getByText('Nothing ran in this period').waitFor()
    // A range that ends before it begins is empty.
    await page.goto(`${shop.h.url}/insights?from=2021-01-01T00:00&to=2020-01-03T00:00`)
    await page.getByText('Nothing ran in this period').waitFor()
    expect(tab.faults).toEqual([])
    await tab.close()
    const { secret } = await shop.person('Carl', 'CALLER')
    const other = await visit(browser, shop.h, '/', { key: secret })
    await other.page.waitForURL('**/approvals')
    const nav = other.page.getByRole('navigation', { name: 'Main' })
    await nav.getByRole('link', { name: 'Insights' }).waitFor({ state: 'detached' })
    expect(await nav.getByRole('link').allInnerTexts()).toEqual([
      'Inbox',
      'Activity',
      'Catalogue',
      'People',
      'Settings',
    ])
    await other.close()
  })

  test('let a viewer press nothing that the server refuses', async () => {
    const { secret } = await shop.person('Vera', 'VIEWER')
    const tab = await visit(browser, shop.h, '/approvals', { key: secret })
    const { page } = tab
    const found: string[] = []
    const { data } = await shop.h.gql('{ generations(first: 1) { nodes { id } } }')
    const own = [
      ...['try', 'gate', 'presets', 'calls', 'agents', 'definition', 'versions'].map(
        (name) => `/tools/${shop.refundId}?tab=${name}`,
      ),
      ...['try', 'surface', 'triggers', 'definition'].map((name) => `/agents/${shop.agentId}?tab=${name}`),
      `/runs/${data['generations'].nodes[0].id}`,
      '/tools/new',
      '/agents/new',
      '/upstreams/new',
      '/tools/import',
    ]
    for (const href of [...views.map((one) => one.href), ...own]) {
      await page.goto(shop.h.url + href)
      await page.locator('#content h1').first().waitFor({ state: 'attached' })
      await page.waitForFunction(() => !(globalThis as any).document.querySelector('.skeleton'))
      const names = await page
        .locator('main button:enabled')
        .evaluateAll((buttons: any[]) =>
          buttons.map((one) => one.getAttribute('aria-label') ?? one.innerText.trim()),
        )
      found.push(...names.filter((name) => !harmless.test(name)).map((name) => `${href}: ${name}`))
    }
    expect(found).toEqual([])
    expect(tab.faults).toEqual([])
    await tab.close()
  })
})
