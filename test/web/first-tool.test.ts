/** From nothing to a first decided call of an http tool in a real browser, without a word of JSON Schema. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Browser, Locator, Page } from 'playwright-core'
import { hasChromium, openChromium, visit } from '../support/chromium.ts'
import { openHarness, type Harness } from '../support/harness.ts'
import { startLoopback, type Loopback } from '../support/loopback.ts'

describe.skipIf(!hasChromium)('a first tool', { timeout: 180_000 }, () => {
  let browser: Browser
  let h: Harness
  let upstream: Loopback
  beforeAll(async () => {
    browser = await openChromium()
    upstream = await startLoopback((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"refunded":true}')
    })
    h = await openHarness()
  })
  afterAll(async () => {
    await browser?.close()
    await h?.stop()
    await upstream?.close()
  })

  /** Counts what a person does: presses of the pointer, and keys beside those of what is pasted. */
  function hand() {
    const count = { clicks: 0, keys: 0, pastes: 0 }
    return {
      count,
      click: async (at: Locator) => {
        await at.click()
        count.clicks++
      },
      type: async (at: Locator, text: string) => {
        await at.click()
        await at.pressSequentially(text)
        count.clicks++
        count.keys += text.length
      },
      paste: async (at: Locator, text: string) => {
        await at.click()
        await at.fill(text)
        count.clicks++
        count.pastes++
      },
    }
  }
  const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name })
  const box = (page: Page | Locator, name: string) => page.getByRole('textbox', { name, exact: true })
  /** A field of the form that the arguments of a tool have. */
  const field = (page: Page, name: string) =>
    page.getByLabel('Call', { exact: true }).getByRole('textbox', { name })
  const schemaOf = async (name: string) => {
    const { data } = await h.gql(
      `{ tools(name: "${name}", first: 1) { nodes { inputSchema ... on HttpTool { url headers } } } }`,
    )
    return data['tools'].nodes[0]
  }

  // 17 clicks, 35 keys and one paste (the address), from the empty list to the answer of the service.
  test('is made from its address, called and decided', async () => {
    const v = await visit(browser, h, '/tools')
    const { page } = v
    const { click, type, paste, count } = hand()
    await page.getByText('No tools yet').waitFor()
    await click(button(page, 'New tool'))
    await type(box(page, 'Name').first(), 'refund_order')
    await paste(box(page, 'URL'), `${upstream.url}/orders/{orderId}/refunds`)
    await click(button(page, 'Add orderId'))
    await click(button(page, 'Add an argument'))
    const amount = page.getByRole('listitem', { name: 'Argument 2' })
    await type(box(amount, 'Name'), 'amount')
    const named = page.getByRole('listitem', { name: 'amount' })
    await click(named.getByRole('combobox', { name: 'Type' }))
    await named.getByRole('combobox', { name: 'Type' }).selectOption('number')
    count.clicks++
    await click(named.getByRole('checkbox', { name: 'required' }))
    await type(box(named, 'Description for the model'), 'In francs.')
    await click(page.getByRole('radio', { name: /^Always/ }))
    await v.check()
    await click(button(page, 'Create the tool'))
    await type(field(page, 'orderId'), 'A-17')
    await type(field(page, 'amount'), '250')
    await page.getByText('The gate would stop this call').waitFor()
    await click(button(page, /^Ask for approval/))
    await click(page.getByRole('link', { name: 'Open the request' }))
    await click(button(page, /^Approve/))
    await page.getByText('Approved: ').waitFor()
    await expect.poll(() => upstream.seen.length).toBe(1)
    expect([upstream.seen[0]!.method, upstream.seen[0]!.url]).toEqual(['POST', '/orders/A-17/refunds'])
    expect(JSON.parse(upstream.seen[0]!.body)).toEqual({ amount: 250 })
    expect((await schemaOf('refund_order')).inputSchema).toEqual({
      type: 'object',
      properties: { orderId: { type: 'string' }, amount: { type: 'number', description: 'In francs.' } },
      required: ['orderId', 'amount'],
    })
    expect(count).toEqual({ clicks: 17, keys: 35, pastes: 1 })
    await v.close()
  })

  // 12 clicks, 10 keys and two pastes: the command, and the credential, which is stored as a secret.
  test('is made of a pasted curl command; its credential is stored as a secret and never saved as text', async () => {
    const v = await visit(browser, h, '/tools/new')
    const { page } = v
    const { click, type, paste, count } = hand()
    const before = upstream.seen.length
    await click(button(page, 'Paste a curl command'))
    await paste(
      box(page, 'The command'),
      `curl -k ${upstream.url}/payouts \\\n -H 'Authorization: Bearer s3cr3t-key' \\\n --json '{"iban": "CH00", "amount": 12.5}'`,
    )
    await click(button(page, 'Fill in the fields'))
    await page.getByText('-k is not used: certificates are always checked.').waitFor()
    await paste(page.getByLabel('Value of _127_0_0_1_AUTHORIZATION'), 's3cr3t-key')
    await v.check()
    await click(button(page, 'Save the secret'))
    await page.getByText('The secret is saved.').waitFor()
    await click(page.getByRole('radio', { name: /^Always/ }))
    await click(button(page, 'Create the tool'))
    await type(field(page, 'iban'), 'CH931')
    await type(field(page, 'amount'), '12.50')
    await page.getByText('The gate would stop this call').waitFor()
    await click(button(page, /^Ask for approval/))
    await click(page.getByRole('link', { name: 'Open the request' }))
    await click(button(page, /^Approve/))
    await expect.poll(() => upstream.seen.length).toBe(before + 1)
    const { headers, body } = upstream.seen.at(-1)!
    expect(headers['authorization']).toBe('Bearer s3cr3t-key')
    expect(JSON.parse(body)).toEqual({ iban: 'CH931', amount: 12.5 })
    const saved = await schemaOf('post_payouts')
    expect(saved.headers).toEqual({ Authorization: 'Bearer {{secret:_127_0_0_1_AUTHORIZATION}}' })
    expect(JSON.stringify(saved)).not.toContain('s3cr3t')
    expect(count).toEqual({ clicks: 12, keys: 10, pastes: 2 })
    await v.close()
  })

  test('shows what a command said as JSON Schema too, and a schema that is mended stays where it is written', async () => {
    const v = await visit(browser, h, '/tools/new')
    const { page } = v
    await button(page, 'JSON Schema').click()
    await button(page, 'Paste a curl command').click()
    await box(page, 'The command').fill(`curl ${upstream.url}/payouts --json '{"iban": "CH00"}'`)
    await button(page, 'Fill in the fields').click()
    const editor = page.getByRole('textbox', { name: 'Schema of the arguments' })
    await editor.getByText('"iban"').waitFor()
    await editor.press('Control+End')
    await editor.press('Backspace')
    await page.getByText('The arguments cannot be shown as rows. It is not JSON').waitFor()
    await button(page, 'Rows').click()
    await editor.pressSequentially('}')
    await page.getByText('The arguments cannot be shown as rows.').waitFor({ state: 'detached' })
    await editor.getByText('"iban"').waitFor()
    await button(page, 'Rows').click()
    await page.getByRole('listitem', { name: 'iban' }).waitFor()
    await v.close()
  })

  test('has rows and a schema that say the same, and a schema that rows cannot show says why and is kept', async () => {
    const { tool } = await h.mutate(
      'createTool',
      {
        name: 'pick',
        config: {
          client: {
            inputSchema: {
              type: 'object',
              properties: { size: { type: 'integer', minimum: 1 } },
              required: ['size'],
              additionalProperties: false,
            },
          },
        },
      },
      'tool { id }',
    )
    const v = await visit(browser, h, `/tools/${tool.id}?tab=definition`)
    const { page } = v
    await page.getByText('Also has minimum, kept as it is').waitFor()
    await button(page, 'From an example').click()
    await box(page, 'An example of the arguments').fill('{"size": 3, "colors": ["red"]}')
    await button(page, 'Add its arguments').click()
    await button(page, 'Add an argument').click()
    await button(page, 'Save').click()
    await page.getByText('An argument needs a name.').waitFor()
    await page.getByRole('button', { name: 'Remove argument 3' }).click()
    await v.check()
    await button(page, 'JSON Schema').click()
    await page.getByText('"colors"').waitFor()
    await button(page, 'Save').click()
    await page.getByText('Saved pick as version 2.').waitFor()
    const read = async () =>
      (await h.gql('query($id: ID!) { tool(id: $id) { inputSchema } }', { id: tool.id })).data['tool']
        .inputSchema
    expect(await read()).toEqual({
      type: 'object',
      properties: {
        size: { type: 'integer', minimum: 1 },
        colors: { type: 'array', items: { type: 'string' } },
      },
      required: ['size'],
      additionalProperties: false,
    })
    const odd = {
      type: 'object',
      properties: { a: { type: ['string', 'null'] } },
      anyOf: [{ required: ['a'] }],
    }
    await h.mutate('updateTool', { id: tool.id, config: { client: { inputSchema: odd } } }, 'tool { id }')
    await page.getByText('The arguments cannot be shown as rows. It has "anyOf"').waitFor()
    await box(page, 'Title').first().fill('Picks')
    await button(page, 'Save').click()
    await page.getByText('Saved pick as version 4.').waitFor()
    expect(await read()).toEqual(odd)
    await v.check()
    await v.close()
  })

  test('is one of a thousand operations of an OpenAPI document; each that was chosen says how it went', async () => {
    const at = (n: number) => [`/things/{id}/part${n}`, { get: { summary: `Part ${n} of a thing` } }] as const
    const document = {
      openapi: '3.1.0',
      info: { title: 'Many things' },
      servers: [{ url: '/v1' }],
      paths: {
        '/orders/{orderId}/refund': {
          post: {
            operationId: 'refundOrder',
            summary: 'Refund an order',
            requestBody: {
              content: { 'application/json': { schema: { properties: { amount: { type: 'number' } } } } },
            },
          },
        },
        '/tree': {
          post: {
            operationId: 'growTree',
            requestBody: {
              content: { 'application/json': { schema: { $ref: '#/components/schemas/Tree' } } },
            },
          },
        },
        ...Object.fromEntries(Array.from({ length: 998 }, (_, n) => at(n))),
      },
      components: {
        schemas: { Tree: { type: 'object', properties: { left: { $ref: '#/components/schemas/Tree' } } } },
      },
    }
    await h.mutate(
      'createTool',
      { name: 'get_things_id_part7', config: { client: { inputSchema: {} } } },
      'tool { id }',
    )
    const v = await visit(browser, h, '/tools')
    const { page } = v
    await page.getByRole('link', { name: 'From OpenAPI' }).click()
    await page.getByLabel('A file').setInputFiles({
      name: 'openapi.json',
      mimeType: 'application/json',
      buffer: Buffer.from('openapi: 3.1.0'),
    })
    await page.getByText('This is YAML; only JSON is read.').waitFor()
    await v.check()
    await page.getByLabel('A file').setInputFiles({
      name: 'openapi.json',
      mimeType: 'application/json',
      buffer: Buffer.from(JSON.stringify(document)),
    })
    await page.getByText('1,000 operations').waitFor()
    await page.getByText('900 more: search to see them.').waitFor()
    const list = page.getByLabel('Operations', { exact: true }).getByRole('listitem')
    expect(await list.count()).toBe(100)
    await page.getByRole('textbox', { name: 'Address of the API' }).fill(`${upstream.url}/v1/`)
    await page
      .getByRole('checkbox', { name: /refundOrder/ })
      .first()
      .check()
    expect(await page.getByRole('checkbox', { name: 'A person decides about refundOrder' }).isChecked()).toBe(
      true,
    )
    await page
      .getByRole('checkbox', { name: /growTree/ })
      .first()
      .check()
    await page.getByText('No tool can be made of it. The schema Tree refers to itself.').waitFor()
    await page.getByRole('searchbox', { name: 'Search operations' }).fill('part7 thing')
    await page.getByRole('button', { name: 'Select these 111' }).waitFor()
    expect(await list.count()).toBe(100)
    await page.getByRole('checkbox', { name: /part7 / }).check()
    expect(
      await page.getByRole('checkbox', { name: 'A person decides about get_things_id_part7' }).isChecked(),
    ).toBe(false)
    await v.check()
    await page.getByRole('button', { name: 'Create 3 tools' }).click()
    await page.getByText('1 created, 2 refused.').waitFor()
    const outcomes = page.getByRole('region', { name: 'Outcomes' }).last()
    expect(await outcomes.getByRole('row').allInnerTexts()).toEqual([
      'Tool\tOutcome',
      'growTree\tThe schema Tree refers to itself.',
      expect.stringMatching(/^get_things_id_part7\t.*name.*/),
      'refundOrder\tcreated',
    ])
    await v.check()
    await page.getByRole('link', { name: 'refundOrder' }).click()
    await field(page, 'orderId').fill('A-9')
    await page.getByText('The gate would stop this call').waitFor()
    expect((await schemaOf('refundOrder')).url).toBe(`${upstream.url}/v1/orders/{orderId}/refund`)
    await v.close()
  })
})
