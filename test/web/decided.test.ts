/** What happened is found again: decided questions by words, filters and groups, with who, how and why, all in the address. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasChromium, openChromium, visit } from '../support/chromium.ts'
import { openShop, type Shop } from '../support/web-fixtures.ts'

describe.skipIf(!hasChromium)('decided questions', { timeout: 90_000 }, () => {
  let browser: Browser
  let shop: Shop

  beforeAll(async () => {
    browser = await openChromium()
    shop = await openShop()
  })
  afterAll(async () => {
    await browser?.close()
    await shop?.close()
  })

  const search = (page: Page) => new URL(page.url()).searchParams
  const decide = async (asked: { approvalId: string; generationId: string }, input: object, key?: string) => {
    await shop.h.mutate('decideApproval', { approvalId: asked.approvalId, ...input }, 'approval { id }', key)
    await shop.h.until(asked.generationId, ['COMPLETED', 'FAILED'])
  }

  test('who decided, how, why and what was changed; narrowed, sorted and grouped in the address', async () => {
    const ada = await shop.person('Ada')
    const [paid, refused, edited] = [await shop.ask('Q-1'), await shop.ask('Q-2'), await shop.ask('Q-3', 900)]
    await decide(paid, { verdict: 'APPROVE' })
    await decide(edited, { verdict: 'APPROVE', arguments: { order_id: 'Q-3', amount: 450 } }, ada.secret)
    await decide(refused, { verdict: 'REJECT', reason: 'a duplicate of yesterday' }, ada.secret)
    const tab = await visit(browser, shop.h, '/approvals?view=decided')
    const { page } = tab
    const rows = page.getByRole('region', { name: 'Decided' }).locator('tbody tr')
    await expect.poll(() => rows.count()).toBe(3)
    await page.getByText('2 approved, 1 rejected').waitFor()
    // The newest outcome is first.
    await rows.nth(0).getByText('a duplicate of yesterday').waitFor()
    await rows.nth(0).getByRole('button', { name: 'Ada' }).waitFor()
    await rows.nth(0).getByText('with a key').waitFor()
    const changes = rows.nth(1).getByRole('list', { name: 'Changed arguments' })
    expect(await changes.innerText()).toMatch(/amount\s+900\s+→\s+450/)
    await rows.nth(1).getByText('succeeded').waitFor()
    await tab.check()

    await page.keyboard.press('/')
    await page.keyboard.type('duplic')
    await expect.poll(() => rows.count()).toBe(1)
    expect(search(page).get('q')).toBe('duplic')
    await page.getByText('0 approved, 1 rejected').waitFor()
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.getByLabel('Decided by').selectOption({ label: 'Ada' })
    await expect.poll(() => rows.count()).toBe(2)
    await page.locator('.filter-menu > summary').click()
    await page.getByRole('checkbox', { name: 'approved' }).check()
    await expect.poll(() => rows.count()).toBe(1)
    // The address is the list: a link brings it along.
    await page.reload()
    await expect.poll(() => rows.count()).toBe(1)
    await page.getByText('1 approved, 0 rejected').waitFor()
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.getByLabel('Order').selectOption('asked')
    await expect.poll(() => rows.nth(0).innerText()).toMatch(/450/)

    await page.getByRole('button', { name: 'By agent' }).click()
    const groups = page.getByRole('region', { name: 'By agent' }).locator('tbody tr')
    expect(await groups.first().innerText()).toMatch(/shop assistant\s+2\s+1\s+0\s+0/)
    await tab.check()
    await groups.getByRole('button', { name: 'shop assistant' }).click()
    expect(search(page).get('agent')).toBe(shop.agentId)
    await page.getByLabel('Words or an id').fill('& |')
    await page
      .getByText(/must have a letter or a digit/)
      .first()
      .waitFor()
    await page.getByLabel('Words or an id').fill('nowhere')
    await page.getByText('Nothing is like this').waitFor()
    await tab.check()
    await page.getByRole('button', { name: 'Clear' }).click()

    // Anywhere in the row opens the question; what is a link of its own does not.
    await rows.nth(1).getByRole('link', { name: 'show the run' }).click()
    await page.waitForURL('**/runs/gen_*?call=call_*')
    await page.getByRole('complementary').or(page.locator('.run-pane')).first().waitFor()
    await page.goBack()
    const place = (await rows.nth(1).locator('td').nth(1).boundingBox())!
    await page.mouse.click(place.x + 2, place.y + 2)
    await page.waitForURL(`**/approvals/${refused.approvalId}`)
    await tab.close()
  })

  test('waiting questions are searched while one types, and what is not found is not chosen', async () => {
    const [one, two] = [await shop.ask('W-77'), await shop.ask('W-88')]
    const tab = await visit(browser, shop.h, '/approvals')
    const { page } = tab
    const rows = page.getByRole('list', { name: 'Questions that wait' }).locator('.question-row')
    await expect.poll(() => rows.count()).toBe(2)
    await rows.nth(0).getByRole('checkbox').check()
    await page.getByRole('searchbox').click()
    await page.keyboard.type('w 88')
    await expect.poll(() => page.getByRole('searchbox').inputValue()).toBe('w 88')
    await expect.poll(() => rows.count()).toBe(1)
    await expect.poll(() => rows.locator('a').getAttribute('href')).toBe(`/approvals/${two.approvalId}`)
    expect(await page.getByRole('searchbox').inputValue()).toBe('w 88')
    await tab.check()
    await page.getByRole('searchbox').fill('nothing like it')
    await page.getByText('No question is like this').waitFor()
    await page.getByRole('searchbox').fill(one.approvalId)
    await expect.poll(() => rows.locator('a').getAttribute('href')).toBe(`/approvals/${one.approvalId}`)
    await page.getByRole('searchbox').fill('')
    await expect.poll(() => rows.count()).toBe(2)
    await tab.close()
    await shop.settle()
  })

  test('from a call, and from the audit, one press leads to who approved it, and back to the call', async () => {
    const ada = await shop.person('Ada Two')
    const asked = await shop.ask('A-1')
    await decide(asked, { verdict: 'APPROVE', reason: 'as agreed' }, ada.secret)
    const refused = await shop.ask('A-2')
    await decide(refused, { verdict: 'REJECT' })
    const { toolCall } = await shop.approval(asked.approvalId)
    const { data } = await shop.h.gql('query($id: ID!) { generation(id: $id) { toolCalls { id } } }', {
      id: asked.generationId,
    })
    const callId = data['generation'].toolCalls[0].id
    expect(toolCall.status).toBe('SUCCEEDED')
    const tab = await visit(browser, shop.h, `/runs/${asked.generationId}?call=${callId}`)
    const { page } = tab
    const note = page.locator('.run-note').filter({ hasText: 'as agreed' })
    await note.getByRole('button', { name: 'Ada Two' }).waitFor()
    await note.getByText('with a key').waitFor()
    await tab.check()
    await note.getByRole('link', { name: 'Show the question' }).click()
    await page.waitForURL(`**/approvals/${asked.approvalId}`)

    await page.goto(`${shop.h.url}/operations/audit?action=approvals:Decide`)
    const rows = page.getByRole('region', { name: 'Audit entries' }).locator('tbody tr')
    await rows.nth(0).getByText('rejected').waitFor()
    await rows.nth(1).getByText('approved').first().waitFor()
    await rows.nth(1).getByRole('link', { name: 'tool send_refund' }).waitFor()
    await tab.check()
    await rows.nth(1).getByRole('link', { name: 'show the call' }).click()
    await page.waitForURL(`**/runs/${asked.generationId}?call=${callId}`)
    await page.goto(`${shop.h.url}/operations/audit?action=tools:Call`)
    await rows.first().getByRole('link', { name: 'approved by Ada Two with a key' }).click()
    await page.waitForURL(`**/approvals/${asked.approvalId}`)
    await tab.close()
  })

  test('the audit names nothing that its reader may not read, and asks for none of it', async () => {
    await decide(await shop.ask('A-3'), { verdict: 'APPROVE' })
    const statement = [
      {
        effect: 'Allow',
        action: [
          'audit:List',
          'approvals:Get',
          'generations:ReachOthers',
          'sessions:*',
          'projects:*',
          'events:*',
        ],
        resource: ['*'],
      },
    ]
    const made = await shop.h.mutate(
      'createApiKey',
      { name: 'Auditor', policy: { statement } },
      'secret apiKey { id }',
    )
    const tab = await visit(browser, shop.h, '/operations/audit?action=approvals:Decide', {
      key: made['secret'],
    })
    const { page } = tab
    const rows = page.getByRole('region', { name: 'Audit entries' }).locator('tbody tr')
    await rows.first().getByRole('link', { name: 'show the question' }).waitFor()
    await rows.first().getByText(`tool/${shop.refundId}`).waitFor()
    expect(await rows.getByRole('link', { name: /send_refund|show the call/ }).count()).toBe(0)
    const { data } = await shop.h.gql(
      'query($filter: AuditFilter) { auditEntries(filter: $filter, first: 50) { nodes { action } } }',
      { filter: { principalId: made['apiKey'].id, outcome: 'DENIED' } },
    )
    const refused = data['auditEntries'].nodes.map(({ action }: { action: string }) => action)
    expect(refused).not.toContain('tools:Get')
    expect(refused).not.toContain('toolCalls:Get')
    await tab.close()
  })
})
