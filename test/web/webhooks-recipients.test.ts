/** Who is sent links by way of a webhook, named on its page; and two people who change one webhook at once. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasChromium, openChromium, visit } from '../support/chromium.ts'
import { openReceiver, type Receiver } from '../support/webhook-receiver.ts'
import { openShop, type Shop } from '../support/web-fixtures.ts'

describe.skipIf(!hasChromium)('recipients and editors of a webhook', { timeout: 180_000 }, () => {
  let browser: Browser
  let shop: Shop
  let receiver: Receiver

  beforeAll(async () => {
    browser = await openChromium()
    receiver = await openReceiver()
    shop = await openShop({ gate: { verdictLinks: true } })
  })
  afterAll(async () => {
    await browser?.close()
    await shop?.close()
    await receiver?.close()
  })

  const create = async (key?: string) => {
    const input = { url: `${receiver.url}/mail`, types: ['APPROVAL_REQUESTED'] }
    return (await shop.h.mutate('createWebhook', input, 'webhook { id }', key))['webhook'].id as string
  }
  const read = async (id: string) =>
    (
      await shop.h.gql(
        'query($id: ID!) { webhook(id: $id) { description url recipients { address principalId } } }',
        { id },
      )
    ).data['webhook']

  test('recipients are added and removed by name, and get links', async () => {
    const ann = await shop.person('Ann Approver')
    const bob = await shop.person('Bob Approver')
    const id = await create()
    const tab = await visit(browser, shop.h, `/settings/webhooks/${id}`)
    const { page } = tab
    const part = page.getByRole('region', { name: 'Recipients', exact: true })
    await part.getByText('Nobody: requests are sent without links.').waitFor()
    const form = part.getByRole('form', { name: 'Add a recipient' })
    const add = async (name: string, address: string) => {
      await form.getByLabel('Votes as').selectOption({ label: name })
      await form.getByLabel('Address').fill(address)
      await form.getByRole('button', { name: 'Add' }).click()
    }
    await add('Ann Approver (key)', 'a'.repeat(400))
    await form.locator('.field', { hasText: 'Address' }).getByRole('alert').waitFor()
    await form.getByLabel('Address').fill('ann@example.com')
    await form.getByRole('button', { name: 'Add' }).click()
    await part.getByRole('row').filter({ hasText: 'ann@example.com' }).getByText('Ann Approver').waitFor()
    // Nobody is named twice.
    expect(await form.getByLabel('Votes as').getByRole('option').allInnerTexts()).not.toContain(
      'Ann Approver (key)',
    )
    await add('Bob Approver (key)', 'bob@example.com')
    const second = part.getByRole('row').filter({ hasText: 'bob@example.com' })
    await second.getByText('Bob Approver').waitFor()
    await form.getByLabel('Votes as').selectOption({ label: 'By id …' })
    await form.getByLabel('Id of the person or key').fill('key_none')
    await form.getByLabel('Address').fill('x@example.com')
    await form.getByRole('button', { name: 'Add' }).click()
    await form.getByRole('alert').getByText('must be the id of a person').waitFor()
    await tab.check()
    expect((await read(id)).recipients).toEqual([
      { address: 'ann@example.com', principalId: ann.id },
      { address: 'bob@example.com', principalId: bob.id },
    ])
    await shop.ask('R-1')
    await receiver.until((received) => received.length > 0)
    expect(JSON.stringify(receiver.received[0]!.data)).toContain('ann@example.com')
    await second.getByRole('button', { name: 'Remove' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('heading', { name: 'Send Bob Approver no more links?' }).waitFor()
    await dialog.getByRole('button', { name: 'Remove' }).click()
    await second.waitFor({ state: 'detached' })
    expect((await read(id)).recipients).toHaveLength(1)
    await tab.close()
  })

  test('the page says by name who made the webhook; who is no operator names itself only', async () => {
    const { id: adamId, secret } = await shop.person('Adam Admin', 'ADMIN')
    const ann = await shop.person('Ann')
    const id = await create(secret)
    const tab = await visit(browser, shop.h, `/settings/webhooks/${id}`, { key: secret })
    const { page } = tab
    await page.locator('.facts').getByRole('button', { name: 'Adam Admin' }).waitFor()
    const form = page.getByRole('form', { name: 'Add a recipient' })
    await form.getByLabel('Votes as').selectOption({ label: 'By id …' })
    await form.getByLabel('Id of the person or key').fill(ann.id)
    await form.getByLabel('Address').fill('me@example.com')
    await form.getByRole('button', { name: 'Add' }).click()
    await form.getByRole('alert').getByText("Only an operator's key may direct the votes").waitFor()
    await form.getByLabel('Votes as').selectOption({ label: 'Adam Admin (key)' })
    await form.getByRole('button', { name: 'Add' }).click()
    await page.getByRole('row').filter({ hasText: 'me@example.com' }).waitFor()
    expect((await read(id)).recipients).toEqual([{ address: 'me@example.com', principalId: adamId }])
    await tab.check()
    await tab.close()
  })

  test('of two who save at the same moment the second keeps nothing of the first by accident', async () => {
    const id = await create()
    const tab = await visit(browser, shop.h, `/settings/webhooks/${id}`)
    const { page } = tab
    // The rival's change is on the server before this one arrives, and after the page last heard of it.
    let isFirst = true
    await page.route('**/graphql', async (route) => {
      if (!isFirst || !route.request().postData()?.includes('mutation UpdateWebhook')) return route.continue()
      isFirst = false
      await shop.h.mutate('updateWebhook', { webhookId: id, description: 'theirs' }, 'webhook { id }')
      return route.continue()
    })
    await page.getByLabel('What it is for').fill('mine')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('heading', { name: 'Someone else changed this' }).waitFor()
    expect(await read(id)).toMatchObject({ description: 'theirs' })
    await tab.check()
    await page.getByRole('button', { name: 'Continue with these' }).click()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('The webhook is changed.').waitFor()
    expect(await read(id)).toMatchObject({ description: 'mine' })
    await tab.close()
  })
})
