/** CopilotKit's React packages in a real browser: the chat of CopilotKit and its hooks, with no runtime of CopilotKit. */
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { hasChromium, openChromium } from '../../../support/chromium.ts'
import { adminKey, openHarness, type Harness } from '../../../support/harness.ts'
import { copilotKitPackages } from '../../../support/peers.ts'
import { makeFixtures, type Fixtures } from '../../../support/fixtures.ts'
import { servePage, type ServedPage } from '../../../support/vite-page.ts'

describe.skipIf(!hasChromium || !copilotKitPackages)('a page of React', () => {
  let h: Harness
  let fixtures: Fixtures
  let browser: Browser
  let served: ServedPage
  let agents: Record<string, string>
  let count = 0
  const foreign: string[] = []

  const envOf = (key: string) => ({
    PATH: process.env['PATH']!,
    GATEHOUSE_URL: h.url,
    GATEHOUSE_KEY: key,
  })

  beforeAll(async () => {
    h = await openHarness()
    fixtures = await makeFixtures(h)
    agents = {
      plain: await fixtures.agent({ name: 'plain' }),
      gated: await fixtures.agent({ name: 'gated', gate: { mode: 'ALWAYS' } }),
    }
    browser = await openChromium()
    const page = join(import.meta.dirname, 'copilotkit-page')
    served = await servePage(page, { packages: copilotKitPackages!, env: envOf(adminKey) })
  })
  afterEach(() => {
    expect(foreign.splice(0)).toEqual([])
  })
  afterAll(async () => {
    await served?.close()
    await browser?.close()
    await fixtures?.close()
    await h?.stop()
  })

  interface Shown {
    page: Page
    thread: string
    say(content: string): Promise<void>
    /** Waits for this answer of the assistant. */
    answer(text: string): Promise<void>
    press(name: string): Promise<void>
    executed(): Promise<string[]>
    errors(): Promise<string[]>
  }

  async function open(agent: string, at = served, thread = `react ${++count}`): Promise<Shown> {
    const page = await browser.newPage()
    onTestFinished(() => page.close())
    page.setDefaultTimeout(40_000)
    page.on('request', (request) => {
      const { protocol, origin } = new URL(request.url())
      if (protocol.startsWith('http') && origin !== at.url) foreign.push(request.url())
    })
    await page.goto(`${at.url}/?${new URLSearchParams({ agent, thread })}`)
    await page.getByRole('textbox').waitFor()
    return {
      page,
      thread,
      async say(content) {
        await page.getByRole('textbox').fill(content)
        // It is enabled as soon as the page knows its agents; a key before that does nothing.
        await page.getByTestId('copilot-send-button').click()
      },
      answer: (text) =>
        page.getByTestId('copilot-assistant-message').getByText(text, { exact: true }).last().waitFor(),
      press: (name) => page.getByRole('button', { name, exact: true }).click(),
      executed: () => page.evaluate('executed'),
      errors: () => page.locator('#errors li').allTextContents(),
    }
  }

  async function runsOf({ thread }: Shown, agent: string): Promise<any[]> {
    const { data } = await h.gql(
      `query($a: ID!, $e: String) { threads(agentId: $a, externalId: $e, first: 1) { nodes {
        generations(first: 5) { nodes { id status toolCalls { name status } } } } } }`,
      { a: agents[agent], e: thread },
    )
    return data['threads'].nodes[0]?.generations.nodes ?? []
  }
  const hits = (word: string) => fixtures.upstream.seen.filter(({ url }) => url.endsWith(`/${word}`)).length

  test('text is shown while it is written, and the next message continues the thread', async () => {
    const shown = await open('plain')
    await shown.say('slow 300ms\nsay one two three four five six seven eight')
    await shown.page
      .getByTestId('copilot-assistant-message')
      .getByText(/^one.*(?<! eight)$/)
      .waitFor()
    await shown.answer('one two three four five six seven eight')
    await shown.say('say nine')
    await shown.answer('nine')
    expect([await runsOf(shown, 'plain'), await shown.errors()]).toMatchObject([
      [{ status: 'COMPLETED' }, { status: 'COMPLETED' }],
      [],
    ])
  })

  test('a call that runs here is shown with its result', async () => {
    const shown = await open('plain')
    await shown.say('call look {"word":"here"}\nthen\nsay done')
    await shown.page.getByText(/tool look complete .*"saw"/).waitFor()
    await shown.answer('done')
    expect([hits('here'), await shown.errors()]).toEqual([1, []])
  })

  test('tools of the page are executed once each, and the run goes on with their results', async () => {
    const shown = await open('plain')
    await shown.say('call locate {"word":"a"}\ncall locate {"word":"b"}\nthen\nsay done')
    await shown.answer('done')
    expect([await shown.executed(), await shown.errors()]).toEqual([['a', 'b'], []])
    expect(await runsOf(shown, 'plain')).toMatchObject([
      { status: 'COMPLETED', toolCalls: [{ status: 'SUCCEEDED' }, { status: 'SUCCEEDED' }] },
    ])
    // Opened anew, the page shows the calls, and does not execute them again.
    await shown.page.reload()
    await shown.answer('done')
    expect([await shown.executed(), await shown.errors()]).toEqual([[], []])
  })

  test('a person answers a tool of the page, also after the page was opened anew', async () => {
    const shown = await open('plain')
    await shown.say('call choose {"word":"first"}\nthen\nsay done')
    await shown.press('Choose')
    await shown.answer('done')
    await shown.say('call choose {"word":"second"}\nthen\nsay again')
    await shown.page.getByText('choose second executing').waitFor()
    await shown.page.reload()
    await shown.press('Choose')
    await shown.answer('again')
    await shown.page.getByText('choose second complete chose second').waitFor()
    expect([await runsOf(shown, 'plain'), await shown.errors()]).toMatchObject([
      [{ status: 'COMPLETED' }, { status: 'COMPLETED' }],
      [],
    ])
  })

  test.each([
    ['Approve', 'approve', [1, 0]],
    ['Reject', 'reject', [0, 0]],
    ['Edit', 'edit', [0, 1]],
    ['Cancel', 'cancel', [0, 0]],
  ])('a question of the gate is answered: %s', async (button, word, ran) => {
    const shown = await open('gated')
    await shown.say(`call look {"word":"${word}"}\nthen\nsay done`)
    await shown.page.getByText(`look ${word} waits`).waitFor()
    expect(hits(word)).toBe(0)
    await shown.press(button)
    await shown.answer('done')
    expect([hits(word), hits(`edited-${word}`)]).toEqual(ran)
    expect([await shown.page.getByText('waits').count(), await shown.errors()]).toEqual([0, []])
  })

  test('two questions are answered one by one', async () => {
    const shown = await open('gated')
    await shown.say('call look {"word":"both"}\ncall locate {"word":"both"}\nthen\nsay done')
    const answer = (text: string, button: string) =>
      shown.page.locator('p', { hasText: text }).getByRole('button', { name: button }).click()
    await shown.page.getByText('locate both waits').waitFor()
    await answer('look both waits', 'Reject')
    await answer('locate both waits', 'Approve')
    await shown.answer('done')
    expect([hits('both'), await shown.executed(), await shown.errors()]).toEqual([0, ['both'], []])
  })

  test('a page that is opened anew is asked again, and shows nothing twice', async () => {
    const shown = await open('gated')
    await shown.say('call look {"word":"reload"}\nthen\nsay done')
    await shown.page.getByText('look reload waits').waitFor()
    await shown.page.reload()
    await shown.page.getByText('look reload waits').waitFor()
    await shown.press('Approve')
    await shown.answer('done')
    expect([hits('reload'), await shown.page.getByTestId('copilot-user-message').count()]).toEqual([1, 1])
    expect([await shown.errors(), await runsOf(shown, 'gated')]).toMatchObject([
      [],
      [{ status: 'COMPLETED' }],
    ])
  })

  test('a page that is loaded again in the middle of a text gets all of it', async () => {
    const shown = await open('plain')
    const text = 'one two three four five six seven eight nine ten'
    await shown.say(`slow 300ms\nsay ${text}`)
    await shown.page
      .getByTestId('copilot-assistant-message')
      .getByText(/^one two/)
      .waitFor()
    await shown.page.reload()
    await shown.answer(text)
    expect(await runsOf(shown, 'plain')).toMatchObject([{ status: 'COMPLETED' }])
  })

  test('a tool of the page is executed only after it was approved', async () => {
    const shown = await open('gated')
    await shown.say('call locate {"word":"cellar"}\nthen\nsay done')
    await shown.page.getByText('locate cellar waits').waitFor()
    expect(await shown.executed()).toEqual([])
    await shown.press('Approve')
    await shown.answer('done')
    expect([await shown.executed(), await shown.errors()]).toEqual([['cellar'], []])
  })

  test('a run that fails is an error of the page, and the next message goes on', async () => {
    const shown = await open('plain')
    await shown.say('fail 400')
    await shown.page.locator('#errors li').first().waitFor()
    expect(await shown.errors()).toEqual([expect.stringMatching(/^agent_run_error_event: ./)])
    await shown.say('say better')
    await shown.answer('better')
  })

  test('stop cancels the run, and the next message starts another', async () => {
    const shown = await open('plain')
    await shown.say(`slow 100ms\nsay ${'word '.repeat(300)}`)
    await shown.page.getByTestId('copilot-assistant-message').getByText(/^word/).waitFor()
    await shown.page.getByTestId('copilot-send-button').click()
    await expect.poll(async () => (await runsOf(shown, 'plain'))[0].status).toBe('CANCELLED')
    await shown.say('say next')
    await shown.answer('next')
    expect(await shown.errors()).toEqual([])
  })

  test('a key of another project sees neither the agent nor the thread', async () => {
    const mine = await open('gated')
    await mine.say('call look {"word":"stolen"}\nthen\nsay done')
    await mine.page.getByText('look stolen waits').waitFor()
    const { project } = await h.mutate('createProject', { name: 'other' }, 'project { id }')
    await h.mutate('createAgent', { name: 'gated', projectId: project.id }, 'agent { id }')
    const input = { projectId: project.id, name: 'k', role: 'ADMIN' }
    const { secret } = await h.mutate('createApiKey', input, 'secret')
    const theirs = await served.again(envOf(secret))
    try {
      const other = await open('gated', theirs, mine.thread)
      await other.say('say mine')
      await other.answer('mine')
      expect(await other.page.getByText('stolen').count()).toBe(0)
    } finally {
      await theirs.close()
    }
    expect(await runsOf(mine, 'gated')).toMatchObject([{ status: 'AWAITING_APPROVAL' }])
    expect(hits('stolen')).toBe(0)
  })
})
