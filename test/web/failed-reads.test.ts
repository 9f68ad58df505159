/**
 * A page whose read failed, hangs or is slow, or whose socket is gone, is right again without a reload; a change whose answer
 * is lost is not called undone.
 */
import type { Browser, Page, Route } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasChromium, openChromium, visit } from '../support/chromium.ts'
import { openShop, type Shop } from '../support/web-fixtures.ts'

/** What the browser says about the requests that these tests break. */
const expected = /ERR_FAILED|503|WebSocket/

describe.skipIf(!hasChromium)('on the page', { timeout: 270_000 }, () => {
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

  describe('a read that does not come', () => {
    /** Does this with each request of the query with this name, in the order in which they come. */
    const onRequest = (page: Page, name: string, act: (route: Route, count: number) => Promise<void>) => {
      let count = 0
      return page.route('**/graphql', (route) =>
        route.request().postData()?.includes(`query ${name}`) ? act(route, ++count) : route.continue(),
      )
    }
    const mark = (page: Page) => page.evaluate(() => void ((globalThis as { stays?: boolean }).stays = true))
    const isMarked = (page: Page) => page.evaluate(() => (globalThis as { stays?: boolean }).stays)

    test('after an event is tried again: the inbox shows what came, and says meanwhile that it is old', async () => {
      await shop.ask('first')
      const tab = await visit(browser, shop.h, '/approvals', { expected })
      const { page } = tab
      await page.getByText('first').first().waitFor()
      await mark(page)
      let isBroken = true
      await onRequest(page, 'Pending', (route) => (isBroken ? route.abort('failed') : route.continue()))
      await shop.ask('second')
      await page.locator('.inbox-list').getByText('The server cannot be reached').waitFor()
      isBroken = false
      await page.getByText('second').first().waitFor()
      await page
        .locator('.inbox-list')
        .getByText('The server cannot be reached')
        .waitFor({ state: 'detached' })
      expect(await isMarked(page)).toBe(true)
      expect(tab.faults).toEqual([])
      await tab.close()
    })

    test('about the question on the screen is tried again: it does not stay pending when it was decided', async () => {
      const { approvalId } = await shop.ask('decided elsewhere')
      const tab = await visit(browser, shop.h, `/approvals/${approvalId}`, { expected })
      const { page } = tab
      await page.locator('.danger:enabled').waitFor()
      let isBroken = true
      await onRequest(page, 'QuestionById', (route) =>
        isBroken
          ? route.fulfill({
              status: 503,
              json: { errors: [{ message: 'Later.', extensions: { code: 'UNAVAILABLE' } }] },
            })
          : route.continue(),
      )
      await shop.h.mutate('decideApproval', { approvalId, verdict: 'REJECT' }, 'approval { id }')
      await page.locator('.inbox-detail').getByText('Later.').waitFor()
      isBroken = false
      await page.getByRole('status', { name: 'Outcome' }).getByText('rejected').waitFor()
      expect(tab.faults).toEqual([])
      await tab.close()
    })

    test('of what a person may do is tried again: the buttons come', async () => {
      const tab = await visit(browser, shop.h, '/audit', { expected })
      const { page } = tab
      await onRequest(page, 'ViewerRights', (route, count) =>
        count <= 2 ? route.abort('failed') : route.continue(),
      )
      await page.goto(`${shop.h.url}/settings/retention`)
      await page.getByRole('button', { name: 'Place a hold' }).waitFor()
      expect(tab.faults).toEqual([])
      await tab.close()
    })

    test('of names is tried again: the audit says what a call does', async () => {
      await shop.ask('A-77')
      await shop.settle()
      const tab = await visit(browser, shop.h, '/people/programs', { expected })
      const { page } = tab
      await onRequest(page, 'Things', (route, count) =>
        count === 1 ? route.abort('failed') : route.continue(),
      )
      await page.goto(`${shop.h.url}/audit?on=tool/${shop.refundId}`)
      await page.getByRole('region', { name: 'Audit entries' }).getByText('A-77').first().waitFor()
      expect(tab.faults).toEqual([])
      await tab.close()
    })

    test('about a question that nobody looks at is tried again: whoever is away hears of it', async () => {
      const tab = await visit(browser, shop.h, '/people/programs', { expected })
      const { page, context } = tab
      await context.grantPermissions(['notifications'])
      const told: string[] = []
      await page.exposeFunction('tell', (text: string) => void told.push(text))
      await page.addInitScript(`
      document.hasFocus = () => false
      window.Notification = class extends EventTarget {
        static requestPermission = async () => 'granted'
        constructor(title, { body }) { super(); window.tell(title + ': ' + body) }
      }`)
      await onRequest(page, 'AlertQuestion', (route, count) =>
        count === 1 ? route.abort('failed') : route.continue(),
      )
      await page.goto(`${shop.h.url}/people/programs`)
      await page.getByRole('button', { name: 'Notifications' }).click()
      await expect.poll(() => told.length).toBe(1)
      await shop.ask('while away')
      await expect.poll(() => told).toContain('Waits for approval: shop assistant: send_refund')
      expect(tab.faults).toEqual([])
      await tab.close()
    })

    test('about the session is tried again: who is signed in does not have to sign in', async () => {
      const tab = await visit(browser, shop.h, '/people/programs', { expected })
      const { page } = tab
      let reads = 0
      await page.route('**/session', (route) => (++reads === 1 ? route.abort('failed') : route.continue()))
      await page.goto(`${shop.h.url}/people/programs`)
      await page.getByText('The server cannot be reached.').waitFor()
      await page.getByRole('link', { name: 'Inbox' }).waitFor()
      expect(tab.faults).toEqual([])
      await tab.close()
    })

    test('of the place in the log is tried again where the server has too much to do', async () => {
      const tab = await visit(browser, shop.h, '/people/programs', { expected })
      const { page } = tab
      let reads = 0
      await onRequest(page, 'FeedCursor', (route, count) =>
        count === 1
          ? route.fulfill({
              status: 503,
              json: { errors: [{ message: 'Later.', extensions: { code: 'UNAVAILABLE' } }] },
            })
          : route.continue(),
      )
      page.on('request', (request) => (reads += request.postData()?.includes('query FeedCursor') ? 1 : 0))
      // The page before may open its own at this moment.
      const subscribed = page.waitForEvent('websocket', () => reads > 0)
      await page.goto(`${shop.h.url}/approvals`)
      await subscribed
      expect(reads).toBe(2)
      expect(tab.faults).toEqual([])
      await tab.close()
    })

    test('and hangs behind a connection that is dead is given up', async () => {
      const tab = await visit(browser, shop.h, '/people/programs', { expected })
      const { page } = tab
      await page.clock.install()
      await page.goto(`${shop.h.url}/approvals`)
      await page.locator('.question-row, .empty').first().waitFor()
      const hung = new Promise<void>((resolve) => {
        void onRequest(page, 'Pending', async (route, count) => (count === 1 ? resolve() : route.continue()))
      })
      await shop.ask('before the dead read')
      await hung
      await shop.ask('after the dead read')
      await page.clock.fastForward('01:10')
      await page.getByText('after the dead read').first().waitFor()
      expect(tab.faults).toEqual([])
      await tab.close()
    })

    test('as fast as it is asked for comes all the same', async () => {
      await shop.h.mutate('setRetention', { runDays: 3_000 }, 'retention { version }')
      const tab = await visit(browser, shop.h, '/people/programs', { expected })
      const { page } = tab
      await page.clock.install()
      await page.goto(`${shop.h.url}/settings/retention`)
      await page.getByText('The last sweep ended', { exact: false }).waitFor()
      const cut: string[] = []
      page.on('requestfailed', (request) => {
        const text = request.postData() ?? ''
        if (text.includes('query Retention(')) cut.push(text)
      })
      let release = () => {}
      const held = new Promise<void>((resolve) => (release = resolve))
      const arrived = new Promise<void>((resolve) => {
        // As long as a sweep goes on.
        void onRequest(page, 'Retention(', async (route, count) => {
          if (count === 2) {
            resolve()
            await held
          }
          const response = await route.fetch()
          const json = (await response.json()) as any
          json.data.retention.sweeping = count < 3
          await route.fulfill({ response, json }).catch(() => {})
        })
      })
      await shop.h.mutate('setRetention', { runDays: 2_999 }, 'retention { version }')
      await page.getByText('A sweep is under way.').waitFor()
      await page.clock.runFor(2_500)
      await arrived
      await page.clock.runFor(10_000)
      release()
      await expect
        .poll(() => page.clock.runFor(2_500).then(() => page.getByText('A sweep is under way.').count()))
        .toBe(0)
      expect(cut).toEqual([])
      expect(tab.faults).toEqual([])
      await tab.close()
    })
  })

  describe('a change whose answer does not come', () => {
    test.each([
      ['is cut off', 2500, (route: Route) => route.abort('failed')],
      [
        'is that of a proxy',
        2400,
        (route: Route) => route.fulfill({ status: 504, body: '<h1>Time-out</h1>' }),
      ],
    ])('because it %s may have been made', async (_how, days, lose) => {
      const tab = await visit(browser, shop.h, '/settings/retention', { expected: /ERR_FAILED|504/ })
      const { page } = tab
      await page.getByRole('button', { name: 'Place a hold' }).waitFor()
      await page.route('**/graphql', async (route) => {
        if (!route.request().postData()?.includes('setRetention(')) return route.continue()
        await route.fetch()
        await lose(route)
      })
      await page.getByLabel('Finished runs and calls, in days').fill(String(days))
      const save = { name: 'Save the retention' }
      await page.getByRole('button', save).click()
      await page.getByRole('dialog').getByRole('button', save).click()
      await page.getByText('No answer came, so this may have been done.').first().waitFor()
      const { data } = await shop.h.gql('{ retention { runDays } }')
      expect(data['retention']).toEqual({ runDays: days })
      expect(tab.faults).toEqual([])
      await tab.close()
    })
  })

  describe('a socket that does not come back by itself', () => {
    test.each([4500, 4429])('after the code %i is opened again, and no event is missed', async (code) => {
      const tab = await visit(browser, shop.h, '/people/programs', { expected })
      const { page, context } = tab
      let kill = () => {}
      await context.routeWebSocket('**/graphql', (ws) => {
        const server = ws.connectToServer()
        kill = () => void ws.close({ code })
        ws.onMessage((message) => server.send(message))
        server.onMessage((message) => ws.send(message))
      })
      await page.goto(`${shop.h.url}/approvals`)
      await shop.ask(`before-${code}`)
      await page.getByText(`before-${code}`).first().waitFor()
      kill()
      await shop.ask(`during-${code}`)
      await page.getByText(`during-${code}`).first().waitFor()
      await shop.ask(`after-${code}`)
      await page.getByText(`after-${code}`).first().waitFor()
      expect(tab.faults).toEqual([])
      await tab.close()
    })

    test('because it went silent without an end is given up, and no event is missed', async () => {
      const tab = await visit(browser, shop.h, '/people/programs', { expected })
      const { page, context } = tab
      let sockets = 0
      let isDead = false
      await context.routeWebSocket('**/graphql', (ws) => {
        const number = ++sockets
        const isSilent = () => number === 1 && isDead
        const server = ws.connectToServer()
        ws.onMessage((message) => void (isSilent() || server.send(message)))
        server.onMessage((message) => void (isSilent() || ws.send(message)))
      })
      await page.clock.install()
      await page.goto(`${shop.h.url}/approvals`)
      await shop.ask('before-silence')
      await page.getByText('before-silence').first().waitFor()
      isDead = true
      await shop.ask('in-silence')
      await expect.poll(() => page.clock.fastForward(11_000).then(() => sockets)).toBeGreaterThan(1)
      await page.getByText('in-silence').first().waitFor()
      expect(tab.faults).toEqual([])
      await tab.close()
    })
  })
})
