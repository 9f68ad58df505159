/** The history of tools and agents in a browser, what drifted under a question, and the comparison itself. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { differences, placeOf } from '../../web/src/parts/version-diff.ts'
import { hasChromium, openChromium, picture, visit } from '../support/chromium.ts'
import { openShop, type Shop } from '../support/web-fixtures.ts'

describe.skipIf(!hasChromium)('versions in the browser', { timeout: 180_000 }, () => {
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

  const change = (id: string, more: object, key?: string) =>
    shop.h.mutate('updateTool', { id, ...more }, 'tool { version }', key)

  test('a tool has its versions with who made them; any two are compared, and hidden values stay hidden', async () => {
    const dev = await shop.person('Devi', 'DEVELOPER')
    const id = shop.refundId
    await change(id, { description: 'Sends money back, at once.' }, dev.secret)
    await change(id, { presetParameters: { currency: 'CHF' } })
    await change(id, { timeoutMs: 9000 })
    const tab = await visit(browser, shop.h, `/tools/${id}?tab=versions`)
    const { page } = tab
    const rows = page.getByRole('region', { name: 'Versions' }).locator('tbody tr')
    await expect.poll(() => rows.count()).toBe(4)
    await rows.nth(2).getByRole('button', { name: /Devi/ }).waitFor()
    await rows.nth(2).getByText('description').waitFor()
    const changes = page.getByRole('list', { name: /^What changed/ }).locator('li')
    expect(await changes.allInnerTexts()).toEqual([expect.stringMatching(/^timeoutMs/)])
    await page.getByLabel('From', { exact: true }).selectOption('1')
    await expect.poll(() => changes.count()).toBe(3)
    expect(await changes.filter({ hasText: 'presetParameters.currency' }).innerText()).toMatch(/EUR[^]*CHF/)
    await picture(tab, 'tool-versions')
    await tab.check()
    await rows
      .nth(1)
      .getByRole('button', { name: /^Compare/ })
      .click()
    await expect.poll(() => changes.count()).toBe(1)
    expect(new URL(page.url()).search).toBe('?tab=versions&from=2&to=3')
    // A reader who may not see the values sees that one of them changed.
    const vera = await shop.person('Vera', 'VIEWER')
    const other = await visit(browser, shop.h, `/tools/${id}?tab=versions&from=1&to=4`, { key: vera.secret })
    const shown = other.page.getByRole('list', { name: /^What changed/ }).locator('li')
    await expect.poll(() => shown.count()).toBe(3)
    expect(await shown.filter({ hasText: 'currency' }).locator('.masked').count()).toBe(2)
    expect(await other.page.locator('main').innerText()).not.toContain('CHF')
    await other.check()
    await other.close()
    await tab.close()
  })

  test('an agent has its versions', async () => {
    await shop.h.mutate('updateAgent', { id: shop.agentId, instructions: 'Be kind.' }, 'agent { id }')
    const tab = await visit(browser, shop.h, `/agents/${shop.agentId}?tab=versions`)
    await tab.page
      .getByRole('list', { name: /^What changed/ })
      .getByText('Be kind.')
      .waitFor()
    await tab.check()
    await tab.close()
  })

  test('a question whose tool changed says what drifted, and leads to the one that took its place', async () => {
    const { approvalId, generationId } = await shop.ask('R-9')
    await change(shop.refundId, { idempotent: true })
    await shop.h.mutate('decideApproval', { approvalId, verdict: 'APPROVE' }, 'approval { id }')
    await expect.poll(async () => (await shop.approval(approvalId))['status']).toBe('VOIDED')
    const again = await shop.h.until(
      generationId,
      ['AWAITING_APPROVAL'],
      'requiredAction { approvals { id } }',
    )
    const tab = await visit(browser, shop.h, `/approvals/${approvalId}`)
    const { page } = tab
    const drift = page.getByRole('region', { name: 'What changed' })
    await drift.getByText('idempotent').waitFor()
    expect(await drift.locator('.changes > li').count()).toBe(1)
    await tab.check()
    await page.getByRole('link', { name: 'Open the new request' }).click()
    await page.waitForURL(`**/approvals/${again['requiredAction'].approvals[0].id}`)
    await tab.close()
  })
})

describe('the comparison', () => {
  test('names places as people read them', () => {
    expect(placeOf('/gate/approvers/0')).toBe('gate.approvers[0]')
    expect(placeOf('/http/headers/x~1y~0z')).toBe('http.headers.x/y~z')
    expect(placeOf('')).toBe('')
  })

  test('shows a hidden value that changed on the way, once, and nothing that came back', () => {
    const hidden = { path: '/presets/key', before: '[masked]', after: '[masked]' }
    const definition = (title: string) => ({ title, presets: { key: '[masked]' } })
    const versions = [
      {
        version: 3,
        definition: definition('a'),
        changes: [{ path: '/title', before: 'b', after: 'a' }, hidden],
      },
      {
        version: 2,
        definition: definition('b'),
        changes: [{ path: '/title', before: 'a', after: 'b' }, hidden],
      },
      { version: 1, definition: definition('a'), changes: [] },
    ]
    expect(differences(versions, 1, 3)).toEqual([
      { path: 'presets.key', before: '[masked]', after: '[masked]' },
    ])
    expect(differences(versions, 3, 2)).toHaveLength(2)
    expect(differences(versions, 2, 2)).toEqual([])
  })
})
