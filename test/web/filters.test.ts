/** Lists are narrowed by what the address says: several statuses, words, people and time; and `back` brings each place back. */
import type { Browser, Page } from 'playwright-core'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { query } from '../../src/store/db/database.ts'
import { hasChromium, openChromium, visit } from '../support/chromium.ts'
import { openShop, type Shop } from '../support/web-fixtures.ts'

describe.skipIf(!hasChromium)('filters', { timeout: 270_000 }, () => {
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
  /** Starts a run and waits for its end. */
  const run = async (agentId: string, prompt: string, key?: string) => {
    const made = await shop.h.mutate('startGeneration', { agentId, prompt }, 'generation { id }', key)
    const id = made['generation'].id as string
    await shop.h.until(id, ['COMPLETED', 'FAILED'])
    return id
  }
  const agent = async (name: string) => {
    const made = await shop.h.mutate('createAgent', { name, toolIds: [shop.refundId] }, 'agent { id }')
    return made['agent'].id as string
  }

  test('runs by several statuses, by words, by who began them and by time, all in the address', async () => {
    const olga = await shop.person('Olga', 'CALLER')
    // Her key is not on the first page of keys.
    await Promise.all(Array.from({ length: 110 }, (_, n) => shop.person(`key ${n}`, 'CALLER')))
    const [baker, miller] = [await agent('the baker'), await agent('the miller')]
    await run(baker, 'say bread')
    await run(baker, 'fail 400', olga.secret)
    await run(miller, 'say flour', olga.secret)
    const tab = await visit(browser, shop.h, '/runs')
    const { page } = tab
    const rows = page.locator('table.runs tbody tr')
    await expect.poll(() => rows.count()).toBe(3)
    await page.keyboard.press('/')
    await page.keyboard.type('BAKE')
    await expect.poll(() => rows.count()).toBe(2)
    expect(search(page).get('q')).toBe('BAKE')
    await page.keyboard.press('Escape')
    // What was asked and what was answered stand in the row, and its words find it.
    await page.getByRole('searchbox').fill('say bre')
    await expect.poll(() => rows.count()).toBe(1)
    await rows.getByText('say bread').waitFor()
    await rows.getByText('bread', { exact: true }).waitFor()
    await page.getByRole('searchbox').fill('BAKE')
    await expect.poll(() => rows.count()).toBe(2)
    await page.getByLabel('Started by').selectOption({ label: 'Olga' })
    await expect.poll(() => rows.count()).toBe(1)
    await rows.getByText('failed').waitFor()
    await page.locator('.filter-menu > summary').first().click()
    for (const name of ['completed', 'cancelled']) await page.getByRole('checkbox', { name }).check()
    await page.getByText('No matching runs').waitFor()
    await page.getByRole('checkbox', { name: 'failed' }).check()
    await expect.poll(() => rows.count()).toBe(1)
    await tab.check()
    await page.keyboard.press('Escape')
    expect(await page.getByRole('checkbox', { name: 'failed' }).isVisible()).toBe(false)
    await page.getByText('3 statuses').waitFor()
    // A loaded address is the same list, and `back` undoes one choice after the other.
    await page.reload()
    await expect.poll(() => rows.count()).toBe(1)
    await rows.getByRole('link').click()
    await page.waitForURL('**/runs/gen_*')
    await page.goBack()
    await page.getByText('3 statuses').waitFor()
    await page.goBack()
    await page.getByText('2 statuses').waitFor()
    await page.getByRole('button', { name: 'Clear' }).click()
    await expect.poll(() => rows.count()).toBe(3)
    await page.getByLabel('Time').selectOption('24h')
    await expect.poll(() => search(page).get('since')).toBe('24h')
    await expect.poll(() => rows.count()).toBe(3)
    await page.getByLabel('Time').selectOption('range')
    await page.getByLabel('To', { exact: true }).fill('2020-01-01T00:00')
    await page.getByText('No matching runs').waitFor()
    expect(search(page).get('to')).toMatch(/^(2019-12-31|2020-01-01)T/)
    await page.getByLabel('To', { exact: true }).fill('2999-01-01T00:00')
    await expect.poll(() => rows.count()).toBe(3)
    await tab.check()

    // Numbers by agent and by outcome, each of which narrows the list; the groups stay, and narrow nothing themselves.
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.getByRole('button', { name: 'By agent' }).click()
    const groups = (name: string) => page.getByRole('region', { name }).locator('tbody tr')
    await expect
      .poll(() => groups('By agent').allInnerTexts())
      .toEqual([
        expect.stringMatching(/the baker\s+1\s+1\s+0\s+0\s+0/),
        expect.stringMatching(/the miller\s+1\s+0\s+0\s+0\s+0/),
      ])
    expect(await page.getByRole('button', { name: 'Clear' }).count()).toBe(0)
    await tab.check()
    await page.getByRole('button', { name: 'the baker' }).click()
    await expect.poll(() => rows.count()).toBe(2)
    expect([search(page).get('agent'), search(page).get('group')]).toEqual([baker, 'agent'])
    await page.getByRole('button', { name: 'By outcome' }).click()
    await groups('By outcome').getByRole('button', { name: 'failed' }).click()
    await expect.poll(() => rows.count()).toBe(1)
    await page.getByText('0 completed, 1 failed').waitFor()
    await page.reload()
    await expect.poll(() => rows.count()).toBe(1)
    await tab.check()
    await tab.close()
  })

  test('a menu stays while the words of its boxes are pressed, and opens by Enter; then Enter opens the row', async () => {
    const own = await agent('the smith')
    const id = await run(own, 'say iron')
    await run(own, 'fail 400')
    const tab = await visit(browser, shop.h, `/runs?agent=${own}`)
    const { page } = tab
    const rows = page.locator('table.runs tbody tr')
    const menu = page.locator('.filter-menu > summary').first()
    const words = page.getByRole('group', { name: 'Status' }).getByText('completed')
    await expect.poll(() => rows.count()).toBe(2)
    await menu.click()
    await words.click()
    await expect.poll(() => rows.count()).toBe(1)
    expect(search(page).get('status')).toBe('COMPLETED')
    // What is beside it closes it all the same, and so does Escape, which leaves the focus on its button.
    await page.getByRole('heading', { name: 'Runs' }).click()
    await words.waitFor({ state: 'hidden' })
    await menu.focus()
    await page.keyboard.press('Enter')
    await words.waitFor()
    await page.keyboard.press('Escape')
    await words.waitFor({ state: 'hidden' })
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.waitForURL(`**/runs/${id}`)
    expect(tab.faults).toEqual([])
    await tab.close()
  })

  test('runs of yesterday are those of that day, by the clock of the browser', async () => {
    const own = await agent('the weaver')
    const runAt = async (of: string, prompt: string) => {
      const id = await run(own, prompt)
      await query(
        shop.h.app.services.db,
        sql`update generations set created_at = ${of}::text::timestamptz where id = ${id}`,
      )
    }
    const day = new Date(new Date().setHours(0, 0, 0, 0))
    const at = (hour: number) => new Date(new Date(day).setHours(hour)).toISOString()
    await runAt(at(-25), 'say before')
    await runAt(at(-24), 'say first')
    await runAt(at(-1), 'say last')
    await run(own, 'say after')
    const tab = await visit(browser, shop.h, `/runs?agent=${own}`)
    const { page } = tab
    const rows = page.locator('table.runs tbody tr')
    await expect.poll(() => rows.count()).toBe(4)
    await page.getByLabel('Time').selectOption({ label: 'Yesterday' })
    await expect.poll(() => rows.count()).toBe(2)
    expect(await rows.allInnerTexts()).toEqual([
      expect.stringContaining('say last'),
      expect.stringContaining('say first'),
    ])
    expect(search(page).get('since')).toBe('yesterday')
    await tab.check()
    await tab.close()
  })

  test('whoever opens a row before the typing has paused is not led back to the list', async () => {
    const tab = await visit(browser, shop.h, '/tools')
    const { page } = tab
    await page.getByRole('link', { name: 'Send a refund' }).waitFor()
    // The next screen takes longer to load than what is typed is waited for.
    let go = () => {}
    const released = new Promise<void>((resolve) => (go = resolve))
    await page.route('**/assets/tool-*.js', async (route) => {
      await released
      await route.continue()
    })
    await page.clock.install()
    await page.keyboard.press('/')
    await page.keyboard.type('refund')
    await page.getByRole('link', { name: 'Send a refund' }).press('Enter')
    await page.waitForURL('**/tools/tool_*')
    // The clock of the page goes on past the pause of the typing.
    await page.clock.runFor(2_000)
    expect(new URL(page.url()).pathname).toBe(`/tools/${shop.refundId}`)
    go()
    await page.clock.resume()
    await page.getByRole('heading', { name: 'Send a refund' }).waitFor()
    expect(new URL(page.url()).search).toBe('')
    expect(tab.faults).toEqual([])
    await tab.close()
  })

  test('calls of a tool by status, agent, run and time, found again by going back', async () => {
    const [cook, waiter] = [await agent('cook'), await agent('waiter')]
    const own = await shop.h.mutate(
      'createTool',
      {
        name: 'serve',
        config: { http: { url: `${shop.till.url}/serve`, method: 'POST', inputSchema: { type: 'object' } } },
      },
      'tool { id }',
    )
    const toolId = own['tool'].id as string
    for (const id of [cook, waiter])
      await shop.h.mutate('updateAgent', { id, toolIds: [toolId] }, 'agent { id }')
    for (let i = 0; i < 3; i++) await run(cook, `call serve {"plate":${i}}`)
    await run(waiter, 'call serve {"plate":9}\ncall serve {"plate":10}')
    const tab = await visit(browser, shop.h, `/tools/${toolId}?tab=calls`)
    const { page } = tab
    const calls = page.locator('.call')
    await expect.poll(() => calls.count()).toBe(5)
    await page.getByLabel('Agent', { exact: true }).selectOption({ label: 'waiter' })
    await expect.poll(() => calls.count()).toBe(2)
    await page.keyboard.press('/')
    await page.keyboard.press('Enter')
    await page.getByRole('checkbox', { name: 'failed' }).check()
    await page.getByText('No matching calls.').waitFor()
    await page.goBack()
    await expect.poll(() => calls.count()).toBe(2)
    await page.getByRole('button', { name: 'Clear' }).click()
    await expect.poll(() => calls.count()).toBe(5)
    await calls.nth(4).locator('summary').click()
    await page.getByRole('button', { name: 'Calls of this run' }).click()
    await expect.poll(() => calls.count()).toBe(1)
    await tab.check()
    await page.getByRole('button', { name: /One run/ }).click()
    await expect.poll(() => calls.count()).toBe(5)
    await tab.close()
  })

  test('the audit by action, person, outcome, resource and time, and back at the place that was read', async () => {
    const dora = await shop.person('Dora', 'VIEWER')
    const refused = await shop.h.gql(
      'mutation($input: CreateAgentInput!) { createAgent(input: $input) { __typename } }',
      { input: { name: 'never' } },
      dora.secret,
    )
    expect(refused.errors?.[0]?.extensions?.['code']).toBe('FORBIDDEN')
    for (let i = 0; i < 55; i++)
      await shop.h.mutate('setSecret', { name: `secret_${i}`, value: `value ${i}` }, 'secret { name }')
    const tab = await visit(browser, shop.h, '/audit')
    const { page } = tab
    const rows = page.getByRole('region', { name: 'Audit entries' }).locator('tbody tr')
    await expect.poll(() => rows.count()).toBe(50)
    await page.keyboard.press('/')
    await page.keyboard.type('secrets:Set')
    await expect.poll(() => search(page).get('action')).toBe('secrets:Set')
    await expect.poll(() => rows.filter({ hasNotText: 'secrets:Set' }).count()).toBe(0)
    await page.getByRole('button', { name: 'Show more' }).click()
    await expect.poll(() => rows.count()).toBe(55)
    await rows.nth(52).scrollIntoViewIfNeeded()
    const place = await page.evaluate('scrollY')
    expect(place).toBeGreaterThan(500)
    // One press leads away; back is the same list at the same place.
    await page.getByRole('link', { name: 'Catalogue' }).click()
    await page.getByRole('heading', { name: 'Tools' }).waitFor()
    await page.goBack()
    await expect.poll(() => rows.count()).toBe(55)
    await expect.poll(() => page.evaluate('scrollY')).toBe(place)
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.getByLabel('By', { exact: true }).selectOption({ label: 'Dora' })
    await page.getByLabel('Outcome').selectOption('DENIED')
    await expect.poll(() => rows.count()).toBe(1)
    await rows.getByText('agents:Create').waitFor()
    await tab.check()
    // What is about a call says what the call does.
    const asked = await shop.ask('A-77', 31)
    await shop.settle()
    await shop.h.until(asked.generationId, ['COMPLETED', 'FAILED'])
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.getByLabel('Resource').fill(`tool/${shop.refundId}`)
    await expect.poll(() => search(page).get('on')).toBe(`tool/${shop.refundId}`)
    await rows.filter({ hasText: 'secrets:Set' }).first().waitFor({ state: 'detached' })
    await rows.getByText('A-77').first().waitFor()
    await rows.getByText('rejected').first().waitFor()
    await page.getByRole('button', { name: 'Clear' }).click()
    await rows.filter({ hasText: 'secrets:Set' }).first().getByRole('button', { name: 'Details' }).click()
    await page.getByRole('button', { name: 'Only this resource' }).click()
    await expect.poll(() => rows.count()).toBe(1)
    expect(search(page).get('on')).toMatch(/^secret\//)
    await page.getByLabel('Resource').fill('tool/none')
    await page.getByText('No matching entries').waitFor()
    await tab.check()
    await tab.close()
  })

  test('tools and agents are found by name on the server, and walked through by keys', async () => {
    for (const name of ['alpha one', 'alpha two', 'beta']) await agent(name)
    const tab = await visit(browser, shop.h, '/agents')
    const { page } = tab
    await page.getByRole('link', { name: 'beta' }).waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('ALPHA')
    await page.getByRole('link', { name: 'beta' }).waitFor({ state: 'detached' })
    await page.keyboard.press('Escape')
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await tab.check()
    await page.keyboard.press('k')
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    const focused = 'document.activeElement.textContent'
    expect(await page.evaluate(focused)).toBe('alpha one')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'alpha one' }).waitFor()
    await page.goBack()
    expect(await page.getByRole('searchbox').inputValue()).toBe('ALPHA')
    await page.goto(`${shop.h.url}/tools`)
    await page.getByRole('link', { name: 'Send a refund' }).waitFor()
    await page.keyboard.press('k')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/tools/tool_*')
    await tab.check()
    await tab.close()
  })
})
