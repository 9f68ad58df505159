/** A run that failed, keeps failing or is paused says so on its page in a real browser, with what helps. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasChromium, openChromium, visit } from '../support/chromium.ts'
import { makeFixtures, type Fixtures } from '../support/fixtures.ts'
import { openHarness, type Harness } from '../support/harness.ts'
import { startLoopback, type Loopback } from '../support/loopback.ts'
import { startStrictProvider } from '../support/strict-provider.ts'
import { refusing } from '../support/tool-refusals.ts'

describe.skipIf(!hasChromium)('a run explains itself', { timeout: 180_000 }, () => {
  let h: Harness
  let fixtures: Fixtures
  let browser: Browser
  let provider: Loopback

  beforeAll(async () => {
    h = await openHarness()
    fixtures = await makeFixtures(h)
    browser = await openChromium()
    const error = { message: 'temperature must be below 1, see http://10.1.2.3/help (key sk-abcd1234)' }
    provider = await startLoopback((_request, response) => {
      response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ error }))
    })
    const input = { name: 'odd', kind: 'COMPATIBLE', baseUrl: `${provider.url}/v1`, defaultModel: 'm1' }
    await h.mutate('setProvider', input, 'provider { id }')
  })
  afterAll(async () => {
    await browser?.close()
    await provider?.close()
    await fixtures?.close()
    await h?.stop()
  })

  const why = (page: Page) => page.getByRole('region', { name: 'Why it failed' })

  test('what the provider answered, of which model, when, and what helps', async () => {
    const agent = await fixtures.agent({ name: 'hot', model: 'odd/m1', toolIds: [] })
    const id = await fixtures.start(agent, 'hello')
    await h.until(id, ['FAILED'])
    const { page, check, close } = await visit(browser, h, `/runs/${id}?view=timeline`)
    await why(page).getByText('The provider did not accept the request', { exact: true }).waitFor()
    await why(page).getByText('Step 1, odd/m1, HTTP 400, asked once, MODEL_BAD_REQUEST').waitFor()
    await why(page).getByText('It said: temperature must be below 1').first().waitFor()
    await why(page).getByText('The attempt').click()
    await why(page).getByText('Attempt 1').waitFor()
    const words = await why(page).innerText()
    expect(words).not.toContain('10.1.2.3')
    expect(words).not.toContain('sk-abcd')
    await check()
    await why(page).getByRole('link', { name: 'the agent' }).click()
    await page.waitForURL(`**/agents/${agent}`)
    await close()
  })

  test('tools that a model did not get are named at its step and at its agent', async () => {
    const picky = await startStrictProvider()
    picky.refuse(refusing('name', ['look']))
    picky.script({ text: 'done' })
    const { baseUrl } = picky.settings('compatible')
    const input = { name: 'picky', kind: 'COMPATIBLE', baseUrl, defaultModel: 'm1' }
    await h.mutate('setProvider', input, 'provider { id }')
    const agent = await fixtures.agent({ name: 'without', model: 'picky/m1' })
    const id = await fixtures.start(agent, 'hello')
    await h.until(id, ['COMPLETED'])
    await picky.close()
    const { page, check, close } = await visit(browser, h, `/runs/${id}?view=timeline`)
    await page.getByRole('button', { name: 'Step 1', exact: true }).click()
    await page.getByText('The model did not get these tools:').waitFor()
    await page.getByText("It said: Invalid schema for function 'look'").waitFor()
    await check()
    await page.goto(`${h.url}/agents/${agent}?tab=surface`)
    const note = page.getByRole('alert')
    await note.getByText('In its newest run its model did not get these tools').waitFor()
    await note.getByText("It said: Invalid schema for function 'look'").waitFor()
    await check()
    await close()
  })

  test('a model that is not set up leads to the providers', async () => {
    const agent = await fixtures.agent({ name: 'unset', model: 'nowhere/m1', toolIds: [] })
    const id = await fixtures.start(agent, 'hello')
    await h.until(id, ['FAILED'])
    const { page, check, close } = await visit(browser, h, `/runs/${id}?view=timeline`)
    await why(page).getByText('The model is not set up').waitFor()
    await why(page).getByText('Step 1, MODEL_NOT_CONFIGURED').waitFor()
    await check()
    await why(page).getByRole('link', { name: 'Providers' }).click()
    await page.waitForURL('**/settings/providers')
    await page.getByRole('row', { name: /odd/ }).waitFor()
    await close()
  })

  test('attempts that fail are told while the run goes on, and stay with their step', async () => {
    const agent = await fixtures.agent({ name: 'limited' })
    const id = await fixtures.start(agent, 'fail 429 after 3s\nsay well')
    const { page, check, close } = await visit(browser, h, `/runs/${id}?view=timeline`)
    const failing = page.getByRole('region', { name: 'What keeps failing' })
    await failing.getByText('HTTP 429, asked once, MODEL_RATE_LIMITED').waitFor()
    await check()
    await page.locator('.screen-head [role=status]').getByText('completed').waitFor()
    await failing.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Step 1', exact: true }).click()
    const attempts = page.getByRole('region', { name: 'Failed attempts' })
    await attempts.getByText('HTTP 429').waitFor()
    await attempts.getByText('The provider is limiting our requests.').waitFor()
    await close()
  })

  test('a run that a pause holds says by whom and why, and goes on from its page', async () => {
    const agent = await fixtures.agent({ name: 'stopped' })
    await h.mutate('pause', { agentId: agent, reason: 'month end' }, 'pause { id }')
    const id = await fixtures.start(agent, 'say on we go')
    const { page, check, close } = await visit(browser, h, `/runs/${id}?view=timeline`)
    const held = page.getByRole('region', { name: 'Why it waits' })
    await held.getByText('Paused: the agent stopped').waitFor()
    await held.getByText('month end').waitFor()
    await check()
    await held.getByRole('button', { name: /^Resume/ }).click()
    await page.locator('.screen-head [role=status]').getByText('completed').waitFor()
    await held.waitFor({ state: 'detached' })
    await check()
    await close()
  })
})
