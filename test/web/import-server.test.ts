/** A server of an MCP registry is imported, and a later version put in its place, in a real browser. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Browser } from 'playwright-core'
import { hasChromium, openChromium, visit } from '../support/chromium.ts'
import { openHarness, type Harness } from '../support/harness.ts'
import { startModern, type ModernServer } from '../support/upstream-servers.ts'

describe.skipIf(!hasChromium)('the server.json of a registry', { timeout: 180_000 }, () => {
  let browser: Browser
  let h: Harness
  let server: ModernServer
  beforeAll(async () => {
    browser = await openChromium()
    h = await openHarness()
    server = await startModern()
    server.tools.set('echo', { tool: { name: 'echo' }, run: () => ({ content: [] }) })
  })
  afterAll(async () => {
    await browser?.close()
    await h?.stop()
    await server?.kill()
  })

  const documentOf = (version: string, more: object = {}) =>
    JSON.stringify({
      name: 'com.example/notes',
      description: 'Notes of a team.',
      version,
      remotes: [{ type: 'streamable-http', url: server.url, ...more }],
    })

  test('becomes a tool that serves nothing, and a later one is shown with what changed', async () => {
    const tab = await visit(browser, h, '/upstreams/new')
    const { page } = tab
    const box = (name: string) => page.getByRole('dialog').getByRole('textbox', { name, exact: true })
    const send = () => page.getByRole('dialog').getByRole('button', { name: 'Import', exact: true }).click()
    await page.getByRole('button', { name: 'Import a server.json' }).click()
    await tab.check()
    await box('Or the document itself').fill('{')
    await send()
    await page.getByRole('dialog').getByText('server: is not JSON').waitFor()
    await box('Or the document itself').fill(documentOf('latest'))
    await send()
    await page.getByRole('dialog').getByText('version:').waitFor()
    const asks = { headers: [{ name: 'X-Team', isRequired: true, description: 'The team.' }] }
    await box('Or the document itself').fill(documentOf('1.0.0', asks))
    await send()
    await page.getByRole('dialog').getByText('X-Team').last().waitFor()
    await box('What the server asks for').fill('{"X-Team":"blue"}')
    await send()
    await page.waitForURL(/\/tools\/tool_\w+\?tab=definition/)
    const id = /tool_\w+/.exec(page.url())![0]
    const read = async () =>
      (await h.gql(`{ tool(id: "${id}") { registryEntry { version } ... on McpTool { allow headers } } }`))
        .data['tool']
    expect(await read()).toEqual({
      registryEntry: { version: '1.0.0' },
      allow: [],
      headers: { 'X-Team': 'blue' },
    })
    // A later version takes its place only if that is asked for.
    await page.goto(`${h.url}/upstreams/new`)
    await page.getByRole('button', { name: 'Import a server.json' }).click()
    await box('Or the document itself').fill(documentOf('1.1.0'))
    await send()
    await page.getByRole('dialog').getByText('is of this server').waitFor()
    await page.getByRole('dialog').getByRole('checkbox', { name: 'Replace an earlier version' }).check()
    await send()
    await page.waitForURL(/\?tab=versions/)
    await page.getByText('1.1.0').first().waitFor()
    expect((await read()).registryEntry).toEqual({ version: '1.1.0' })
    await tab.check()
    await tab.close()
  })
})
