/** A gate where the tool is seen, in a real browser: advice, a threshold over recorded calls, new tools, and upstreams. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Browser } from 'playwright-core'
import { hasChromium, openChromium, visit } from '../support/chromium.ts'
import { openHarness, type Harness } from '../support/harness.ts'
import { startLoopback, type Loopback } from '../support/loopback.ts'
import { startModern, type ModernServer } from '../support/upstream-servers.ts'

describe.skipIf(!hasChromium)('gates and advice', { timeout: 180_000 }, () => {
  let browser: Browser
  let h: Harness
  let upstream: Loopback
  let server: ModernServer
  beforeAll(async () => {
    browser = await openChromium()
    upstream = await startLoopback((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
    h = await openHarness()
    server = await startModern()
  })
  afterAll(async () => {
    await browser?.close()
    await h?.stop()
    await upstream?.close()
    await server?.kill()
  })

  const gateOf = async (id: string) => {
    const { data } = await h.gql(
      `query($id: ID!) { tool(id: $id) { gate { mode when timeoutSeconds approvers } } }`,
      { id },
    )
    return data['tool'].gate
  }
  const refund = async (name: string) => {
    const inputSchema = { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] }
    const config = { http: { url: `${upstream.url}/${name}`, inputSchema } }
    const { tool } = await h.mutate(
      'createTool',
      { name, gate: { autoApprove: false }, config },
      'tool { id }',
    )
    return tool.id as string
  }
  const approve = async (toolId: string, amount: number) => {
    const { toolCall } = await h.mutate(
      'callTool',
      { toolId, arguments: { amount } },
      'toolCall { approval { id } }',
    )
    const input = { approvalId: toolCall.approval.id, verdict: 'APPROVE' }
    expect((await h.mutate('decideApproval', input, 'approval { id }'))['approval']).not.toBeNull()
  }

  test('what people always approved fills the form; its threshold is moved by keys and mouse, then saved', async () => {
    const id = await refund('refund')
    for (let at = 1; at <= 20; at++) await approve(id, 3 * at)
    const v = await visit(browser, h, `/tools/${id}?tab=gate`)
    const { page } = v
    const advice = page.getByRole('complementary', { name: 'Advice' })
    await advice
      .getByText('20 of 20 calls with amount at most 60 were approved in the last 30 days.')
      .waitFor()
    await advice.getByRole('button', { name: 'Use this gate' }).click()
    await page.getByText('Stops 0 of 20 calls; 20 no longer.').waitFor()
    // Nothing is saved by that.
    expect((await gateOf(id)).mode).toBe('ALWAYS')
    const threshold = page.getByRole('slider', { name: 'Threshold of amount' })
    expect(await threshold.getAttribute('aria-valuetext')).toBe('60, 0 of 20 calls held')
    const limit = page.getByRole('textbox', { name: 'Value of condition 1' })
    await threshold.focus()
    for (const _ of [1, 2, 3]) await page.keyboard.press('ArrowLeft')
    expect(await threshold.getAttribute('aria-valuetext')).toBe('57, 1 of 20 calls held')
    expect(await limit.inputValue()).toBe('57')
    await page.getByText('Stops 1 of 20 calls; 19 no longer.').waitFor()
    const box = (await threshold.boundingBox())!
    const at = (share: number) => [box.x + 8 + share * (box.width - 16), box.y + box.height / 2] as const
    await page.mouse.move(...at(57 / 65))
    await page.mouse.down()
    await page.mouse.move(...at(30 / 65), { steps: 5 })
    await page.mouse.up()
    await expect.poll(async () => Math.abs(Number(await limit.inputValue()) - 30)).toBeLessThanOrEqual(1)
    await threshold.focus()
    await limit.fill('30')
    await page.getByText('10 of 20 calls held').first().waitFor()
    await threshold.press('ArrowLeft')
    await threshold.press('ArrowRight')
    await page.getByText('Stops 10 of 20 calls; 10 no longer.').waitFor()
    await page.getByText('As a table').click()
    await page.getByRole('row', { name: '30 2 1', exact: true }).waitFor()
    await v.check()
    await page.emulateMedia({ forcedColors: 'active' })
    await page.getByRole('button', { name: 'Save the gate' }).click()
    await page.getByText('The gate is changed.').waitFor()
    expect(await gateOf(id)).toMatchObject({
      mode: 'WHEN',
      when: { properties: { amount: { exclusiveMinimum: 30 } } },
    })
    // What is left says as much about the rest; 10 verdicts are too few.
    await advice.waitFor({ state: 'detached' })
    await v.close()
  })

  test('a tool is made with its gate; times have units, and only roles that may decide are offered', async () => {
    const v = await visit(browser, h, '/tools/new')
    const { page } = v
    await page.getByRole('textbox', { name: 'Name' }).first().fill('send_money')
    await page.getByRole('textbox', { name: 'URL' }).fill(`${upstream.url}/money`)
    await page.getByRole('button', { name: 'Add an argument' }).click()
    const amount = page.getByRole('listitem', { name: 'Argument 1' })
    await amount.getByRole('textbox', { name: 'Name' }).fill('amount')
    await page
      .getByRole('listitem', { name: 'amount' })
      .getByRole('combobox', { name: 'Type' })
      .selectOption('number')
    await page.getByRole('radio', { name: /^When/ }).click()
    await page.getByRole('button', { name: 'Create the tool' }).click()
    await page.getByText('Some fields need another value.').waitFor()
    await page.getByRole('combobox', { name: 'Property of condition 1' }).fill('amount')
    await page.getByRole('combobox', { name: 'Operator of condition 1' }).selectOption('is more than')
    await page.getByRole('textbox', { name: 'Value of condition 1' }).fill('100')
    const time = page.getByRole('combobox', { name: 'Time to decide' })
    expect(await time.inputValue()).toBe('5 min')
    await time.fill('5')
    await page.getByText('must be 5 s to 7 d, such as 5 min, 1 h or 2 d').waitFor()
    await time.fill('2 hours')
    // Who scrolls on over a number that has the focus does not change it.
    const quorum = page.getByRole('spinbutton', { name: 'Approvals by different people' })
    await quorum.click()
    const top = () => page.locator('#content').evaluate((content) => Math.max(content.scrollTop, scrollY))
    const before = await top()
    await page.mouse.wheel(0, -100)
    await expect.poll(top).not.toBe(before)
    expect(await quorum.inputValue()).toBe('1')
    const roles = page.getByRole('group', { name: /^Who may decide/ }).getByRole('checkbox')
    expect(await roles.count()).toBe(2)
    await page.getByRole('checkbox', { name: 'approver', exact: true }).check()
    await v.check()
    await page.getByRole('button', { name: 'Create the tool' }).click()
    await page.getByText('Created send_money.').waitFor()
    const id = /tool_\w+/.exec(page.url())![0]
    expect(await gateOf(id)).toEqual({
      mode: 'WHEN',
      when: { properties: { amount: { exclusiveMinimum: 100 } }, required: ['amount'] },
      timeoutSeconds: 7200,
      approvers: ['APPROVER'],
    })
    await v.close()
  })

  test('an upstream shows its tools with gate, last call and failures, and leads to where a gate is set', async () => {
    const schema = { type: 'object', properties: { id: { type: 'string' } } }
    server.tools.set('look', { tool: { name: 'look', inputSchema: schema }, run: () => ({ content: [] }) })
    server.tools.set('drop', {
      tool: { name: 'drop', inputSchema: schema, annotations: { destructiveHint: true } },
      run: () => ({ content: [] }),
    })
    server.tools.set('fail', {
      tool: { name: 'fail', inputSchema: schema },
      run: () => ({ content: [{ type: 'text', text: 'no' }], isError: true }),
    })
    const config = { mcp: { url: server.url } }
    const { tool } = await h.mutate('createTool', { name: 'store', config }, 'tool { id }')
    await h.mutate('refreshUpstream', { toolId: tool.id }, 'tool { id }')
    const failed = await h.mutate(
      'callTool',
      { toolId: tool.id, action: 'fail', arguments: {} },
      'toolCall { id }',
    )
    const status = async () =>
      (await h.gql('query($id: ID!) { toolCall(id: $id) { status } }', { id: failed['toolCall'].id })).data[
        'toolCall'
      ].status
    await expect.poll(status).toBe('ERRORED')
    const v = await visit(browser, h, `/upstreams/${tool.id}`)
    const { page } = v
    const one = (name: string) => page.getByRole('listitem', { name, exact: true })
    await one('fail').getByText('1 of 1 call failed in 7 days').waitFor()
    await one('fail')
      .getByText(/^last call/)
      .waitFor()
    await one('drop').getByText('stops every call').waitFor()
    await one('look').getByText('Schema').click()
    await one('look').getByText('"properties"').waitFor()
    await v.check()
    await one('look').getByRole('link', { name: 'lets calls pass' }).click()
    const gate = page.getByRole('combobox', { name: 'Gate of' })
    expect(await gate.inputValue()).toBe('look')
    // In the list, the strictest of them stands for all.
    await page.goto(`${h.url}/tools?kind=MCP`)
    await page.getByRole('row', { name: /store/ }).getByText('stops every call').waitFor()
    await v.close()
  })
})
