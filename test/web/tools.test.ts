/** The screens of tools in a real browser. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Browser, Page } from 'playwright-core'
import { hasChromium, openChromium, picture, visit } from '../support/chromium.ts'
import { openHarness, type Harness } from '../support/harness.ts'
import { startLoopback, type Loopback } from '../support/loopback.ts'

const shots = process.env['SHOTS'] ?? null

describe.skipIf(!hasChromium)('tools', () => {
  let browser: Browser
  let h: Harness
  let upstream: Loopback

  beforeAll(async () => {
    browser = await openChromium()
    upstream = await startLoopback((request, response) => {
      response
        .writeHead(request.url === '/broken' ? 500 : 200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ refunded: true, at: request.url }))
    })
    h = await openHarness()
  })
  afterAll(async () => {
    await browser?.close()
    await h?.stop()
    await upstream?.close()
  })

  const refundSchema = {
    type: 'object',
    properties: {
      order_id: { type: 'string', description: 'The order to give money back for.' },
      amount: { type: 'number', minimum: 0, description: 'In Swiss francs.' },
      reason: { type: 'string', enum: ['broken', 'late', 'unwanted'] },
      notify: { type: 'boolean', default: true },
      tenant: { type: 'string' },
    },
    required: ['order_id', 'amount', 'tenant'],
  }
  let made = 0
  const refund = async (more: object = {}) => {
    const input = {
      name: `send_refund_${++made}`,
      title: `Send refund ${made}`,
      description: 'Pays money back to a customer.',
      annotations: { destructiveHint: true },
      presetParameters: { tenant: 'acme' },
      gate: {
        mode: 'WHEN',
        when: { properties: { amount: { exclusiveMinimum: 100 } }, required: ['amount'] },
      },
      config: { http: { url: `${upstream.url}/refunds/{order_id}`, inputSchema: refundSchema } },
      ...more,
    }
    const { tool } = await h.mutate('createTool', input, 'tool { id name version }')
    return tool as { id: string; name: string; version: number }
  }
  const shoot = async (page: Page, name: string) => {
    if (!shots) return
    await page.screenshot({ path: `${shots}/${name}.png`, fullPage: true })
    await page.emulateMedia({ colorScheme: 'dark' })
    await page.screenshot({ path: `${shots}/${name}-dark.png`, fullPage: true })
    await page.emulateMedia({ colorScheme: 'light' })
    const size = page.viewportSize()!
    await page.setViewportSize({ width: 390, height: 844 })
    await page.screenshot({ path: `${shots}/${name}-phone.png`, fullPage: true })
    await page.setViewportSize(size)
  }

  test('the list filters by kind and name in the address, and a new tool stands there at once', async () => {
    const tool = await refund()
    const v = await visit(browser, h, '/tools')
    await v.page.getByRole('link', { name: 'Send refund 1' }).waitFor()
    const { tool: other } = await h.mutate(
      'createTool',
      { name: 'pick_color', config: { client: { inputSchema: { type: 'object' } } } },
      'tool { id }',
    )
    await v.page.getByRole('link', { name: 'pick_color' }).waitFor()
    await shoot(v.page, 'list')
    await v.page.getByRole('button', { name: 'client', exact: true }).click()
    await v.page.getByRole('link', { name: 'Send refund 1' }).waitFor({ state: 'detached' })
    expect(new URL(v.page.url()).search).toBe('?kind=CLIENT')
    await v.page.getByRole('button', { name: 'All' }).click()
    await v.page.keyboard.press('/')
    await v.page.keyboard.type('refund')
    await v.page.getByRole('link', { name: 'pick_color' }).waitFor({ state: 'detached' })
    await v.page.getByRole('link', { name: 'Send refund 1' }).click()
    await v.page.goBack()
    expect(await v.page.getByRole('searchbox').inputValue()).toBe('refund')
    await h.mutate('deleteTool', { id: other.id }, 'tool { id }')
    await h.mutate('deleteTool', { id: tool.id }, 'tool { id }')
    await v.page.getByText('No matching tools').waitFor()
    await v.page.getByRole('searchbox').fill('')
    await v.page.getByText('No tools yet').waitFor()
    await v.check()
    await v.close()
  })

  test('a call through the form: the gate says while one types what it would do, and the call runs once', async () => {
    const tool = await refund()
    const before = upstream.seen.length
    const v = await visit(browser, h, `/tools/${tool.id}`)
    await v.page.getByRole('button', { name: /^Call/ }).click()
    await v.page.getByText('is required').first().waitFor()
    await v.page.getByRole('textbox', { name: 'order_id' }).fill('o/7')
    await v.page.getByRole('textbox', { name: 'amount' }).fill('250')
    await v.page.getByText('The gate would stop this call: 1 of those who may decide').waitFor()
    await shoot(v.page, 'try')
    await v.page.getByRole('textbox', { name: 'amount' }).fill('25')
    await v.page.getByText('The gate lets this call pass.').waitFor()
    await v.page.keyboard.press('Control+Enter')
    await v.page.getByLabel('The call').getByText('succeeded').waitFor()
    await shoot(v.page, 'result')
    expect(upstream.seen.length).toBe(before + 1)
    const seen = upstream.seen.at(-1)!
    expect([seen.method, seen.url]).toEqual(['POST', '/refunds/o%2F7'])
    expect(JSON.parse(seen.body)).toEqual({ amount: 25, notify: true, tenant: 'acme' })
    await v.page.getByRole('textbox', { name: 'amount' }).fill('250')
    await v.page.getByRole('button', { name: /^Ask for approval/ }).click()
    await v.page.getByRole('link', { name: 'Open the request' }).click()
    await v.page
      .getByRole('heading', { name: tool.name.replaceAll('_', ' ').replace('send', 'Send') })
      .waitFor()
    expect(upstream.seen.length).toBe(before + 1)
    await v.close()
  })

  test('a press that was not answered is repeated with its key, so the call runs once', async () => {
    const tool = await refund({ annotations: {}, gate: { autoApprove: true } })
    const before = upstream.seen.length
    const v = await visit(browser, h, `/tools/${tool.id}`, { expected: /ERR_FAILED|Failed to load/ })
    await v.page.getByRole('textbox', { name: 'order_id' }).fill('1')
    await v.page.getByRole('textbox', { name: 'amount' }).fill('5')
    const keys: string[] = []
    await v.page.route('**/graphql', async (route) => {
      const body = route.request().postData() ?? ''
      if (!body.includes('callTool(')) return route.continue()
      keys.push(JSON.parse(body).variables.input.idempotencyKey)
      if (keys.length > 1) return route.continue()
      // The server gets it; its answer is lost.
      await route.fetch()
      return route.abort('failed')
    })
    await v.page.getByRole('button', { name: /^Call/ }).click()
    await v.page.getByText('Pressing again repeats the same call').waitFor()
    await v.page.getByRole('button', { name: /^Call/ }).click()
    await v.page.getByLabel('The call').getByText('succeeded').waitFor()
    expect(new Set(keys).size).toBe(1)
    expect(upstream.seen.length).toBe(before + 1)
    await v.page.getByRole('button', { name: /^Call/ }).click()
    await v.page.waitForResponse((response) => response.url().endsWith('/graphql'))
    expect(new Set(keys).size).toBe(2)
    await v.check()
    await v.close()
  })

  test('a gate is saved after its preview, which shows what it would stop from now on', async () => {
    const tool = await refund({ annotations: {} })
    for (const amount of [20, 60, 80, 500])
      await h.mutate('callTool', { toolId: tool.id, arguments: { order_id: '1', amount } }, 'toolCall { id }')
    const v = await visit(browser, h, `/tools/${tool.id}?tab=gate`)
    const save = v.page.getByRole('button', { name: 'Save the gate' })
    await v.page.getByRole('textbox', { name: 'Value of condition 1' }).fill('50')
    expect(await save.isDisabled()).toBe(true)
    await v.page.getByRole('button', { name: /^Preview/ }).click()
    await v.page.getByText('Stops 3 of 4 calls; 2 newly.').waitFor()
    await shoot(v.page, 'gate')
    await v.page.getByRole('button', { name: 'Add a condition' }).click()
    expect(await save.isDisabled()).toBe(true)
    await v.page.getByRole('combobox', { name: 'Property of condition 2' }).fill('reason')
    await v.page.getByRole('combobox', { name: 'Operator of condition 2' }).selectOption('is')
    await v.page.getByRole('combobox', { name: 'Value of condition 2' }).selectOption('late')
    await v.page.getByRole('combobox', { name: 'A call is held when it matches' }).selectOption('any')
    await v.page.getByRole('button', { name: /^Preview/ }).click()
    await v.page.getByText('Stops 3 of 4 calls; 2 newly.').waitFor()
    const sentence = v.page.getByRole('textbox', { name: 'What a call does, in one sentence' })
    await sentence.fill('Refund {sum} for {order_id}')
    await v.page.getByRole('button', { name: /^Preview/ }).click()
    await v.page.getByText('Stops 3 of 4 calls; 2 newly.').waitFor()
    await save.click()
    await v.page.getByRole('alert').getByText('names "sum", which is no argument').first().waitFor()
    await sentence.fill('Refund {amount} for {order_id}')
    await v.page.getByRole('button', { name: /^Preview/ }).click()
    await v.page.getByText('Stops 3 of 4 calls; 2 newly.').waitFor()
    await save.click()
    await v.page.getByText('The gate is changed.').waitFor()
    const { data } = await h.gql('query($id: ID!) { tool(id: $id) { gate { mode when title } } }', {
      id: tool.id,
    })
    expect(data['tool'].gate).toEqual({
      mode: 'WHEN',
      title: 'Refund {amount} for {order_id}',
      when: {
        anyOf: [
          { properties: { amount: { exclusiveMinimum: 50 } }, required: ['amount'] },
          { properties: { reason: { const: 'late' } }, required: ['reason'] },
        ],
      },
    })
    expect(await v.page.getByText('Someone else changed this').count()).toBe(0)
    await picture(v, 'gate-editor')
    await v.check()
    await v.close()
  })

  test('the definition keeps its presets, faults stand at their fields, and a rival change is shown beside mine', async () => {
    const tool = await refund()
    const v = await visit(browser, h, `/tools/${tool.id}?tab=definition`)
    const url = v.page.getByRole('textbox', { name: 'URL' })
    await url.fill('not an address')
    await v.page.getByRole('button', { name: 'Save', exact: true }).click()
    await v.page.locator('.field', { has: url }).getByRole('alert').waitFor()
    await url.fill(`${upstream.url}/v2/{order_id}`)
    await h.mutate('updateTool', { id: tool.id, description: 'Rival words.' }, 'tool { version }')
    await v.page.getByRole('heading', { name: 'Someone else changed this' }).waitFor()
    await shoot(v.page, 'conflict')
    await v.page.getByRole('button', { name: 'Continue with these' }).click()
    await v.page.getByRole('button', { name: 'Save', exact: true }).click()
    await v.page.getByText(/Saved send_refund_\d+ as version 3/).waitFor()
    const { data } = await h.gql(
      'query($id: ID!) { tool(id: $id) { description fullInputSchema presetParameters ... on HttpTool { url } } }',
      { id: tool.id },
    )
    expect(data['tool']).toEqual({
      description: 'Rival words.',
      fullInputSchema: refundSchema,
      presetParameters: { tenant: 'acme' },
      url: `${upstream.url}/v2/{order_id}`,
    })
    await shoot(v.page, 'definition')
    await v.check()
    await v.close()
  })
})
