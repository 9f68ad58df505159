/** Journeys of the admin of retention, in a real browser: days, legal holds, and what one requester has left. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { query } from '../../src/store/db/database.ts'
import { sql } from '../../src/store/db/sql.ts'
import { hasChromium, openChromium, visit } from '../support/chromium.ts'
import { openShop, type Shop } from '../support/web-fixtures.ts'

describe.skipIf(!hasChromium)('retention', { timeout: 270_000 }, () => {
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

  const rows = (text: string) => query(shop.h.app.services.db, sql.raw(text))
  /** A finished run that ended so many days ago. */
  const oldRun = async (days: number, key?: string): Promise<string> => {
    const made = await shop.h.mutate(
      'startGeneration',
      { agentId: shop.agentId, prompt: 'say one' },
      'generation { id }',
      key,
    )
    const id = made['generation'].id as string
    await shop.h.until(id, ['COMPLETED'])
    await rows(
      `update generations set finished_at = finished_at - interval '${days} days' where id = '${id}'`,
    )
    await rows(
      `update events set created_at = created_at - interval '${days} days' where generation_id = '${id}'`,
    )
    return id
  }
  const exists = async (id: string) =>
    (await rows(`select 1 from generations where id = '${id}'`)).length === 1

  test('days are set with the counts of what goes in sight, and what is old is removed', async () => {
    const old = await oldRun(40)
    const young = await oldRun(0)
    const tab = await visit(browser, shop.h, '/settings/retention')
    const { page } = tab
    const runDays = page.getByLabel('Finished runs and calls, in days')
    await runDays.waitFor()
    expect(await runDays.inputValue()).toBe('0')
    const save = page.getByRole('button', { name: 'Save the retention' })
    expect(await save.isDisabled()).toBe(true)

    await runDays.fill('30')
    await page.getByText('Runs: 1', { exact: true }).waitFor()
    expect(await exists(old)).toBe(true)
    await tab.check()

    // What the server refuses stands at its field, in its words.
    await page.getByLabel('Audit entries, in days').fill('5')
    const field = page.locator('.field').filter({ hasText: 'Audit entries, in days' })
    await save.click()
    await page.getByRole('dialog').getByRole('button', { name: 'Save the retention' }).click()
    await field.getByRole('alert').getByText('must be at least 30 days').waitFor()
    await tab.check()

    await page.getByLabel('Audit entries, in days').fill('400')
    await save.click()
    await page.getByRole('dialog').getByText('cannot be brought back').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Save the retention' }).click()
    await page.getByText('The retention is saved.').waitFor()
    await expect.poll(() => exists(old)).toBe(false)
    expect(await exists(young)).toBe(true)
    // Its progress comes without a reload.
    await page.getByText('The last sweep ended', { exact: false }).waitFor()
    await page.locator('h2:text("What was removed") + ul').getByText('Runs: 1', { exact: true }).waitFor()
    await tab.close()
  })

  test('a legal hold is put on a run with its reason, keeps it, and is lifted', async () => {
    const held = await oldRun(0)
    const tab = await visit(browser, shop.h, '/settings/retention')
    const { page } = tab
    await page.getByText('No legal holds').waitFor()
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'Place a hold' }).click()
    await dialog.getByLabel('Run or requester').fill('gen_nowhere')
    await dialog.getByLabel('Reason').fill('case <b>4711</b>')
    await dialog.getByRole('button', { name: 'Place a hold' }).click()
    await dialog.getByRole('alert').getByText('gen_nowhere', { exact: false }).waitFor()
    await dialog.getByLabel('Run or requester').fill(held)
    await dialog.getByRole('button', { name: 'Place a hold' }).click()
    const row = page.getByRole('row').filter({ hasText: held })
    await row.getByText('case <b>4711</b>').waitFor()
    await tab.check()
    expect(
      await rows(`select 1 from legal_holds where target = '${held}' and lifted_at is null`),
    ).toHaveLength(1)
    await row.getByRole('button', { name: 'Lift' }).click()
    await dialog.getByRole('button', { name: 'Lift' }).click()
    await page.getByText('No legal holds').waitFor()
    expect(await exists(held)).toBe(true)
    await tab.close()
  })

  test('the data of one requester is removed after it was confirmed, and how far it is comes by itself', async () => {
    const { id, secret } = await shop.person('Rita', 'DEVELOPER')
    const gone = await oldRun(2, secret)
    const young = await oldRun(0, secret)
    const others = await oldRun(2)
    const tab = await visit(browser, shop.h, '/settings/retention')
    const { page } = tab
    const dialog = page.getByRole('dialog')
    const open = () => page.getByRole('button', { name: 'Remove the data of a requester' }).click()
    await open()
    await dialog.getByText('deleted for good', { exact: false }).waitFor()
    await dialog.getByLabel('Key or person').fill(id)
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    expect(await rows('select 1 from data_removals')).toEqual([])
    await open()
    await dialog.getByLabel('Key or person').fill('key_nobody')
    await dialog.getByRole('button', { name: 'Remove it permanently' }).click()
    await dialog.getByRole('alert').getByText('key_nobody', { exact: false }).waitFor()
    await dialog.getByLabel('Key or person').fill(id)
    await dialog.getByLabel('Reason').fill('asked by mail')
    await tab.check()
    await dialog.getByRole('button', { name: 'Remove it permanently' }).click()
    const row = page.getByRole('row').filter({ hasText: id })
    await row.getByText('asked by mail').waitFor()
    await row.getByText('in progress', { exact: false }).waitFor()
    await expect.poll(() => exists(gone)).toBe(false)
    await row.getByText('Runs: 1', { exact: true }).waitFor()
    await row.getByText('kept because part of them is recent: 1').waitFor()
    expect([await exists(young), await exists(others)]).toEqual([true, true])
    await tab.check()
    await tab.close()
  })

  test('what a late sweep has removed for a removal that goes on is shown without a reload', async () => {
    const tab = await visit(browser, shop.h, '/people/programs')
    const { page } = tab
    await rows("update retentions set status = 'SWEEPING', wake_at = now() + interval '1 hour'")
    await page.goto(`${shop.h.url}/settings/retention`)
    await page.getByText('A sweep is under way.').waitFor()
    const row = page.getByRole('row').filter({ hasText: 'asked by mail' })
    await row.getByText('in progress', { exact: false }).waitFor()
    await row.getByText('Runs: 1', { exact: true }).waitFor()
    await rows(`update data_removals set removed = '{"runs": 7}'`)
    await rows("update retentions set status = 'IDLE', last_finished_at = now()")
    await row.getByText('Runs: 7', { exact: true }).waitFor()
    await page.getByText('A sweep is under way.').waitFor({ state: 'detached' })
    await tab.close()
  })

  test('days that are being typed stay when somebody else saves others', async () => {
    const tab = await visit(browser, shop.h, '/settings/retention')
    const { page } = tab
    await page.getByLabel('Finished runs and calls, in days').fill('77')
    const input = { deliveryDays: 12 }
    await shop.h.mutate('setRetention', input, 'retention { version }')
    await page.getByText('Someone else changed this').waitFor()
    expect(await page.getByRole('button', { name: 'Save the retention' }).isDisabled()).toBe(true)
    await tab.check()
    await page.getByRole('button', { name: 'Continue with these' }).click()
    expect(await page.getByLabel('Finished runs and calls, in days').inputValue()).toBe('77')
    expect(await page.getByLabel('Settled deliveries, in days').inputValue()).toBe('12')
    await page.getByRole('button', { name: 'Save the retention' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Save the retention' }).click()
    await page.getByText('The retention is saved.').waitFor()
    await expect
      .poll(() => rows('select run_days, delivery_days from retentions'))
      .toEqual([{ run_days: 77, delivery_days: 12 }])
    await page.getByText('Someone else changed this').waitFor({ state: 'detached' })
    await tab.close()
  })

  test('a viewer sees the settings and the lists, without buttons', async () => {
    const { secret } = await shop.person('Vera', 'VIEWER')
    const tab = await visit(browser, shop.h, '/settings/retention', { key: secret })
    const { page } = tab
    await page.getByText('asked by mail').waitFor()
    expect(await page.getByLabel('Finished runs and calls, in days').inputValue()).toBe('77')
    for (const name of ['Save the retention', 'Place a hold', 'Remove the data of a requester'])
      expect(await page.getByRole('button', { name }).count()).toBe(0)
    expect(await page.getByLabel('Finished runs and calls, in days').isDisabled()).toBe(true)
    await tab.check()
    await tab.close()
  })
})
