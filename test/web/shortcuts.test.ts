/** Every shortcut on every list and object, in the states in which it must do nothing: nothing is decided, started or gone. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasChromium, openChromium, visit, type Visit } from '../support/chromium.ts'
import { places } from '../../web/src/parts/places.ts'
import { openShop, type Shop } from '../support/web-fixtures.ts'

/** As the help lists them, without those that leave the screen by `g`. */
const plain = ['j', 'k', 'x', '*', 'e', 'r', 'c', '[', ']', 'p', 't', '0', 'Enter']
const decides = ['Control+Enter', 'Control+Backspace']
const leads = places.flatMap(({ views }) => views.flatMap(({ key, href }) => (key ? [{ key, href }] : [])))

describe.skipIf(!hasChromium)('shortcuts', { timeout: 300_000 }, () => {
  let browser: Browser
  let shop: Shop
  let screens: { at: string; isList?: true }[]

  beforeAll(async () => {
    browser = await openChromium()
    shop = await openShop({ gate: { timeoutSeconds: 3_600 } })
    const asked = await Promise.all(['S-1', 'S-2', 'S-3', 'S-4'].map((order) => shop.ask(order)))
    const { approvalId, generationId } = asked[0]!
    screens = [
      { at: '/approvals', isList: true },
      { at: '/approvals?view=decided', isList: true },
      { at: '/runs', isList: true },
      { at: '/tools', isList: true },
      { at: '/agents', isList: true },
      { at: '/people', isList: true },
      { at: '/audit', isList: true },
      { at: `/approvals/${approvalId}` },
      { at: `/runs/${generationId}` },
      { at: `/runs/${generationId}/compare/${asked[1]!.generationId}` },
      { at: `/tools/${shop.refundId}?tab=calls` },
      { at: `/agents/${shop.agentId}?tab=definition` },
    ]
  })
  afterAll(async () => {
    await browser?.close()
    await shop?.close()
  })

  /** What is stored: the questions with their state, and every run, agent, tool and call. */
  const stored = async () => {
    const { data, errors } = await shop.h.gql(`{
      approvals(first: 100) { nodes { id status votes { verdict } } }
      generations(first: 100) { nodes { id status } }
      agents(first: 100) { nodes { id version } } tools(first: 100) { nodes { id version } }
      apiKeys(first: 100) { nodes { id revokedAt } } grants(first: 100) { nodes { id } } }`)
    expect(errors).toBeUndefined()
    return data
  }
  const open = async (at: string): Promise<Visit> => {
    const tab = await visit(browser, shop.h, at)
    await tab.page.locator('#content h1, #content h2').first().waitFor()
    await tab.page.waitForFunction(() => !document.querySelector('.skeleton'))
    // A wide inbox opens the first question by itself.
    if (at === '/approvals') await tab.page.waitForURL(/apr_/)
    return tab
  }
  const press = async (page: Page, keys: readonly string[]) => {
    for (const key of keys) await page.keyboard.press(key)
  }
  const pathOf = (page: Page) => new URL(page.url()).pathname + new URL(page.url()).search
  /** Goes on once the page has answered whatever the keys asked. */
  const settled = (page: Page) => page.waitForLoadState('networkidle')

  test('g leads to each place, from everywhere', async () => {
    const tab = await open('/runs')
    for (const { key, href } of leads) {
      // On a busy machine the second key may come too late for the first, as a person's would: then both are pressed again.
      await expect
        .poll(async () => {
          if (!pathOf(tab.page).startsWith(href)) await press(tab.page, ['g', key])
          return pathOf(tab.page).startsWith(href)
        })
        .toBe(true)
    }
    expect(tab.faults).toEqual([])
    await tab.close()
  })

  test('nothing is heard behind a dialog: the help, and the palette, which takes the letters', async () => {
    const before = await stored()
    for (const { at } of screens) {
      const tab = await open(at)
      const { page } = tab
      const here = pathOf(page)
      await press(page, ['?'])
      const dialog = page.getByRole('dialog')
      await dialog.waitFor()
      await press(page, [...plain.filter((key) => key !== 'Enter'), '/', ...decides])
      for (const { key } of leads) await press(page, ['g', key])
      expect(await dialog.count(), at).toBe(1)
      expect(pathOf(page), at).toBe(here)
      await press(page, ['Escape'])
      await dialog.waitFor({ state: 'detached' })
      await press(page, ['Control+k'])
      const field = dialog.getByRole('combobox')
      await field.waitFor()
      const letters = plain.filter((key) => key.length === 1)
      await press(page, letters)
      expect(await field.inputValue(), at).toBe(letters.join(''))
      expect(pathOf(page), at).toBe(here)
      await press(page, ['Escape'])
      await dialog.waitFor({ state: 'detached' })
      await settled(page)
      expect(tab.faults, at).toEqual([])
      await tab.close()
    }
    expect(await stored()).toEqual(before)
  })

  test('nothing is heard behind a form that creates, in its fields and outside of them', async () => {
    const before = await stored()
    const forms = [
      '/people?new=key',
      '/people/programs?new=key',
      '/settings/providers?new=provider',
      '/settings/secrets?new=secret',
      '/settings/webhooks?new=webhook',
      '/settings/retention?new=hold',
      '/settings/retention?new=removal',
      `/agents/${shop.agentId}?tab=triggers&new=trigger`,
      '/runs?new=run',
    ]
    for (const at of forms) {
      const tab = await visit(browser, shop.h, at)
      const { page } = tab
      const dialog = page.getByRole('dialog')
      await dialog.waitFor()
      const here = pathOf(page)
      // The first field has the focus; the title is outside of all of them.
      for (const place of ['field', 'title']) {
        if (place === 'title') await dialog.locator('h2').first().focus()
        await press(page, [...plain.filter((key) => key.length === 1), '?', '/', 'Control+Backspace'])
        for (const { key } of leads) await press(page, ['g', key])
        expect(await dialog.count(), `${at} ${place}`).toBe(1)
        expect(pathOf(page), `${at} ${place}`).toBe(here)
      }
      await press(page, ['Escape'])
      await dialog.waitFor({ state: 'detached' })
      await settled(page)
      expect(tab.faults, at).toEqual([])
      await tab.close()
    }
    expect(await stored()).toEqual(before)
  })

  test('what is typed into a field stays in it', async () => {
    const before = await stored()
    let fields = 0
    for (const { at } of screens) {
      const tab = await open(at)
      const { page } = tab
      await press(page, ['/'])
      const field = page
        .locator('#content :is(input[type=search], input[type=text], textarea):visible')
        .first()
      if ((await field.count()) > 0) {
        fields++
        await field.fill('')
        const letters = [...plain.filter((key) => key.length === 1), '/', '?', 'g', 'i']
        await press(page, letters)
        expect(await field.inputValue(), at).toBe(letters.join(''))
        await press(page, ['Escape'])
        expect(await page.getByRole('dialog').count(), at).toBe(0)
      }
      await settled(page)
      expect(tab.faults, at).toEqual([])
      await tab.close()
    }
    expect(fields).toBeGreaterThan(5)
    expect(await stored()).toEqual(before)
  })

  test('a list that is filtered to nothing, or has nothing, acts on nothing', async () => {
    const before = await stored()
    const { project } = await shop.h.mutate('createProject', { name: 'empty' }, 'project { id }')
    const made = await shop.h.mutate(
      'createApiKey',
      { name: 'new', role: 'ADMIN', projectId: project.id },
      'secret',
    )
    for (const { at } of screens.filter(({ isList }) => isList)) {
      const filtered = `${at}${at.includes('?') ? '&' : '?'}q=nothingisnamedso`
      const ways: [string, string?][] = [[filtered], [at, made['secret'] as string]]
      for (const [address, key] of ways) {
        const tab = await visit(browser, shop.h, address, key ? { key } : {})
        const { page } = tab
        await page.waitForFunction(() => !document.querySelector('.skeleton'))
        await press(page, [...plain, ...decides, 'Escape'])
        await settled(page)
        expect(await page.getByRole('dialog').count(), address).toBe(0)
        expect(tab.faults, address).toEqual([])
        await tab.close()
      }
    }
    expect(await stored()).toEqual(before)
  })

  test('a row that somebody else decided or deleted meanwhile takes no key with it to the next one', async () => {
    const { approvalId, generationId } = await shop.ask('GONE-1')
    const tab = await open(`/approvals/${approvalId}`)
    const { page } = tab
    await page.getByRole('button', { name: /^Approve/, disabled: false }).waitFor()
    await shop.h.mutate('decideApproval', { approvalId, verdict: 'REJECT' }, 'approval { id }')
    await shop.h.until(generationId, ['COMPLETED'])
    const before = await stored()
    await press(page, [...decides, 'e', 'r', 'x'])
    await page.getByRole('status', { name: 'Outcome' }).waitFor()
    await press(page, [...decides, 'e', 'r', 'c'])
    await settled(page)
    expect(tab.faults).toEqual([])
    await tab.close()
    const { tool } = await shop.h.mutate(
      'createTool',
      { name: 'gone', config: { client: { inputSchema: { type: 'object' } } } },
      'tool { id }',
    )
    const list = await open('/tools')
    await list.page.getByRole('link', { name: 'gone' }).focus()
    await shop.h.mutate('deleteTool', { id: tool.id }, 'tool { id }')
    await list.page.getByRole('link', { name: 'gone' }).waitFor({ state: 'detached' })
    await press(list.page, ['Enter', 'x', 'Delete', ...decides])
    expect(pathOf(list.page)).toBe('/tools')
    await press(list.page, ['j', 'k'])
    expect(await list.page.locator('tbody a:focus').count()).toBe(1)
    await settled(list.page)
    expect(list.faults).toEqual([])
    await list.close()
    const { agent } = await shop.h.mutate('createAgent', { name: 'gone' }, 'agent { id }')
    const agents = await open('/agents')
    await agents.page.getByRole('link', { name: 'gone' }).focus()
    await shop.h.mutate('deleteAgent', { id: agent.id }, 'agent { id }')
    await agents.page.getByRole('link', { name: 'gone' }).waitFor({ state: 'detached' })
    await press(agents.page, ['Enter', 'x', 'Delete', ...decides])
    expect(pathOf(agents.page)).toBe('/agents')
    await settled(agents.page)
    expect(agents.faults).toEqual([])
    await agents.close()
    expect(await stored()).toEqual(before)
  })
})
