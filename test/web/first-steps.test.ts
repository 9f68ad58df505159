/** An inbox before its first question, its search in the address, and the page on narrow screens. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasChromium, openChromium, visit } from '../support/chromium.ts'
import { openShop, type Shop } from '../support/web-fixtures.ts'

describe.skipIf(!hasChromium)('the first steps', { timeout: 180_000 }, () => {
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

  test('are told until a question was decided, each one ticked as it is done, the next one as a link', async () => {
    const { h } = shop
    const { project } = await h.mutate('createProject', { name: 'empty' }, 'project { id }')
    const projectId = project.id as string
    const made = await h.mutate('createApiKey', { name: 'new', role: 'ADMIN', projectId }, 'secret')
    const key = made['secret'] as string
    const tab = await visit(browser, h, '/approvals', { key })
    const { page } = tab
    const steps = page.getByRole('region', { name: 'Nothing waits for you yet' })
    const next = steps.getByRole('link')
    const done = () => steps.locator('li[data-done] .strong').allInnerTexts()
    await next.filter({ hasText: 'A tool' }).waitFor()
    expect(await done()).toEqual([])
    await tab.check()

    const config = { http: { url: `${shop.till.url}/pay`, inputSchema: { type: 'object' } } }
    const { tool } = await h.mutate('createTool', { name: 'pay', config }, 'tool { id }', key)
    await next.filter({ hasText: 'A gate' }).waitFor()
    expect(await next.getAttribute('href')).toBe(`/tools/${tool.id}?tab=gate`)
    await h.mutate('updateTool', { id: tool.id, gate: { mode: 'ALWAYS' } }, 'tool { id }', key)
    await next.filter({ hasText: 'An agent' }).waitFor()
    const { agent } = await h.mutate(
      'createAgent',
      { name: 'payer', toolIds: [tool.id] },
      'agent { id }',
      key,
    )
    await next.filter({ hasText: 'A run' }).waitFor()
    await h.mutate('startGeneration', { agentId: agent.id, prompt: 'say done' }, 'generation { id }', key)
    await next.filter({ hasText: 'A decision' }).waitFor()
    expect(await done()).toEqual(['A tool', 'A gate', 'An agent', 'A run'])
    const asked = await h.mutate(
      'callTool',
      { toolId: tool.id, arguments: {} },
      'toolCall { approval { id } }',
      key,
    )
    await page.getByRole('link', { name: /pay/ }).first().waitFor()
    const { id: approvalId } = asked['toolCall'].approval
    await h.mutate('decideApproval', { approvalId, verdict: 'REJECT' }, 'approval { id }', key)
    await page.goto(`${h.url}/approvals`)
    await page.getByRole('heading', { name: 'Nothing waits for you', exact: true }).waitFor()
    expect(tab.faults).toEqual([])
    await tab.close()
  })

  test('a search is in the address: a link brings it back, and it stays while questions are opened', async () => {
    await shop.ask('FIND-1')
    await shop.ask('OTHER-2')
    const tab = await visit(browser, shop.h, '/approvals?q=find-1')
    const { page } = tab
    const rows = page.locator('.question-row')
    await expect.poll(() => rows.count()).toBe(1)
    expect(await page.getByLabel('Search or paste an id').inputValue()).toBe('find-1')
    await expect.poll(() => new URL(page.url()).pathname).toMatch(/^\/approvals\/apr_/)
    expect(new URL(page.url()).search).toBe('?q=find-1')
    await page.getByLabel('Search or paste an id').fill('')
    await expect.poll(() => rows.count()).toBe(2)
    expect(new URL(page.url()).search).toBe('')
    await page.getByText('As JSON').click()
    await expect.poll(() => page.locator('.sheet-json').innerText()).toContain('"order_id": "FIND-1"')
    await tab.check()
    await tab.close()
    await shop.settle()
  })

  test('from 720 pixels on list and question stand side by side, and the buttons are above the tabs', async () => {
    const { approvalId } = await shop.ask('W-1')
    const tab = await visit(browser, shop.h, `/approvals/${approvalId}`, { width: 720 })
    const { page } = tab
    const box = async (selector: string) => (await page.locator(selector).first().boundingBox())!
    await page.locator('.danger:enabled').waitFor()
    const [list, detail] = [await box('.inbox-list'), await box('.inbox-detail')]
    expect(detail.x).toBeGreaterThanOrEqual(list.x + list.width)
    const [bar, tabs] = [await box('.verdict-buttons'), await box('.rail nav')]
    expect(bar.y + bar.height).toBeLessThanOrEqual(tabs.y + 1)
    await tab.check()
    await page.setViewportSize({ width: 390, height: 844 })
    const approve = (await page.getByRole('button', { name: /^Approve/ }).boundingBox())!
    expect(approve.y).toBeGreaterThan(844 / 2)
    expect(approve.y + approve.height).toBeLessThanOrEqual((await box('.rail nav')).y + 1)
    await tab.close()
    await shop.settle()
  })

  test('a phone has four tabs and More, which closes behind who goes on', async () => {
    const tab = await visit(browser, shop.h, '/runs', { width: 390 })
    const { page } = tab
    const main = page.getByRole('navigation', { name: 'Main' })
    await page.getByRole('heading', { name: 'Runs' }).waitFor()
    await expect
      .poll(() => main.getByRole('link').allInnerTexts())
      .toEqual(['Insights', 'Inbox', 'Activity', 'Catalogue'])
    await main.locator('summary').click()
    await tab.check()
    await main.getByRole('link', { name: 'Settings' }).click()
    await page.getByRole('heading', { name: 'Project' }).waitFor()
    await expect.poll(() => main.getByRole('link').count()).toBe(4)
    expect(tab.faults).toEqual([])
    await tab.close()
  })
})
