/** What happened is found again: decided questions by words, filters and groups, with who, how and why, all in the address. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasChromium, openChromium, visit } from '../support/chromium.ts'
import { openShop, type Shop } from '../support/web-fixtures.ts'

describe.skipIf(!hasChromium)('decided questions', { timeout: 90_000 }, () => {
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

  const search = (page: Page) => new URL(page.url()).searchParams
  const decide = async (asked: { approvalId: string; generationId: string }, input: object, key?: string) => {
    await shop.h.mutate('decideApproval', { approvalId: asked.approvalId, ...input }, 'approval { id }', key)
    await shop.h.until(asked.generationId, ['COMPLETED', 'FAILED'])
  }

  test('who decided, how, why and what was changed; narrowed, sorted and grouped in the address', async () => {
    const ada = await shop.person('Ada')
    const [paid, refused, edited] = [await shop.ask('Q-1'), await shop.ask('Q-2'), await shop.ask('Q-3', 900)]
    await decide(paid, { verdict: 'APPROVE' })
    await decide(edited, { verdict: 'APPROVE', arguments: { order_id: 'Q-3', amount: 450 } }, ada.secret)
    await decide(refused, { verdict: 'REJECT', reason: 'a duplicate of yesterday' }, ada.secret)
    const tab = await visit(browser, shop.h, '/approvals?view=decided')
    const { page } = tab
    const rows = page.getByRole('region', { name: 'Decided' }).locator('tbody tr')
    await expect.poll(() => rows.count()).toBe(3)
    await page.getByText('2 approved, 1 rejected').waitFor()
    // The newest outcome is first.
    await rows.nth(0).getByText('a duplicate of yesterday').waitFor()
    await rows.nth(0).getByRole('button', { name: 'Ada' }).waitFor()
    await rows.nth(0).getByText('with a key').waitFor()
    const changes = rows.nth(1).getByRole('list', { name: 'Changed arguments' })
    expect(await changes.innerText()).toMatch(/amount\s+900\s+→\s+450/)
    await rows.nth(1).getByText('succeeded').waitFor()
    await tab.check()

    await page.keyboard.press('/')
    await page.keyboard.type('duplic')
    await expect.poll(() => rows.count()).toBe(1)
    expect(search(page).get('q')).toBe('duplic')
    await page.getByText('0 approved, 1 rejected').waitFor()
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.getByLabel('Decided by').selectOption({ label: 'Ada' })
    await expect.poll(() => rows.count()).toBe(2)
    await page.locator('.filter-menu > summary').click()
    await page.getByRole('checkbox', { name: 'approved' }).check()
    await expect.poll(() => rows.count()).toBe(1)
    // The address is the list: a link brings it along.
    await page.reload()
    await expect.poll(() => rows.count()).toBe(1)
    await page.getByText('1 approved, 0 rejected').waitFor()
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.getByLabel('Order').selectOption('asked')
    await expect.poll(() => rows.nth(0).innerText()).toMatch(/450/)

    await page.getByRole('button', { name: 'By agent' }).click()
    const groups = page.getByRole('region', { name: 'By agent' }).locator('tbody tr')
    expect(await groups.first().innerText()).toMatch(/shop assistant\s+2\s+1\s+0\s+0/)
    await tab.check()
    await groups.getByRole('button', { name: 'shop assistant' }).click()
    expect(search(page).get('agent')).toBe(shop.agentId)
    await page.getByLabel('Words or an id').fill('& |')
    await page
      .getByText(/must have a letter or a digit/)
      .first()
      .waitFor()
    await page.getByLabel('Words or an id').fill('nowhere')
    await page.getByText('Nothing is like this').waitFor()
    await tab.check()
    await page.getByRole('button', { name: 'Clear' }).click()

    // Anywhere in the row opens the question; what is a link of its own does not.
    await rows.nth(1).getByRole('link', { name: 'show the run' }).click()
    await page.waitForURL('**/runs/gen_*?call=call_*')
    await page.getByRole('complementary').or(page.locator('.run-pane')).first().waitFor()
    await page.goBack()
    const place = (await rows.nth(1).locator('td').nth(1).boundingBox())!
    await page.mouse.click(place.x + 2, place.y + 2)
    await page.waitForURL(`**/approvals/${refused.approvalId}`)
    await tab.close()
  })

  test('waiting questions are searched while one types, and what is not found is not chosen', async () => {
    const [one, two] = [await shop.ask('W-77'), await shop.ask('W-88')]
    const tab = await visit(browser, shop.h, '/approvals')
    const { page } = tab
    const rows = page.getByRole('list', { name: 'Questions that wait' }).locator('.question-row')
    await expect.poll(() => rows.count()).toBe(2)
    await rows.nth(0).getByRole('checkbox').check()
    await page.getByRole('searchbox').click()
    await page.keyboard.type('w 88')
    await expect.poll(() => page.getByRole('searchbox').inputValue()).toBe('w 88')
    await expect.poll(() => rows.count()).toBe(1)
    await expect.poll(() => rows.locator('a').getAttribute('href')).toBe(`/approvals/${two.approvalId}`)
    expect(await page.getByRole('searchbox').inputValue()).toBe('w 88')
    await tab.check()
    await page.getByRole('searchbox').fill('nothing like it')
    await page.getByText('No question is like this').waitFor()
    await page.getByRole('searchbox').fill(one.approvalId)
    await expect.poll(() => rows.locator('a').getAttribute('href')).toBe(`/approvals/${one.approvalId}`)
    await page.getByRole('searchbox').fill('')
    await expect.poll(() => rows.count()).toBe(2)
    await tab.close()
    await shop.settle()
  })
})
