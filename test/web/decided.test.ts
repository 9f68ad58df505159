/** What happened is found again: decided questions by words, filters and groups, with who, how and why, all in the address. */
import { readFile } from 'node:fs/promises'
import type { Browser, Page } from 'playwright-core'
import { query } from '../../src/store/db/database.ts'
import { sql } from '../../src/store/db/sql.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasChromium, openChromium, visit } from '../support/chromium.ts'
import { openShop, type Shop } from '../support/web-fixtures.ts'

describe.skipIf(!hasChromium)('decided questions', { timeout: 270_000 }, () => {
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
    await page.getByLabel('Search or paste an id').fill('& |')
    await page
      .getByText(/must have a letter or a digit/)
      .first()
      .waitFor()
    await page.getByLabel('Search or paste an id').fill('nowhere')
    await page.getByText('No matches').waitFor()
    await tab.check()
    await page.getByRole('button', { name: 'Clear' }).click()

    // Anywhere in the row opens the question; what is a link of its own does not.
    await rows.nth(1).getByRole('link', { name: 'open the run' }).click()
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
    const rows = page.getByRole('list', { name: 'Waiting requests' }).locator('.question-row')
    await expect.poll(() => rows.count()).toBe(2)
    await rows.nth(0).getByRole('checkbox').check()
    await page.getByRole('searchbox').click()
    await page.keyboard.type('w 88')
    await expect.poll(() => page.getByRole('searchbox').inputValue()).toBe('w 88')
    await expect.poll(() => rows.count()).toBe(1)
    await expect
      .poll(() => rows.locator('a').getAttribute('href'))
      .toBe(`/approvals/${two.approvalId}?q=w%2088`)
    expect(await page.getByRole('searchbox').inputValue()).toBe('w 88')
    await tab.check()
    await page.getByRole('searchbox').fill('nothing like it')
    await page.getByText('No matching requests').waitFor()
    await page.getByRole('searchbox').fill(one.approvalId)
    await expect
      .poll(() => rows.locator('a').getAttribute('href'))
      .toBe(`/approvals/${one.approvalId}?q=${one.approvalId}`)
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
    await note.getByRole('link', { name: 'Open the request' }).click()
    await page.waitForURL(`**/approvals/${asked.approvalId}`)

    await page.goto(`${shop.h.url}/audit?action=approvals:Decide`)
    const rows = page.getByRole('region', { name: 'Audit entries' }).locator('tbody tr')
    await rows.nth(0).getByText('rejected').waitFor()
    await rows.nth(1).getByText('approved').first().waitFor()
    await rows.nth(1).getByRole('link', { name: 'tool send_refund' }).waitFor()
    await tab.check()
    await rows.nth(1).getByRole('link', { name: 'open the call' }).click()
    await page.waitForURL(`**/runs/${asked.generationId}?call=${callId}`)
    await page.goto(`${shop.h.url}/audit?action=tools:Call`)
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
    const tab = await visit(browser, shop.h, '/audit?action=approvals:Decide', {
      key: made['secret'],
    })
    const { page } = tab
    const rows = page.getByRole('region', { name: 'Audit entries' }).locator('tbody tr')
    await rows.first().getByRole('link', { name: 'open the request' }).waitFor()
    await rows.first().getByText(`tool/${shop.refundId}`).waitFor()
    expect(await rows.getByRole('link', { name: /send_refund|open the call/ }).count()).toBe(0)
    const { data } = await shop.h.gql(
      'query($filter: AuditFilter) { auditEntries(filter: $filter, first: 50) { nodes { action } } }',
      { filter: { principalId: made['apiKey'].id, outcome: 'DENIED' } },
    )
    const refused = data['auditEntries'].nodes.map(({ action }: { action: string }) => action)
    expect(refused).not.toContain('tools:Get')
    expect(refused).not.toContain('toolCalls:Get')
    await tab.close()
  })

  test('what is narrowed is a file: CSV that no spreadsheet takes for formulas, and JSON, with masked values masked', async () => {
    const hostile = '=cmd|\' /C calc\'!A0, "quoted"'
    const asked = await shop.ask('X-1', 5, { card: '4000-secret', note: 'two\nlines' })
    await decide(asked, { verdict: 'REJECT', reason: hostile })
    const tab = await visit(browser, shop.h, `/approvals?view=decided&q=${asked.approvalId}`)
    const { page } = tab
    await page.getByText('0 approved, 1 rejected').waitFor()
    const fileOf = async (name: string) => {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name }).click(),
      ])
      return { name: download.suggestedFilename(), text: await readFile(await download.path(), 'utf8') }
    }
    const csv = await fileOf('Export CSV')
    expect(csv.name).toBe('decided.csv')
    expect(csv.text.startsWith('\uFEFFid,tool,summary,outcome')).toBe(true)
    expect(csv.text).toContain(`"'=cmd|' /C calc'!A0, ""quoted"""`)
    expect(csv.text).toContain('[masked]')
    expect(csv.text).not.toContain('4000-secret')
    expect(csv.text.split('\r\n')).toHaveLength(3)
    await page.getByText('The file has 1 rows.').waitFor()
    const json = await fileOf('Export JSON')
    expect(JSON.parse(json.text)).toMatchObject([{ id: asked.approvalId, votes: [{ reason: hostile }] }])
    await tab.check()

    // More than a page; and a reading that is cancelled writes nothing.
    for (let i = 0; i < 60; i++)
      await shop.h.mutate('setSecret', { name: `exported_${i}`, value: `value ${i}` }, 'secret { name }')
    await page.goto(`${shop.h.url}/audit?action=secrets:Set`)
    const audit = await fileOf('Export CSV')
    expect(audit.text.split('\r\n')).toHaveLength(62)
    let release = () => {}
    const held = new Promise<void>((resolve) => (release = resolve))
    await page.route('**/graphql', async (route) => {
      await held
      await route.continue().catch(() => {})
    })
    await page.getByRole('button', { name: 'Export JSON' }).click()
    await page.getByText('0 rows read').waitFor()
    await page.getByRole('button', { name: 'Cancel the export' }).click()
    await page.getByText('Cancelled: no file was written.').waitFor()
    release()
    await tab.check()
    await tab.close()
  })

  test('a file has at most 10,000 rows, and says when it stops there', async () => {
    const { data } = await shop.h.gql('{ viewer { project { id } } }')
    await query(
      shop.h.app.services.db,
      sql`insert into audit_entries (id, project_id, principal_id, action, resource, outcome, details)
        select 'aud_many' || i, ${data['viewer'].project.id}, 'system', 'files:Many', 'file/none', 'EXECUTED', '{}'
        from generate_series(1, 10001) i`,
    )
    const tab = await visit(browser, shop.h, '/audit?action=files:Many')
    const { page } = tab
    const downloading = page.waitForEvent('download', { timeout: 180_000 })
    await page.getByRole('button', { name: 'Export CSV' }).click()
    const text = await readFile(await (await downloading).path(), 'utf8')
    expect(text.split('\r\n')).toHaveLength(10_002)
    await page.getByText('The file has the first 10,000 rows').waitFor()
    await tab.close()
  })
})
