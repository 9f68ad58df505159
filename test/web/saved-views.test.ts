/** A list is saved as it is filtered, found again by its name, and says so when what it named is gone. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasChromium, openChromium, visit } from '../support/chromium.ts'
import { openShop, type Shop } from '../support/web-fixtures.ts'

describe.skipIf(!hasChromium)('saved views', { timeout: 180_000 }, () => {
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

  test('a filtered list is saved for the project, and another person opens it from the palette', async () => {
    const address = `/approvals?view=decided&tool=${shop.refundId}`
    const tab = await visit(browser, shop.h, address)
    await tab.page.getByRole('button', { name: 'Saved views' }).click()
    const dialog = tab.page.getByRole('dialog', { name: 'Saved views' })
    await dialog.getByLabel('Name').fill('Refunds that were decided')
    await dialog.getByLabel('For everybody in the project').check()
    await tab.page.keyboard.press('Control+Enter')
    await dialog.getByRole('link', { name: 'Refunds that were decided' }).waitFor()
    await tab.check()
    await tab.close()

    const { secret } = await shop.person('Vera', 'VIEWER')
    const other = await visit(browser, shop.h, '/tools', { key: secret })
    const { page } = other
    await page.getByRole('heading', { name: 'Tools' }).waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox').fill('refunds that')
    await page.getByRole('option', { name: 'Refunds that were decided' }).click()
    await page.waitForURL(`**${address}`)
    // A viewer keeps views for herself, and cannot take this one away.
    await page.getByRole('button', { name: 'Saved views' }).click()
    const list = page.getByRole('dialog', { name: 'Saved views' })
    await list.getByRole('link', { name: 'Refunds that were decided' }).waitFor()
    expect(await list.getByLabel('For everybody in the project').count()).toBe(0)
    expect(await list.getByRole('button', { name: 'Delete' }).isDisabled()).toBe(true)
    await other.check()
    await other.close()
  })

  test('the view of what waits is the list, and not the request that stands beside it', async () => {
    const { approvalId } = await shop.ask('SV-1')
    const tab = await visit(browser, shop.h, `/approvals/${approvalId}?sort=left`)
    await tab.page.getByRole('button', { name: 'Saved views' }).click()
    const dialog = tab.page.getByRole('dialog', { name: 'Saved views' })
    await dialog.getByLabel('Name').fill('What waits')
    await tab.page.keyboard.press('Control+Enter')
    await dialog.getByRole('link', { name: 'What waits' }).waitFor()
    const { data } = await shop.h.gql('{ savedViews(first: 1) { nodes { address } } }')
    expect(data['savedViews'].nodes).toEqual([{ address: '/approvals?sort=left' }])
    // One of the same name is replaced only by who says so, and never by another name after that.
    await dialog.getByLabel('Name').fill('What waits')
    await dialog.getByRole('button', { name: 'Save this view' }).click()
    const replace = dialog.getByRole('button', { name: 'Replace the saved view' })
    await replace.waitFor()
    await dialog.getByLabel('Name').fill('What waits now')
    await replace.waitFor({ state: 'detached' })
    await dialog.getByLabel('Name').fill('What waits')
    await dialog.getByRole('button', { name: 'Save this view' }).click()
    await replace.click()
    await replace.waitFor({ state: 'detached' })
    await tab.check()
    await tab.close()
    await shop.settle()
  })

  test('the view of a deleted tool opens, and shows what it was filtered by', async () => {
    const made = await shop.h.mutate(
      'createTool',
      { name: 'short_lived', config: { client: { inputSchema: { type: 'object' } } } },
      'tool { id }',
    )
    const toolId = made['tool'].id as string
    const address = `/approvals?view=decided&tool=${toolId}`
    await shop.h.mutate('saveView', { name: 'Of a tool that goes', address }, 'view { id }')
    const tab = await visit(browser, shop.h, '/tools')
    const { page } = tab
    await shop.h.mutate('deleteTool', { id: toolId }, 'tool { id }')
    await page.getByRole('button', { name: 'Saved views' }).click()
    await page.getByRole('link', { name: 'Of a tool that goes' }).click()
    await page.waitForURL(`**${address}`)
    const filter = page.locator(`select:has(option[value="${toolId}"])`)
    await filter.waitFor()
    expect(await filter.inputValue()).toBe(toolId)
    await tab.check()
    await tab.close()
  })
})
