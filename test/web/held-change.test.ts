/** A server takes a hint back: the tool's page says so, and a person accepts it there. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasChromium, openChromium, visit } from '../support/chromium.ts'
import { openHarness, type Harness } from '../support/harness.ts'
import { startModern, type ModernServer } from '../support/upstream-servers.ts'

describe.skipIf(!hasChromium)('a hint that a server takes back', { timeout: 180_000 }, () => {
  let browser: Browser
  let h: Harness
  let server: ModernServer

  beforeAll(async () => {
    browser = await openChromium()
    h = await openHarness()
    server = await startModern()
  })
  afterAll(async () => {
    await browser?.close()
    await h?.stop()
    await server?.kill()
  })

  test('is shown with the gate, and counts once somebody has accepted it', async () => {
    const say = (annotations: object) =>
      server.tools.set('drop', { tool: { name: 'drop', annotations }, run: () => ({ content: [] }) })
    say({ destructiveHint: true })
    const config = { mcp: { url: server.url } }
    const { tool } = await h.mutate('createTool', { name: 'store', config }, 'tool { id }')
    say({ destructiveHint: false })
    const read = () =>
      h.mutate(
        'refreshUpstream',
        { toolId: tool.id },
        'tool { ... on McpTool { actions { gate { mode } heldChange { changes } } } }',
      )
    await read()
    const tab = await visit(browser, h, `/tools/${tool.id}?tab=gate`)
    const notice = tab.page.getByRole('region', { name: 'This server changed its definition' })
    await notice.getByText('destructiveHint was true; this server now says false.').waitFor()
    await tab.check()
    await notice.getByRole('button', { name: 'Accept' }).click()
    const dialog = tab.page.getByRole('dialog')
    await dialog.getByText('Accept the new definition of drop?').waitFor()
    expect((await read())['tool'].actions[0].gate.mode).toBe('ALWAYS')
    await dialog.getByRole('button', { name: 'Accept' }).click()
    await tab.page.getByText('The change is in effect.').waitFor()
    await notice.waitFor({ state: 'detached' })
    expect((await read())['tool'].actions).toEqual([{ gate: { mode: 'NEVER' }, heldChange: null }])
  })
})
