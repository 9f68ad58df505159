/** Journeys of the operator of webhooks and of sessions, in a real browser; and the pure parts of the form. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { publicName } from '../../src/domain/events/event.ts'
import { eventKinds, isSent } from '../../src/domain/events/index.ts'
import { draftOfWebhook, updateInputOf } from '../../web/src/screens/settings/webhooks/draft.ts'
import { typeGroups, typeName } from '../../web/src/screens/settings/webhooks/event-types.ts'
import { hasChromium, openChromium, signIn, visit } from '../support/chromium.ts'
import { adminKey, openHarness, type Harness } from '../support/harness.ts'
import { openReceiver, type Receiver } from '../support/webhook-receiver.ts'

test('each type of event that is sent has one checkbox, under the name that is sent', () => {
  const shown: string[] = typeGroups.flatMap(({ types }) => [...types])
  const sent = Object.keys(eventKinds).filter(isSent)
  expect(shown.toSorted()).toEqual(sent.toSorted())
  for (const type of shown) expect(typeName(type)).toBe(publicName(type as Parameters<typeof publicName>[0]))
})

test('a change sends only the fields that were changed, and all types as null', () => {
  const standing = { url: 'https://a', description: null, types: ['B', 'A'], ordered: false, full: false }
  const began = draftOfWebhook(standing)
  expect(updateInputOf(began, { ...began, types: ['A', 'B'] })).toEqual({})
  expect(updateInputOf(began, { ...began, isEvery: true })).toEqual({ types: null })
  expect(updateInputOf(began, { ...began, description: ' x ' })).toEqual({ description: 'x' })
})

describe.skipIf(!hasChromium)('webhooks and sessions', { timeout: 180_000 }, () => {
  let browser: Browser
  let h: Harness
  let receiver: Receiver

  beforeAll(async () => {
    browser = await openChromium()
    receiver = await openReceiver((_got, response) => void response.writeHead(500).end('out of <b>paper</b>'))
    h = await openHarness()
  })
  afterAll(async () => {
    await browser?.close()
    await h?.stop()
    await receiver?.close()
  })

  test('a webhook is made, its secret shown once, and what the endpoint refused is sent again', async () => {
    const tab = await visit(browser, h, '/settings/webhooks')
    const { page } = tab
    await page.getByText('No webhooks').waitFor()
    await page.getByRole('button', { name: 'New webhook' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('URL').fill('not an address')
    await dialog.getByRole('button', { name: 'Create the webhook' }).click()
    await dialog.locator('.field').getByRole('alert').waitFor()
    await dialog.getByLabel('URL').fill(`${receiver.url}/hook`)
    await dialog.getByLabel('What it is for').fill('The chat of the shop')
    for (const name of ['approval.requested', 'approval.decided']) await dialog.getByLabel(name).uncheck()
    expect(await dialog.locator('.field').getByRole('alert').count()).toBe(0)
    expect(await dialog.getByRole('button', { name: 'Create the webhook' }).isDisabled()).toBe(true)
    await dialog.getByLabel('agent.created').check()
    await tab.check()
    await dialog.getByRole('button', { name: 'Create the webhook' }).click()
    const secret = await dialog.locator('.copy-id > span').first().innerText()
    expect(secret).toMatch(/^whsec_/)
    receiver.secret = secret
    await dialog.getByRole('button', { name: 'I saved it' }).click()
    await page.getByRole('heading', { name: receiver.url }).waitFor()
    expect(await page.locator('body').innerText()).not.toContain(secret)

    await h.mutate('createAgent', { name: 'first' }, 'agent { id }')
    await receiver.until((received) => received.length > 0)
    const row = page.getByRole('region', { name: 'Deliveries' }).getByRole('row').nth(1)
    await row.getByText('The endpoint answered 500.').first().waitFor()
    await row.getByText('out of <b>paper</b>').first().waitFor()
    await row.getByText('to retry').waitFor()
    await tab.check()
    receiver.respond = (_got, response) => void response.writeHead(200).end()
    await row.getByRole('button', { name: 'Send again' }).click()
    await row.getByText('accepted', { exact: true }).first().waitFor()
    expect(receiver.refused).toEqual([])

    await page.getByRole('button', { name: 'Send a test' }).click()
    const tested = page.getByRole('status', { name: 'Answer to the test' })
    await tested.getByText('accepted').waitFor()
    expect(receiver.received.at(-1)!.type).toBe('webhook.test')
    await page.getByRole('combobox', { name: 'Event of the test' }).selectOption('approval.requested')
    await page.getByRole('button', { name: 'Send a test' }).click()
    await receiver.until((received) => received.at(-1)!.type === 'approval.requested')
    await tested.getByText('accepted').waitFor()

    // What is accepted at once is listed too, with what was sent and what came back, and is sent again.
    receiver.respond = (_got, response) =>
      void response
        .writeHead(202, { 'x-queue': 'the <b>slow</b> one', 'set-cookie': 'sid=hush' })
        .end('thank <b>you</b>')
    await h.mutate('createAgent', { name: 'second' }, 'agent { id }')
    const second = page
      .getByRole('region', { name: 'Deliveries' })
      .last()
      .getByRole('row')
      .filter({ hasText: '202' })
    await second.getByRole('button', { name: 'agent.created' }).click()
    await page.getByRole('region', { name: 'Request' }).getByText('"second"').waitFor()
    const back = page.getByRole('region', { name: 'Response' })
    await back.getByText('thank <b>you</b>').waitFor()
    await back.getByText(/^Headers/).click()
    await back.getByText('the <b>slow</b> one').waitFor()
    expect(await back.innerText()).toMatch(/set-cookie\s+\[masked\]/)
    await tab.check()
    const sent = receiver.received.length
    await second.getByRole('button', { name: 'Send again' }).click()
    await receiver.until((received) => received.length > sent)
    expect(receiver.received.at(-1)!.id).toBe(receiver.received.at(-2)!.id)
    await second.getByText('2 tries').waitFor()
    await page.getByRole('button', { name: 'Dead', exact: true }).click()
    await page.getByText('None of these').waitFor()
    await page.getByRole('button', { name: 'All', exact: true }).click()
    const before = receiver.received.length
    await page.getByRole('button', { name: 'Replay …' }).click()
    await dialog.getByRole('button', { name: 'Begin the replay' }).click()
    await receiver.until((received) => received.slice(before).some(({ id }) => id === received[0]!.id))
    await page.getByRole('link', { name: 'All webhooks' }).click()
    await page.getByText('The chat of the shop').waitFor()
    await tab.check()
    await tab.close()
  })

  test('settings are saved beside those of a rival, and a webhook that answered 410 is enabled again', async () => {
    receiver.secret = null
    receiver.respond = (_got, response) => void response.writeHead(410).end()
    const { webhook } = await h.mutate(
      'createWebhook',
      { url: `${receiver.url}/second`, types: ['AGENT_CREATED'] },
      'webhook { id }',
    )
    const tab = await visit(browser, h, `/settings/webhooks/${webhook.id}`)
    const { page } = tab
    await page.getByLabel('What it is for').fill('mine')
    await h.mutate('updateWebhook', { webhookId: webhook.id, ordered: true }, 'webhook { id }')
    await page.getByRole('heading', { name: 'Someone else changed this' }).waitFor()
    await page.getByRole('button', { name: 'Continue with these' }).click()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('The webhook is changed.').waitFor()
    const read = async () =>
      (await h.gql('query($id: ID!) { webhook(id: $id) { description ordered status } }', { id: webhook.id }))
        .data['webhook']
    expect(await read()).toEqual({ description: 'mine', ordered: true, status: 'ENABLED' })

    await h.mutate('createAgent', { name: 'gone' }, 'agent { id }')
    await page.getByText('the endpoint answered 410').waitFor()
    await tab.check()
    receiver.respond = (_got, response) => void response.writeHead(204).end()
    await page.getByRole('button', { name: 'Enable again' }).click()
    await page.getByRole('button', { name: 'Disable' }).waitFor()
    expect(await read()).toMatchObject({ status: 'ENABLED' })

    await page.getByRole('button', { name: 'Rotate the secret' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Rotate the secret' }).click()
    expect(await dialog.locator('.copy-id > span').first().innerText()).toMatch(/^whsec_/)
    await dialog.getByRole('button', { name: 'I saved it' }).click()
    await page.getByText('Previous secret signs until').waitFor()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await dialog.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByText('The webhook is deleted.').waitFor()
    expect(await read()).toBeNull()
    await tab.close()
  })

  test('own sessions are listed, and all but this one end; those of others by who may', async () => {
    const { secret } = await h.mutate('createApiKey', { name: 'Ann', role: 'APPROVER' }, 'secret')
    const theirs = await visit(browser, h, '/people/sessions', { key: secret })
    await theirs.page.getByText('this browser').waitFor()
    const elsewhere = await browser.newContext()
    await signIn(elsewhere, h.url, adminKey)
    // An approver reads the sessions of others and cannot end one.
    await theirs.page.getByRole('button', { name: 'Refresh' }).click()
    const seen = theirs.page.getByRole('region', { name: 'Sessions of others' })
    await seen.getByText('with an API key').first().waitFor()
    expect(await seen.getByRole('button', { name: 'End', exact: true }).count()).toBe(0)
    const tab = await visit(browser, h, '/people/sessions')
    const { page } = tab
    const others = page.getByRole('region', { name: 'Sessions of others' })
    await others.getByRole('button', { name: 'End', exact: true }).waitFor()
    await tab.check()
    const dialog = page.getByRole('dialog')
    await others.getByRole('button', { name: 'End', exact: true }).click()
    await dialog.getByRole('button', { name: 'End', exact: true }).click()
    await page.getByText('Nobody else is signed in').waitFor()
    await theirs.page.getByLabel(/key/i).waitFor()
    await page.getByRole('button', { name: 'End all others' }).click()
    await dialog.getByRole('button', { name: 'End all others' }).click()
    await page.getByRole('button', { name: 'End all others' }).waitFor({ state: 'detached' })
    expect(await page.getByRole('region', { name: 'Your sessions' }).getByRole('row').count()).toBe(2)
    const { session } = await (await elsewhere.request.get(`${h.url}/session`)).json()
    expect(session ?? null).toBeNull()
    await tab.check()
    await elsewhere.close()
    await theirs.close()
    await tab.close()
  })
})
