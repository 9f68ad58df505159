/** Runs found by time and money, and two of them beside each other, in a real browser. */
import type { Browser, Page } from 'playwright-core'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { query } from '../../src/store/db/database.ts'
import { hasChromium, openChromium, visit } from '../support/chromium.ts'
import { makeFixtures, type Fixtures } from '../support/fixtures.ts'
import { openHarness, type Harness } from '../support/harness.ts'

describe.skipIf(!hasChromium)('runs compared in the browser', { timeout: 180_000 }, () => {
  let h: Harness
  let fixtures: Fixtures
  let browser: Browser

  beforeAll(async () => {
    h = await openHarness()
    fixtures = await makeFixtures(h)
    browser = await openChromium()
  })
  afterAll(async () => {
    await browser?.close()
    await fixtures?.close()
    await h?.stop()
  })

  const finish = async (agent: string, prompt: string, more: object = {}) => {
    const id = await fixtures.start(agent, prompt, more)
    await h.until(id, ['COMPLETED'])
    return id
  }
  const heads = (page: Page) => page.locator('.compare-facts thead a')
  const hrefs = (page: Page) =>
    heads(page).evaluateAll((links) => links.map((link) => (link as any).getAttribute('href')))
  const fact = (page: Page, name: string) =>
    page.locator('.compare-facts tr').filter({ has: page.getByRole('rowheader', { name, exact: true }) })

  test('the list is narrowed by duration and cost, as they are typed, and the address keeps it', async () => {
    const agent = await fixtures.agent({ name: 'spender' })
    const [slow, quick] = [await finish(agent, 'say slow'), await finish(agent, 'say quick')]
    await h.mutate('setModelPrice', { model: 'corp/own', input: 10, output: 50 }, 'price { model }')
    await query(
      h.app.services.db,
      sql`update generations set model = 'corp/own', input_tokens = 30000, output_tokens = 4000,
        cached_input_tokens = 0, started_at = finished_at - interval '7 minutes' where id = ${slow}`,
    )
    const tab = await visit(browser, h, `/runs?agent=${agent}`)
    const { page } = tab
    const rows = page.locator('table.runs tbody tr')
    await rows.filter({ hasText: '$0.50' }).filter({ hasText: '7 min 0 s' }).waitFor()
    await page.getByText('Any duration and cost').click()
    await page.getByLabel('Duration, at least').fill('5 min')
    await expect
      .poll(() => rows.getByRole('link').evaluateAll((all) => all.map(String)))
      .toEqual([expect.stringContaining(slow)])
    expect(new URL(page.url()).searchParams.get('minDurationSeconds')).toBe('300')
    await tab.check()
    // What is none, and what no run can keep, is said at the field and not asked for.
    await page.getByLabel('Duration, at most').fill('soon')
    await page.getByText('Write it like 5 min').waitFor()
    await page.getByLabel('Duration, at most').fill('1 min')
    await page.getByText('The least is above the most.').first().waitFor()
    expect(new URL(page.url()).searchParams.get('maxDurationSeconds')).toBeNull()
    await page.getByLabel('Duration, at most').fill('')
    await page.getByLabel('Duration, at least').fill('')
    await page.getByLabel('Cost in USD, at most').fill('0,49')
    await expect
      .poll(() => rows.getByRole('link').evaluateAll((all) => all.map(String)))
      .toEqual([expect.stringContaining(quick)])
    await page.keyboard.press('Escape')
    await page.getByText('≤ 0.49 USD').waitFor()
    await page.reload()
    await page.getByText('≤ 0.49 USD').click()
    expect(await page.getByLabel('Cost in USD, at most').inputValue()).toBe('0.49')
    await tab.check()
    await tab.close()
  })

  test('two runs of the list are selected by keys and stand beside each other, on a phone one after the other', async () => {
    const agent = await fixtures.agent({
      name: 'twin',
      instructions: 'Be kind.',
      toolIds: [fixtures.tools.look],
    })
    const one = await finish(agent, 'say first')
    const two = await finish(agent, 'call look {"word":"second"}', { instructions: 'Be short.' })
    const tab = await visit(browser, h, `/runs?agent=${agent}`)
    const { page } = tab
    await page.locator('table.runs tbody tr').nth(1).waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('x')
    await page.getByText('Select another run to compare it with.').waitFor()
    await page.getByRole('checkbox', { name: 'Select twin say first' }).check()
    await tab.check()
    await page.getByRole('link', { name: 'Compare', exact: true }).click()
    await page.waitForURL(`**/runs/${two}/compare/${one}`)
    await heads(page).nth(1).waitFor()
    expect(await hrefs(page)).toEqual([`/runs/${two}`, `/runs/${one}`])
    const differences = page.getByRole('list', { name: 'Differences' })
    expect(await differences.locator('li > :first-child').allTextContents()).toEqual([
      'instructions',
      'messages[0].content',
    ])
    await differences.getByText('Be short.').waitFor()
    await fact(page, 'Outcome').getByText('completed').nth(1).waitFor()
    await fact(page, 'Calls').getByText('look').waitFor()
    await fact(page, 'Calls').getByText('succeeded').waitFor()
    await fact(page, 'Cost').getByText('$0.00').nth(1).waitFor()
    await page.getByRole('region', { name: 'Second run' }).getByText('first', { exact: true }).waitFor()
    const boxes = async () => {
      const [left, right] = await Promise.all(
        ['First run', 'Second run'].map((name) => page.getByRole('region', { name }).boundingBox()),
      )
      return { left: left!, right: right! }
    }
    const wide = await boxes()
    expect(wide.right.y).toBe(wide.left.y)
    expect(wide.right.x).toBeGreaterThan(wide.left.x + wide.left.width)
    await tab.check()
    await page.setViewportSize({ width: 390, height: 844 })
    const narrow = await boxes()
    expect(narrow.right.y).toBeGreaterThanOrEqual(narrow.left.y + narrow.left.height)
    expect(narrow.right.x).toBe(narrow.left.x)
    await page.keyboard.press('Escape')
    await page.waitForURL(`**/runs/${two}`)
    expect(tab.faults).toEqual([])
    await tab.close()
  })

  test('the same words with other instructions lead to the comparison, and the retry is offered first', async () => {
    const agent = await fixtures.agent({ name: 'tried', instructions: 'Be kind.' })
    const first = await finish(agent, 'say hello')
    const later = await finish(agent, 'say something else')
    const tab = await visit(browser, h, `/runs/${first}`)
    const { page } = tab
    await page.getByRole('button', { name: 'Run again …' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Settings of this run').click()
    await dialog.getByLabel('More instructions, behind those of the agent').fill('Be short.')
    await dialog.getByRole('button', { name: 'Start the new run' }).click()
    await page.waitForURL(`**/runs/${first}/compare/gen_*`)
    const again = new URL(page.url()).pathname.split('/').at(-1)!
    await fact(page, 'Outcome').getByText('completed').nth(1).waitFor()
    const differences = page.getByRole('list', { name: 'Differences' })
    expect(await differences.locator('li > :first-child').allTextContents()).toEqual(['instructions'])
    await tab.check()
    await page.keyboard.press('Escape')
    await page.waitForURL(`**/runs/${first}`)
    await page.getByRole('button', { name: 'Compare with …' }).click()
    const others = dialog.getByRole('list', { name: 'Runs' }).getByRole('listitem')
    await others.nth(1).waitFor()
    expect(
      await others.getByRole('link').evaluateAll((all) => all.map((link) => (link as any).pathname)),
    ).toEqual([`/runs/${first}/compare/${again}`, `/runs/${first}/compare/${later}`])
    await others.first().getByText('a retry').waitFor()
    await tab.check()
    await dialog.getByLabel('Search or paste an id').fill(later)
    await expect.poll(() => others.count()).toBe(1)
    await others.getByRole('link').press('Enter')
    await page.waitForURL(`**/runs/${first}/compare/${later}`)
    await heads(page).nth(1).waitFor()
    await tab.close()
  })

  test('a run that does not exist, or is of another project, is named and not shown', async () => {
    const id = await finish(await fixtures.agent({ name: 'here' }), 'say here')
    const { project } = await h.mutate('createProject', { name: 'elsewhere' }, 'project { id }')
    const made = await h.mutate('createApiKey', { name: 'e', role: 'ADMIN', projectId: project.id }, 'secret')
    const by = made['secret'] as string
    const { agent } = await h.mutate('createAgent', { name: 'secretive' }, 'agent { id }', by)
    const start = { agentId: agent.id, prompt: 'say secret' }
    const { generation } = await h.mutate('startGeneration', start, 'generation { id }', by)
    const here = await h.mutate('createApiKey', { name: 'h', role: 'ADMIN' }, 'secret')
    const tab = await visit(browser, h, `/runs/${id}`, { key: here['secret'] })
    const { page } = tab
    for (const other of ['gen_none', generation.id]) {
      for (const pair of [`${id}/compare/${other}`, `${other}/compare/${id}`]) {
        await page.goto(`${h.url}/runs/${pair}`)
        await page.getByRole('heading', { name: 'There is no such run' }).waitFor()
        await page.getByText(other, { exact: true }).waitFor()
        expect(await page.getByText('secretive').count()).toBe(0)
      }
    }
    await tab.check()
    await tab.close()
  })
})
