/** The inbox with hundreds of requests: filters, orders and groups of an address, and one decision about many of them. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasChromium, openChromium, visit } from '../support/chromium.ts'
import { objectSchema } from '../support/fixtures.ts'
import { openShop, type Shop } from '../support/web-fixtures.ts'

type Told = { told?: string }

/** Keeps what toasts say, which stand for a few seconds only. */
function keepToasts(): void {
  const keeper = globalThis as Told
  const toasts = document.querySelector('.toasts')!
  keeper.told = ''
  new MutationObserver(() => (keeper.told += toasts.textContent)).observe(toasts, {
    childList: true,
    subtree: true,
  })
}

describe.skipIf(!hasChromium)('what waits, at scale', { timeout: 360_000 }, () => {
  let browser: Browser
  let shop: Shop

  /** 300 requests: 50 cancellations by Ann, 38 of them for one reason, 200 refunds, 46 mails by Ben and 4 runs. */
  beforeAll(async () => {
    browser = await openChromium()
    shop = await openShop()
    const ann = await shop.person('Ann', 'ADMIN')
    const ben = await shop.person('Ben', 'ADMIN')
    const cancel = await tool('cancel_order', {
      order_id: { type: 'string' },
      reason: { type: 'string', title: 'Reason' },
    })
    const mail = await tool('send_mail', { to: { type: 'string' } })
    const reason = (n: number) => (n < 38 ? 'customer moved' : 'too late')
    await Promise.all(Array.from({ length: 4 }, (_, n) => shop.ask(`R-${n}`, 250)))
    await calls(50, cancel, (n) => ({ order_id: `C-${n}`, reason: reason(n) }), ann.secret)
    await calls(200, shop.refundId, (n) => ({ order_id: `M-${n}`, amount: n + 1 }))
    await calls(46, mail, (n) => ({ to: `user-${n}` }), ben.secret)
  })
  afterAll(async () => {
    await browser?.close()
    await shop?.close()
  })

  const tool = async (name: string, properties: Record<string, object>) => {
    const inputSchema = objectSchema(properties, Object.keys(properties))
    const config = { http: { url: shop.till.url, inputSchema } }
    const gate = { mode: 'ALWAYS', timeoutSeconds: 86_400 }
    const made = await shop.h.mutate('createTool', { name, gate, config }, 'tool { id }')
    return made['tool'].id as string
  }
  const calls = async (count: number, toolId: string, of: (n: number) => object, secret?: string) => {
    for (let n = 0; n < count; n += 25)
      await Promise.all(
        Array.from({ length: Math.min(25, count - n) }, (_, i) =>
          shop.h.mutate('callTool', { toolId, arguments: of(n + i) }, 'toolCall { id }', secret),
        ),
      )
  }
  const pending = async (filter: object = {}): Promise<number> => {
    const { data } = await shop.h.gql(
      'query($filter: ApprovalFilter) { approvalTally(filter: $filter) { total { pending } } }',
      { filter: { statuses: ['PENDING'], ...filter } },
    )
    return data['approvalTally'].total.pending
  }
  const list = (page: Page) => page.getByRole('list', { name: 'Waiting requests' })
  const focused = (page: Page) =>
    page.evaluate(() => document.activeElement?.getAttribute('data-item') ?? document.activeElement?.id)

  test('filters, order and groups stand in the address, and every number is the true one', async () => {
    const tab = await visit(browser, shop.h, '/approvals')
    const { page } = tab
    await page.getByRole('checkbox', { name: 'Select all 300' }).waitFor()
    const rows = list(page).locator('.question-row')
    // Few of them are in the document, and each says where it stands.
    expect(await rows.count()).toBeLessThan(60)
    expect(await rows.first().getAttribute('aria-setsize')).toBe('300')
    await rows
      .first()
      .getByText(/^expires \d\d:\d\d$/)
      .waitFor()
    await page
      .locator('.question-who')
      .getByText(/left, expires \d\d:\d\d$/)
      .waitFor()
    await tab.check()

    await page.getByText('Filter, sort and group').click()
    await page.getByRole('combobox', { name: 'Tool' }).selectOption({ label: 'send_refund (204)' })
    await page.getByRole('checkbox', { name: 'Select all 204' }).waitFor()
    await page.getByRole('combobox', { name: 'Order' }).selectOption({ label: 'amount, largest first' })
    await expect.poll(() => rows.first().innerText()).toContain('amount 250')
    await page.getByRole('combobox', { name: 'Order' }).selectOption({ label: 'amount, smallest first' })
    await expect.poll(() => rows.first().innerText()).toContain('M-0, amount 1')
    await page.getByRole('combobox', { name: 'Agent' }).selectOption({ label: 'shop assistant (4)' })
    await page.getByRole('checkbox', { name: 'Select all 4' }).waitFor()
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toMatchObject({
      tool: 'send_refund',
      sort: 'least:amount',
    })
    // A link is the view.
    await page.reload()
    await page.getByRole('checkbox', { name: 'Select all 4' }).waitFor()
    await expect.poll(() => rows.count()).toBe(4)
    await tab.check()
    await page.getByRole('button', { name: 'Clear the filter' }).click()
    await page.getByRole('checkbox', { name: 'Select all 300' }).waitFor()
    await page.getByRole('combobox', { name: 'Requested by' }).selectOption({ label: 'Ben (46)' })
    await page.getByRole('checkbox', { name: 'Select all 46' }).waitFor()
    await page.getByRole('combobox', { name: 'Requested by' }).selectOption({ label: 'Anybody' })
    await page.getByRole('combobox', { name: 'Groups' }).selectOption({ label: 'By tool' })
    await expect.poll(() => rows.count()).toBe(3)
    expect(await list(page).innerText()).toMatch(/204 × send_refund/)
    await page.getByText('Select a request').waitFor()
    await tab.check()
    await tab.close()
  })

  test('with keys only: 38 cancellations for one reason are a row that opens, and are rejected in one act', async () => {
    const tab = await visit(browser, shop.h, '/approvals?tool=cancel_order&group=value:reason')
    const { page } = tab
    const rows = list(page).locator('.question-row')
    await expect.poll(() => rows.count()).toBe(2)
    expect(new URL(page.url()).pathname).toBe('/approvals')
    const key = async (...names: string[]) => {
      for (const name of names) await page.keyboard.press(name)
    }
    // The soonest deadline first, and these were asked at the same time.
    const wanted = list(page).getByRole('button', { name: '38 × cancel_order: customer moved' })
    const group = (await wanted.getAttribute('data-item'))!
    await key('j')
    if ((await focused(page)) !== group) await key('j')
    expect(await focused(page)).toBe(group)
    await key('Enter')
    await expect.poll(() => rows.count()).toBe(40)
    await key('j')
    const id = (await focused(page))!
    expect(id).toMatch(/^apr_/)
    expect(new URL(page.url()).pathname).toBe(`/approvals/${id}`)
    await page.getByRole('heading', { level: 1, name: /cancel_order/ }).waitFor()
    expect(await list(page).locator('[aria-current]').getAttribute('data-item')).toBe(id)
    await key('Enter')
    expect(await focused(page)).toBe('question-title')
    await key('Escape')
    expect(await focused(page)).toBe(id)
    await tab.check()
    // What the list does not show is not chosen.
    await key('k', 'Enter')
    await expect.poll(() => rows.count()).toBe(2)
    await page.getByText('Select a request').waitFor()
    await key('x')
    await page.getByText('38 of 50 selected').waitFor()
    await key('Shift+Tab', 'Shift+Tab', 'Shift+Tab')
    while ((await page.evaluate(() => document.activeElement?.textContent)) !== 'Reject …')
      await key('Shift+Tab')
    await key('Enter')
    const dialog = page.getByRole('dialog', { name: 'Reject 38 calls?' })
    await dialog.waitFor()
    expect(await dialog.getByRole('listitem').count()).toBe(38)
    await page.keyboard.type('they live elsewhere now')
    await tab.check()
    // Somebody else is faster with one of them.
    const input = { approvalId: id, verdict: 'APPROVE' }
    const carl = await shop.person('Carl')
    await shop.h.mutate('decideApproval', input, 'approval { id }', carl.secret)
    await key('Control+Enter')
    await dialog.getByText('37 of 38 taken, 1 not').waitFor()
    await dialog
      .getByRole('listitem')
      .first()
      .getByText(/decided|approved/i)
      .waitFor()
    await tab.check()
    await key('Escape')
    await page.getByRole('checkbox', { name: 'Select all 12', exact: true }).waitFor()
    expect(await pending({ search: 'moved' })).toBe(0)
    expect(await pending()).toBe(262)
    expect(await shop.approval(id)).toMatchObject({ status: 'APPROVED' })
    await tab.close()
  })

  test('all of a filter are marked, also what is not drawn, and a dialog that is closed says how far it got', async () => {
    const tab = await visit(browser, shop.h, '/approvals?tool=send_refund')
    const { page } = tab
    await page.getByRole('checkbox', { name: 'Select all 204' }).waitFor()
    await page.keyboard.press('*')
    await page.getByText('204 of 204 selected').waitFor()
    // What a filter leaves out is not decided with the rest.
    const tools = page.getByRole('combobox', { name: 'Tool' })
    await tools.selectOption({ label: 'send_mail (46)' })
    await page.getByRole('checkbox', { name: 'Select all 46' }).waitFor()
    expect(await page.getByRole('button', { name: 'Reject …' }).count()).toBe(0)
    await page.keyboard.press('Escape')
    await page.keyboard.press('*')
    await page.getByText('46 of 46 selected').waitFor()
    await tools.selectOption({ label: 'send_refund (204)' })
    await page.getByText('204 of 204 selected').waitFor()
    // The focus stays with its row, however far the list is scrolled.
    await page.keyboard.press('Escape')
    await page.keyboard.press('j')
    const row = await focused(page)
    expect(row).toMatch(/^apr_/)
    await page.locator('.inbox-list').evaluate((one) => one.scrollTo(0, one.scrollHeight))
    await list(page).locator('[aria-posinset="204"]').waitFor()
    expect(await focused(page)).toBe(row)
    await page.getByRole('button', { name: 'Reject …' }).click()
    const dialog = page.getByRole('dialog', { name: 'Reject 204 calls?' })
    await dialog.getByText('204 calls of send_refund together: amount 21,100').waitFor()
    let go = () => {}
    const released = new Promise<void>((resolve) => (go = resolve))
    const sent: string[] = []
    await page.route('**/graphql', async (route) => {
      const body = route.request().postData()
      if (body?.includes('mutation Decide')) {
        sent.push(body)
        await released
      }
      await route.continue()
    })
    await page.keyboard.press('Control+Enter')
    await expect.poll(() => sent.length).toBe(1)
    await page.evaluate(keepToasts)
    await page.keyboard.press('Escape')
    go()
    await expect
      .poll(() => page.evaluate(() => (globalThis as Told).told))
      .toContain('Closed: 50 of 204 were sent.')
    await page.getByRole('checkbox', { name: 'Select all 154' }).waitFor()
    expect(sent).toHaveLength(1)
    expect(await pending({ toolId: shop.refundId })).toBe(154)
    // Nor is what it hides unmarked by what was decided.
    await tools.selectOption({ label: 'send_mail (46)' })
    await page.getByText('46 of 46 selected').waitFor()
    await tab.check()
    await tab.close()
  })
})
