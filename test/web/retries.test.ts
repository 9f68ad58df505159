/** Runs out of runs in a real browser: again with changes, and on from a step; each leads to the other. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasChromium, openChromium, visit } from '../support/chromium.ts'
import { makeFixtures, type Fixtures } from '../support/fixtures.ts'
import { adminKey, openHarness, type Harness } from '../support/harness.ts'

describe.skipIf(!hasChromium)('retries in the browser', { timeout: 180_000 }, () => {
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

  const completed = (page: Page) =>
    page.locator('.screen-head [role=status]').getByText('completed').waitFor()
  const acted = () => fixtures.upstream.seen.filter(({ url }) => url === '/act').length

  test('a run is started again with other words and settings, and both are linked', async () => {
    const agent = await fixtures.agent({ name: 'repeater', instructions: 'Be kind.', maxSteps: 9 })
    const more = { instructions: 'Be short.', maxSteps: 5 }
    const id = await fixtures.start(agent, 'say first', more)
    await h.until(id, ['COMPLETED'])
    const { page, check, close } = await visit(browser, h, `/runs/${id}?view=timeline`)
    await page.getByRole('button', { name: 'Run again …' }).click()
    const dialog = page.getByRole('dialog')
    expect(await dialog.getByLabel('What to do').inputValue()).toBe('say first')
    expect(await dialog.getByLabel('Maximum steps').inputValue()).toBe('5')
    expect(await dialog.getByLabel('More instructions, behind those of the agent').inputValue()).toBe(
      'Be short.',
    )
    await check()
    await dialog.getByLabel('What to do').fill('say second')
    await dialog.getByLabel('Maximum steps').fill('4')
    await dialog.getByRole('button', { name: 'Start the new run' }).click()
    await page.waitForURL((url) => !url.pathname.endsWith(id))
    await completed(page)
    const again = new URL(page.url()).pathname.split('/').at(-1)
    const { data } = await h.gql(
      `query($id: ID!) { generation(id: $id) { output { text } retryOf { id } retryStep
        input { settings { maxSteps instructions } } } }`,
      { id: again },
    )
    expect(data['generation']).toEqual({
      output: { text: 'second' },
      retryOf: { id },
      retryStep: 0,
      input: { settings: { maxSteps: 4, instructions: 'Be kind.\n\nBe short.' } },
    })
    await page.getByRole('region', { name: 'Facts' }).getByRole('link', { name: 'another run' }).click()
    await page.waitForURL(`**/runs/${id}`)
    const retries = page.locator('.run-facts > div').filter({ hasText: 'Retries' })
    await retries.getByText('completed').waitFor()
    await check()
    await retries.getByRole('link').click()
    await page.waitForURL(`**/runs/${again}`)
    await close()
  })

  test('a failed run goes on from its last step, and calls nothing twice', async () => {
    const agent = await fixtures.agent({ name: 'resumer' })
    const id = await fixtures.start(agent, 'call act {"word":"x"}\nthen\nfail 400')
    await h.until(id, ['FAILED'])
    const before = acted()
    const { page, check, close } = await visit(browser, h, `/runs/${id}?view=timeline`)
    await page.getByRole('button', { name: 'Retry from step 1 …' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Something to tell the model').fill('say it works now')
    await check()
    await dialog.getByRole('button', { name: 'Start the new run' }).click()
    await page.waitForURL((url) => !url.pathname.endsWith(id))
    await completed(page)
    expect(acted()).toBe(before)
    await page.getByRole('link', { name: 'Conversation' }).click()
    await page.getByText('It begins behind step 1 of').waitFor()
    await page.getByText('it works now', { exact: true }).waitFor()
    await check()
    await close()
  })

  test('a step without calls asks what to do next, and one that waits cannot be retried', async () => {
    const agent = await fixtures.agent({ name: 'chooser' })
    const id = await fixtures.start(agent, 'say well\ncall look {"word":"a"}\nthen\ncall ask {"word":"b"}')
    await h.until(id, ['REQUIRES_ACTION'])
    const { page, check, close } = await visit(browser, h, `/runs/${id}?view=timeline`)
    await page.getByRole('button', { name: 'Step 2', exact: true }).click()
    await page.getByRole('heading', { name: 'Step 2' }).waitFor()
    expect(await page.getByRole('button', { name: 'Retry from here …' }).count()).toBe(0)
    await fixtures.answer(id)
    await completed(page)
    await page.getByRole('button', { name: 'Step 3', exact: true }).click()
    await page.getByRole('button', { name: 'Retry from here …' }).click()
    const start = page.getByRole('dialog').getByRole('button', { name: 'Start the new run' })
    expect(await start.isDisabled()).toBe(true)
    await page.getByLabel('What to do next').fill('say once more')
    await start.click()
    await page.waitForURL((url) => !url.pathname.endsWith(id))
    await completed(page)
    await check()
    await close()
  })

  test('the start is copied for a shell, which starts the same again with a key of its own', async () => {
    const agent = await fixtures.agent({ name: 'copied', maxSteps: 9 })
    const prompt = 'say it\'s $HOME, "quoted" and `plain`'
    const id = await fixtures.start(agent, prompt, { maxSteps: 3 })
    await h.until(id, ['COMPLETED'])
    const { page, check, close } = await visit(browser, h, `/runs/${id}?view=timeline`)
    await page.getByText('Start it from a program').click()
    const command = await page.getByRole('region', { name: 'curl command' }).innerText()
    expect(command).toContain('Bearer $GATEHOUSE_KEY')
    expect(command).not.toContain(adminKey)
    await check()
    const answer = await promisify(execFile)('sh', ['-c', command], {
      env: { ...process.env, GATEHOUSE_KEY: adminKey },
    })
    const started = JSON.parse(answer.stdout).data.startGeneration.generation.id as string
    const fields = 'input { messages { content } settings { maxSteps } }'
    expect(await h.until(started, ['COMPLETED'], fields)).toMatchObject({
      output: { text: prompt.replace('say ', '') },
      input: { messages: [{ content: prompt }], settings: { maxSteps: 3 } },
    })
    // The operation and its variables are those of any GraphQL client.
    const query = await page.getByRole('region', { name: 'operation' }).innerText()
    const variables = JSON.parse(await page.getByRole('region', { name: 'variables' }).innerText())
    expect((await h.gql(query, variables)).data['startGeneration'].__typename).toBe('GenerationPayload')
    await close()
  })
})
