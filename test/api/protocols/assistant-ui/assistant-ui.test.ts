/** assistant-ui in a real browser: its runtimes for the AI SDK, AG-UI and A2A, with one page. */
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { hasChromium, openChromium } from '../../../support/chromium.ts'
import { makeFixtures, type Fixtures } from '../../../support/fixtures.ts'
import { adminKey, openHarness, type Harness } from '../../../support/harness.ts'
import { copilotKitPackages } from '../../../support/peers.ts'
import { servePage, type ServedPage } from '../../../support/vite-page.ts'

describe.skipIf(!hasChromium || !copilotKitPackages)('a page of assistant-ui', () => {
  let h: Harness
  let fixtures: Fixtures
  let browser: Browser
  let served: ServedPage
  let count = 0
  const foreign: string[] = []

  beforeAll(async () => {
    h = await openHarness()
    fixtures = await makeFixtures(h)
    const toolIds = [fixtures.tools.look, fixtures.tools.act]
    await fixtures.agent({ name: 'plain', toolIds })
    await fixtures.agent({ name: 'gated', toolIds, gate: { mode: 'ALWAYS' } })
    browser = await openChromium()
    served = await servePage(join(import.meta.dirname, 'page'), {
      packages: copilotKitPackages!,
      env: { PATH: process.env['PATH']!, GATEHOUSE_URL: h.url, GATEHOUSE_KEY: adminKey },
    })
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

  async function open(runtime: string, agent: string) {
    const page: Page = await browser.newPage()
    onTestFinished(() => page.close())
    page.setDefaultTimeout(40_000)
    page.on('request', (request) => {
      const { protocol, origin } = new URL(request.url())
      if (protocol.startsWith('http') && origin !== served.url) foreign.push(request.url())
    })
    const thread = `${runtime}-${++count}`
    await page.goto(`${served.url}/?${new URLSearchParams({ runtime, agent, thread })}`)
    return {
      page,
      thread,
      async say(content: string) {
        await page.getByRole('textbox').fill(content)
        await page.getByRole('button', { name: 'Send' }).click()
      },
      answer: (text: string) =>
        page.getByTestId('assistant').getByText(text, { exact: true }).last().waitFor(),
      press: (name: string) => page.getByRole('button', { name, exact: true }).click(),
      executed: () => page.evaluate('executed'),
      errors: () => page.locator('#errors li').allTextContents(),
    }
  }
  const hits = (word: string) => fixtures.upstream.seen.filter(({ url }) => url.endsWith(`/${word}`)).length

  describe.each(['chat', 'ag-ui', 'a2a'])('%s', (runtime) => {
    test('text, a second turn, and a call that runs here', async () => {
      const shown = await open(runtime, 'plain')
      await shown.say('say one two')
      await shown.answer('one two')
      await shown.say(`call look {"word":"${shown.thread}"}\nthen\nsay three`)
      await shown.answer('three')
      expect([hits(shown.thread), await shown.errors()]).toEqual([1, []])
    })

    test.runIf(runtime !== 'a2a')('a tool of the page is executed once, and the run goes on', async () => {
      const shown = await open(runtime, 'plain')
      await shown.say('call locate {"word":"a"}\nthen\nsay found')
      await shown.answer('found')
      expect([await shown.executed(), await shown.errors()]).toEqual([['a'], []])
    })

    test.each([
      ['Approve', 1, 0],
      ['Reject', 0, 0],
      // The AI SDK has no word for edits.
      ...(runtime === 'chat' ? [] : [['Edit', 0, 1] as const]),
    ] as const)('a question of the gate is answered: %s', async (button, asAsked, asEdited) => {
      const shown = await open(runtime, 'gated')
      await shown.say(`call look {"word":"${shown.thread}"}\nthen\nsay went on`)
      await shown.press(button)
      await shown.answer('went on')
      expect([hits(shown.thread), hits(`edited-${shown.thread}`)]).toEqual([asAsked, asEdited])
      expect(await shown.errors()).toEqual([])
    })
  })

  test('a page with a chat of its own id that is loaded again asks again, and goes on', async () => {
    const shown = await open('known-chat', 'gated')
    await shown.say(`call look {"word":"${shown.thread}"}\nthen\nsay went on`)
    const approve = shown.page.getByRole('button', { name: 'Approve' })
    await approve.waitFor()
    await shown.page.reload()
    await approve.click()
    await shown.answer('went on')
    expect([hits(shown.thread), await shown.errors()]).toEqual([1, []])
  })
})
