/** Journeys of operators in a real browser: keys, secrets, providers, files, the audit, unknown calls and upstreams. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasChromium, openChromium, visit, type Visit } from '../support/chromium.ts'
import { oidcAt, startIdentityProvider, type IdentityProvider } from '../support/identity-provider.ts'
import { leaveBehind } from '../support/left-behind.ts'
import { hasPeers } from '../support/peers.ts'
import { freePort } from '../support/upstream-servers.ts'
import { openShop, type Shop } from '../support/web-fixtures.ts'

/** Texts in a dialog that are not shown as a whole: cut at an edge, with three dots, or beyond its side. */
const cutTexts = (root: any): string[] =>
  [root, ...root.querySelectorAll('*')]
    .filter((one: any) => {
      const style = one.ownerDocument.defaultView.getComputedStyle(one)
      const hides =
        ['hidden', 'clip'].includes(style.overflowX) || ['hidden', 'clip'].includes(style.overflowY)
      const isLarger = one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight
      return (hides && isLarger) || (one === root && one.scrollWidth > one.clientWidth)
    })
    .map((one: any) => one.textContent)

describe.skipIf(!hasChromium)('operations', { timeout: 180_000 }, () => {
  let browser: Browser
  let shop: Shop
  let provider: IdentityProvider | undefined

  beforeAll(async () => {
    browser = await openChromium()
    const port = await freePort()
    shop = await openShop({ config: { oidc: oidcAt(port) } })
    if (hasPeers) provider = await startIdentityProvider(port, [`${shop.h.url}/session/callback`])
  })
  afterAll(async () => {
    await browser?.close()
    await shop?.close()
    await provider?.close()
  })

  test('a key is made, its secret is shown once, and its end closes the page of whoever uses it', async () => {
    const tab = await visit(browser, shop.h, '/people')
    const { page } = tab
    await page.getByRole('button', { name: 'Invite a person' }).click()
    await page.getByLabel('Name').fill('night shift')
    await page.getByLabel('Who or what is it for?').selectOption({ label: 'A person who approves' })
    await page.getByLabel('Expires').selectOption({ label: 'in 30 days' })
    await page.getByLabel('Create a link').uncheck()
    await tab.check()
    await page.getByRole('button', { name: 'Create the key' }).click()
    await page.getByRole('dialog', { name: 'The secret of the key' }).waitFor()
    const secret = (await page.locator('dialog .copy-id span').first().innerText()).trim()
    expect(secret).toMatch(/^gh_/)
    await page.getByRole('button', { name: 'I saved it' }).click()
    const row = page.getByRole('row', { name: /night shift/ })
    await row.waitFor()
    const { data } = await shop.h.gql('{ viewer { role expiresAt } }', {}, secret)
    expect(data['viewer'].role).toBe('APPROVER')
    const days = (Date.parse(data['viewer'].expiresAt) - Date.now()) / 86_400_000
    expect(Math.round(days)).toBe(30)
    expect(await page.content()).not.toContain(secret)
    await tab.check()

    const other = await visit(browser, shop.h, '/runs', { key: secret, expected: /401/ })
    await other.page.getByRole('heading', { name: 'Runs' }).waitFor()
    await row.getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await other.page.getByText('Your session has ended.').waitFor()
    expect(new URL(other.page.url()).pathname).toBe('/runs')
    await other.check()
    await row.getByText('revoked').waitFor()
    expect(tab.faults).toEqual([])
    await other.close()
    await tab.close()
  })

  /** Makes an invitation in the page of the keys; returns what the dialog shows. */
  const invite = async (tab: Visit, name: string) => {
    const { page } = tab
    await page.getByRole('button', { name: 'Invite a person' }).click()
    await page.getByLabel('Name').fill(name)
    await tab.check()
    await page.getByRole('button', { name: 'Create the invitation' }).click()
    const dialog = page.getByRole('dialog', { name: `The invitation of ${name}` })
    await dialog.waitFor()
    await tab.check()
    const [link, code] = await dialog.locator('.copy-id span:first-child').allInnerTexts()
    await page.getByRole('button', { name: 'I saved it' }).click()
    const row = page.getByRole('row', { name: new RegExp(name) })
    await row.getByText('invited until').waitFor()
    return { link: link!, code: code!, row }
  }

  test('a colleague is invited with a link and a code, gets a key, and decides the question that waits', async () => {
    const { approvalId, generationId } = await shop.ask('A-7')
    const tab = await visit(browser, shop.h, '/people')
    const { link, code, row } = await invite(tab, 'Rosa')

    const colleague = await browser.newContext()
    const theirs = await colleague.newPage()
    await theirs.goto(link)
    await theirs.getByLabel('Code').fill('WRONG')
    await theirs.getByRole('button', { name: 'Make a key' }).click()
    await theirs.getByText('is not valid').waitFor()
    await theirs.goBack()
    await theirs.getByLabel('Code').fill(code)
    await theirs.getByRole('button', { name: 'Make a key' }).click()
    await theirs.getByRole('heading', { name: 'You have a key' }).waitFor()
    await row.getByText('invited until').waitFor({ state: 'detached' })
    await theirs.getByRole('link', { name: 'Go on' }).click()
    await theirs.goto(`${shop.h.url}/approvals/${approvalId}`)
    await theirs.getByRole('button', { name: /^Approve/ }).click()
    await shop.h.until(generationId, ['COMPLETED'])
    expect((await shop.approval(approvalId))['votes']).toMatchObject([{ byName: 'Rosa' }])
    await theirs.goto(link)
    await theirs.getByLabel('Code').fill(code)
    await theirs.getByRole('button', { name: 'Make a key' }).click()
    await theirs.getByText('was accepted already').waitFor()
    expect(tab.faults).toEqual([])
    await colleague.close()
    await tab.close()
  })

  test.skipIf(!hasPeers)(
    'a colleague joins with their account, and signs in with it on another day',
    async () => {
      provider!.person = { sub: 'lena', claims: { name: 'Lena Fischer' } }
      const { approvalId, generationId } = await shop.ask('A-8')
      const tab = await visit(browser, shop.h, '/people')
      const { link, code, row } = await invite(tab, 'Lena')
      const colleague = await browser.newContext()
      const theirs = await colleague.newPage()
      await theirs.goto(link)
      await theirs.getByLabel('Code').fill('WRONG')
      await theirs.getByRole('button', { name: 'Join with your account' }).click()
      await theirs.getByText('is not valid').waitFor()
      await theirs.goBack()
      await theirs.getByLabel('Code').fill(code)
      await theirs.getByRole('button', { name: 'Join with your account' }).click()
      await theirs.waitForURL('**/insights')
      await row.getByText('signs in as Lena Fischer').waitFor()
      await tab.check()

      const another = await browser.newContext()
      const later = await another.newPage()
      await later.goto(`${shop.h.url}/approvals/${approvalId}`)
      await later.getByRole('link', { name: 'Sign in with your organisation' }).click()
      await later.getByRole('button', { name: /^Approve/ }).click()
      await shop.h.until(generationId, ['COMPLETED'])
      expect((await shop.approval(approvalId))['votes']).toMatchObject([{ byName: 'Lena' }])
      await row.getByRole('button', { name: 'Revoke' }).click()
      await tab.page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
      await later.getByText('Your session has ended.').waitFor()
      await theirs.getByText('Your session has ended.').waitFor()
      expect(tab.faults).toEqual([])
      await Promise.all([colleague.close(), another.close(), tab.close()])
    },
  )

  test('a revocation says that it ends the own key, and that no admin remains', async () => {
    const { project } = await shop.h.mutate('createProject', { name: 'alone' }, 'project { id }')
    const name = `the only one ${'W'.repeat(87)}`
    const input = { name, role: 'ADMIN', projectId: project.id }
    const { secret } = await shop.h.mutate('createApiKey', input, 'secret')
    const tab = await visit(browser, shop.h, '/people', { key: secret })
    await tab.page
      .getByRole('row', { name: /the only one/ })
      .getByRole('button', { name: 'Revoke' })
      .click()
    const dialog = tab.page.getByRole('dialog', { name: `Revoke ${name}?` })
    await dialog.getByText('You are signed in with it').waitFor()
    await dialog.getByText('No other key of an admin remains').waitFor()
    await tab.check()
    await tab.page.setViewportSize({ width: 320, height: 400 })
    expect(await dialog.evaluate(cutTexts)).toEqual([])
    await dialog.getByRole('button', { name: 'Cancel' }).scrollIntoViewIfNeeded()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    expect(tab.faults).toEqual([])
    await tab.close()
  })

  test('everything is paused with a reason, every screen says so, and goes on where it stopped', async () => {
    const watcher = await visit(browser, shop.h, '/approvals')
    const tab = await visit(browser, shop.h, '/people/programs')
    const { page } = tab
    await page.getByRole('button', { name: 'Pause everything' }).click()
    const dialog = page.getByRole('dialog', { name: 'Pause everything?' })
    await dialog.getByLabel('Reason').fill('the price list is wrong')
    await tab.check()
    await dialog.getByRole('button', { name: 'Pause everything' }).click()
    const bar = watcher.page.getByRole('region', { name: 'What is paused' })
    await bar.getByText('the price list is wrong').waitFor()
    await page.getByText('Paused: nothing more is sent.').waitFor()
    await tab.check()
    await watcher.check()
    const { generation } = await shop.h.mutate(
      'startGeneration',
      { agentId: shop.agentId, prompt: 'say done' },
      'generation { id pause { id } }',
    )
    expect(generation.pause).not.toBeNull()
    await bar.getByRole('button', { name: /Resume/ }).click()
    await bar.waitFor({ state: 'detached' })
    await shop.h.until(generation.id, ['COMPLETED'])
    expect([...tab.faults, ...watcher.faults]).toEqual([])
    await tab.close()
    await watcher.close()
  })

  test('a tool and an agent are paused on their pages; who may not sees no button', async () => {
    const config = { client: { inputSchema: { type: 'object' } } }
    const { tool } = await shop.h.mutate('createTool', { name: 'pick_color', config }, 'tool { id }')
    for (const id of [shop.refundId, tool.id]) {
      const tab = await visit(browser, shop.h, `/tools/${id}`)
      const { page } = tab
      await page.getByRole('button', { name: 'Pause this tool' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Pause this tool' }).click()
      const bar = page.getByRole('region', { name: 'What is paused' })
      await bar.getByText('Paused:').waitFor()
      await bar.getByRole('button', { name: /Resume/ }).click()
      await bar.waitFor({ state: 'detached' })
      await tab.close()
    }
    const { secret } = await shop.person('Vera', 'VIEWER')
    const other = await visit(browser, shop.h, `/agents/${shop.agentId}`, { key: secret })
    await other.page.getByRole('link', { name: 'Visible tools' }).waitFor()
    expect(await other.page.getByRole('button', { name: /Pause/ }).count()).toBe(0)
    expect(other.faults).toEqual([])
    await other.close()
  })

  test('a wrong key is refused in words, and the right one opens what was asked for', async () => {
    const { secret } = await shop.person('Dora')
    const tab = await visit(browser, shop.h, '/audit', { key: null, expected: /40[13]|422/ })
    const { page } = tab
    await page.getByLabel('API key').fill('gh_wrong')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('alert').waitFor()
    await tab.check()
    await page.getByLabel('API key').fill(secret)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Audit' }).waitFor()
    await page.getByRole('cell', { name: 'tools:Create' }).first().waitFor()
    await tab.check()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('API key').waitFor()
    await tab.close()
  })

  test('a secret that is set anew shows where it may be sent, and what the field says is so', async () => {
    const allowedHosts = ['api.example.com', '*.example.org']
    await shop.h.mutate('setSecret', { name: 'BOUND', value: 'one', allowedHosts }, 'secret { id }')
    const { page, close } = await visit(browser, shop.h, '/settings/secrets')
    const hostsOf = async () =>
      (await shop.h.gql('{ secrets(first: 10) { nodes { name allowedHosts } } }')).data['secrets'].nodes.find(
        ({ name }: { name: string }) => name === 'BOUND',
      ).allowedHosts
    const setAnew = async (value: string, hosts?: string) => {
      await page.getByRole('row', { name: /BOUND/ }).getByRole('button', { name: 'Set anew' }).click()
      const field = page.getByLabel('Hosts that it may be sent to')
      const before = await field.inputValue()
      await page.getByLabel('Value').fill(value)
      if (hosts !== undefined) await field.fill(hosts)
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      return before
    }
    expect(await setAnew('two')).toBe('api.example.com, *.example.org')
    expect(await hostsOf()).toEqual(allowedHosts)
    await setAnew('three', '')
    expect(await hostsOf()).toBeNull()
    await shop.h.mutate('deleteSecret', { name: 'BOUND' }, '__typename')
    await close()
  })

  test('secrets and providers are set and deleted, and no value is ever shown', async () => {
    const tab = await visit(browser, shop.h, '/settings/secrets')
    const { page } = tab
    await page.getByRole('button', { name: 'New secret' }).click()
    await page.getByLabel('Name').fill('bad name!')
    await page.getByLabel('Value').fill('s3cret-value')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('alert').first().waitFor()
    await tab.check()
    await page.getByLabel('Name').fill('TILL_KEY')
    await page.getByLabel('Hosts that it may be sent to').fill('till.example.com')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('cell', { name: 'TILL_KEY' }).waitFor()
    await page.getByRole('cell', { name: 'till.example.com' }).waitFor()
    expect(await page.content()).not.toContain('s3cret-value')
    await tab.check()
    await page.getByRole('link', { name: 'Providers' }).click()
    await page.getByRole('button', { name: 'New provider' }).click()
    await page.getByLabel('Name', { exact: true }).fill('house')
    await page.getByLabel('API', { exact: true }).selectOption('ANTHROPIC')
    await page.getByLabel('Default model').fill('claude')
    await page.getByLabel('Name of the secret with its API key').fill('TILL_KEY')
    await page.getByRole('button', { name: 'Save' }).click()
    // The secret is for the till alone.
    await page.getByText('to a host that is not in its allowedHosts').first().waitFor()
    await tab.check()
    await page.getByLabel('Name of the secret with its API key').fill('')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('cell', { name: 'house' }).waitFor()
    await page.getByRole('button', { name: 'Test' }).click()
    await page.getByText('(MODEL_NOT_CONFIGURED)').waitFor()
    await tab.check()
    await page.getByRole('link', { name: 'Files' }).click()
    await page.getByText('No files').waitFor()
    await tab.check()
    await tab.close()
  })

  test('a call with an unknown outcome is explained and resolved', async () => {
    const input = { toolId: shop.refundId, arguments: { order_id: 'U-1', amount: 12 } }
    const called = await shop.h.mutate('callTool', input, 'toolCall { id approval { id } }')
    const { id, approval } = called['toolCall']
    const settled = shop.h.collect(
      'subscription { projectEvents(after: "0", types: [TOOL_CALL_SETTLED]) { ... on ToolCallSettledEvent { toolCall { id } } } }',
      {},
      (events) => events.some((event) => event.toolCall?.id === id),
    )
    await shop.h.mutate('decideApproval', { approvalId: approval.id, verdict: 'APPROVE' }, 'approval { id }')
    await settled
    const tab = await visit(browser, shop.h, '/unknown')
    const { page } = tab
    await page.getByText('No unknown calls').waitFor()
    await leaveBehind(shop.h, id)
    // The list and the mark beside Operations follow the event.
    await page.getByRole('link', { name: /1 unknown calls/ }).waitFor()
    const rows = page.getByRole('region', { name: 'Calls with an unknown outcome' }).locator('tbody tr')
    await rows.getByText('send_refund').waitFor()
    expect(await rows.locator('td').first().innerText()).toContain('U-1')
    // It is searched in the address, which a link brings along.
    await page.keyboard.press('/')
    await page.keyboard.type('nothing like it')
    await page.getByText('No matching unknown calls').waitFor()
    await page.getByRole('searchbox').fill('u 1')
    await expect.poll(() => rows.count()).toBe(1)
    await page.getByLabel('Tool', { exact: true }).selectOption(shop.refundId)
    await page.reload()
    await expect.poll(() => rows.count()).toBe(1)
    const address = new URL(page.url()).searchParams
    expect([address.get('q'), address.get('tool')]).toEqual(['u 1', shop.refundId])
    await page.getByLabel('Agent', { exact: true }).selectOption(shop.agentId)
    await page.getByText('No matching unknown calls').waitFor()
    await page.getByRole('button', { name: 'Clear' }).click()
    await expect.poll(() => rows.count()).toBe(1)
    await page.getByRole('button', { name: 'Resolve …' }).first().click()
    await page.getByRole('radio', { name: 'It took effect' }).check()
    await page.getByRole('textbox', { name: 'Output of the call' }).fill('refunded')
    await page.getByRole('checkbox', { name: 'I checked: it took effect' }).check()
    // Without a reason nobody resolves anything.
    const save = page.getByRole('dialog').locator('button[type=submit]')
    expect(await save.isDisabled()).toBe(true)
    await page.getByLabel('Reason for the audit (required)').fill('asked the bank')
    await tab.check()
    await save.click()
    await page.getByText('No unknown calls').waitFor()
    await page.getByRole('link', { name: /1 unknown calls/ }).waitFor({ state: 'detached' })
    const { data } = await shop.h.gql('query($id: ID!) { toolCall(id: $id) { status resolution } }', { id })
    expect(data['toolCall']).toEqual({ status: 'SUCCEEDED', resolution: 'SUCCEEDED' })
    await tab.check()
    await tab.close()
  })

  test('another project is chosen: every list and the feed are of it', async () => {
    const made = await shop.h.mutate('createProject', { name: 'Branch' }, 'project { id }')
    const projectId = made['project'].id as string
    const http = { url: `${shop.till.url}/x`, method: 'GET', inputSchema: { type: 'object' } }
    const make = (name: string) =>
      shop.h.mutate('createTool', { projectId, name, config: { http } }, 'tool { id }')
    await make('branch_tool')
    const tab = await visit(browser, shop.h, '/tools')
    const { page } = tab
    await page.getByText('send_refund').first().waitFor()
    await page.getByRole('combobox', { name: 'Project' }).selectOption('Branch')
    await page.getByText('branch_tool').first().waitFor()
    expect(await page.getByText('send_refund').count()).toBe(0)
    await make('later_tool')
    await page.getByText('later_tool').first().waitFor()
    await tab.check()
    await tab.close()
  })

  test('upstreams: none yet, a server that is tried, and one that does not answer', async () => {
    const tab = await visit(browser, shop.h, '/upstreams')
    const { page } = tab
    // The address of the release before: upstreams are tools of a kind.
    await page.waitForURL('**/tools?kind=MCP')
    await page.getByText('No matching tools').waitFor()
    await page.getByRole('link', { name: 'From an MCP server' }).click()
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('far')
    await page.getByRole('textbox', { name: 'URL' }).fill(`${shop.till.url}/mcp`)
    await page.getByRole('button', { name: 'Test the connection' }).click()
    await page.getByText('does not answer').waitFor()
    expect((await shop.h.gql('{ tools(kind: MCP, first: 1) { nodes { id } } }')).data['tools'].nodes).toEqual(
      [],
    )
    await tab.check()
    await page.getByRole('button', { name: 'Create the upstream' }).click()
    await page.getByText('Created far.').waitFor()
    await page.getByRole('button', { name: 'Refresh' }).click()
    await page.getByText('Refreshed.').waitFor()
    await tab.check()
    await tab.close()
  })
})
