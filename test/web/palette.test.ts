/** Anywhere by the keyboard: screens, tools, agents and ids. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasChromium, openChromium, visit } from '../support/chromium.ts'
import { openShop, type Shop } from '../support/web-fixtures.ts'

describe.skipIf(!hasChromium)('the palette', { timeout: 180_000 }, () => {
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

  test('leads to screens, tools, agents and ids without a pointer', async () => {
    const asked = await shop.ask('P-1')
    await shop.settle()
    const { data } = await shop.h.gql('query($id: ID!) { generation(id: $id) { toolCalls { id } } }', {
      id: asked.generationId,
    })
    const callId = data['generation'].toolCalls[0].id as string
    const tab = await visit(browser, shop.h, '/agents')
    const { page } = tab
    const places = page.getByRole('listbox', { name: 'Places and actions' })
    await page.getByRole('heading', { name: 'Agents' }).waitFor()
    const open = async (text: string) => {
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox', { name: 'Screen, action, tool, agent or id' }).waitFor()
      await page.keyboard.type(text)
    }
    const chosen = places.getByRole('option', { selected: true })
    await open('')
    await chosen.getByText('Insights').waitFor()
    await tab.check()
    await page.keyboard.press('ArrowUp')
    await chosen.getByText('Retention').waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    await chosen.getByText('Waiting').waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL('**/approvals*')

    await open('audi')
    // With these keys an input method composes a text; WebKit says so of the last one by its code alone.
    await page.getByRole('combobox').evaluate((field) => {
      for (const of of [{ isComposing: true }, { keyCode: 229 }])
        for (const key of ['ArrowDown', 'Enter'])
          field.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...of }))
    })
    expect(new URL(page.url()).pathname).toMatch(/^\/approvals/)
    await chosen.getByText('Audit').waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL('**/audit')
    await open('send_ref')
    await places.getByRole('option', { name: 'send_refund tool' }).waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(`**/tools/${shop.refundId}`)
    // Also from within a field.
    await open('shop ass')
    await places.getByRole('option', { name: 'shop assistant agent' }).waitFor()
    await tab.check()
    await page.keyboard.press('Enter')
    await page.waitForURL(`**/agents/${shop.agentId}`)

    for (const [id, at] of [
      [asked.approvalId, `/approvals/${asked.approvalId}`],
      [asked.generationId, `/runs/${asked.generationId}`],
      [callId, `/runs/${asked.generationId}?call=${callId}`],
      [shop.agentId, `/agents/${shop.agentId}`],
    ] as const) {
      await open(id)
      await expect.poll(() => places.getByRole('option').count()).toBe(1)
      await page.keyboard.press('Enter')
      await page.waitForURL(`**${at}`)
    }
    await open('call_none')
    await page.getByText('Nothing has this name or id.').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await open('P 1')
    await places.getByRole('option', { name: 'Decided requests with' }).waitFor()
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/approvals?view=decided&q=P%201')
    await page.getByText('0 approved, 1 rejected').waitFor()
    await tab.close()
  })
})
