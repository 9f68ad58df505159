/** Text that would like to be more than text, on every screen: names, descriptions, arguments, results, errors, model text. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasChromium, openChromium, visit } from '../support/chromium.ts'
import { openHarness, type Harness } from '../support/harness.ts'
import { startLoopback, type Loopback } from '../support/loopback.ts'
import { objectSchema } from '../support/fixtures.ts'

/** Markup in the forms that pages have run by mistake, and characters that hide or turn text round. */
const markup = `<img src=x onerror="globalThis.pwned=1"><script>globalThis.pwned=2</script><svg onload=pwned=3>{{7*7}}`
const hidden = 'safe\u202Egnp.exe\u200B\u2066'

describe.skipIf(!hasChromium)('hostile text', { timeout: 270_000 }, () => {
  let browser: Browser
  let h: Harness
  let upstream: Loopback

  beforeAll(async () => {
    browser = await openChromium()
    h = await openHarness()
    upstream = await startLoopback((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' }).end(`${markup} ${hidden}`)
    })
  })
  afterAll(async () => {
    await browser?.close()
    await upstream?.close()
    await h?.stop()
  })

  /** A tool, an agent, a run and a question that are named and filled with it. */
  async function furnish() {
    const schema = objectSchema({ word: { type: 'string', description: markup, title: markup } }, ['word'])
    const make = async (name: string, gate: object) => {
      const http = { url: `${upstream.url}/${name}`, method: 'POST', inputSchema: schema }
      const made = await h.mutate(
        'createTool',
        { name, title: markup.slice(0, 100), description: markup, config: { http }, gate },
        'tool { id }',
      )
      return made['tool'].id as string
    }
    const [open, gated] = [await make('open', { mode: 'NEVER' }), await make('gated', { mode: 'ALWAYS' })]
    const agent = await h.mutate(
      'createAgent',
      { name: `${markup.slice(0, 60)} ${hidden}`, instructions: markup, toolIds: [open, gated] },
      'agent { id }',
    )
    const agentId = agent['agent'].id as string
    const word = JSON.stringify({ word: `${markup} ${hidden}` })
    const prompt = `say ${markup}\ncall open ${word}\nthen\nsay ${markup}\ncall gated ${word}`
    const run = await h.mutate('startGeneration', { agentId, prompt }, 'generation { id }')
    const runId = run['generation'].id as string
    const waiting = await h.until(runId, ['AWAITING_APPROVAL'], 'requiredAction { approvals { id } }')
    return { open, agentId, runId, approvalId: waiting['requiredAction'].approvals[0].id as string }
  }

  const isTouched = (page: Page) =>
    page.evaluate(() => {
      const { document, pwned } = globalThis as unknown as {
        document: { querySelectorAll(selector: string): { length: number } }
        pwned?: number
      }
      return {
        pwned: pwned ?? null,
        elements: document.querySelectorAll('img[src="x"], svg[onload], [onerror]').length,
      }
    })

  test('is shown as text on every screen, with what is hidden in it as marks', async () => {
    const { open, agentId, runId, approvalId } = await furnish()
    const paths = [
      '/approvals',
      `/approvals/${approvalId}`,
      '/runs',
      `/runs/${runId}`,
      `/runs/${runId}?view=timeline`,
      `/runs/${runId}?view=events`,
      '/agents',
      `/agents/${agentId}`,
      '/tools',
      `/tools/${open}`,
      '/audit',
      `/approvals?view=${encodeURIComponent(markup)}`,
      `/runs?agent=${encodeURIComponent(markup)}&q=${encodeURIComponent(markup)}&by=${encodeURIComponent(markup)}`,
      `/audit?action=${encodeURIComponent(markup)}&on=${encodeURIComponent(markup)}&by=${encodeURIComponent(markup)}`,
      `/tools?q=${encodeURIComponent(markup)}`,
      `/agents?q=${encodeURIComponent(markup)}`,
      `/tools/${open}?tab=calls&agent=${encodeURIComponent(markup)}&run=${encodeURIComponent(markup)}`,
    ]
    const tab = await visit(browser, h, '/')
    for (const path of paths) {
      await tab.page.goto(h.url + path)
      await tab.page.locator('main h1').first().waitFor()
      await tab.page.waitForLoadState('networkidle')
      expect(await isTouched(tab.page), path).toEqual({ pwned: null, elements: 0 })
      expect(tab.faults, path).toEqual([])
    }
    await tab.page.goto(`${h.url}/approvals/${approvalId}`)
    const shown = tab.page.getByLabel('Arguments', { exact: true })
    await shown.waitFor()
    expect(await shown.innerText()).toContain('<img src=x onerror=')
    expect(await shown.locator('.mark').allInnerTexts()).toEqual(['U+202E', 'U+200B', 'U+2066'])
    await tab.check()
    await tab.close()
  })
})
