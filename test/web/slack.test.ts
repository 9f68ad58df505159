/** Journeys of the operator of Slack in a real browser, with Slack's side on loopback; and the pure part of the choice. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { votersOf } from '../../web/src/parts/voters.ts'
import { hasChromium, openChromium, picture, visit } from '../support/chromium.ts'
import {
  botToken,
  channel,
  interact,
  openSlackServer,
  signingSecret,
  testPressOf,
  type SlackServer,
} from '../support/slack-server.ts'
import { openShop, type Shop } from '../support/web-fixtures.ts'

const key = (id: string, more: object = {}) => ({
  id,
  name: id,
  votes: true,
  agent: null,
  revokedAt: null,
  creator: null,
  ...more,
})

test('an operator chooses anybody who may vote, by a name that tells them apart', () => {
  const keys = [
    key('key_aaaaaa', { name: 'Ann' }),
    key('key_program', { votes: false }),
    key('key_revoked', { revokedAt: '2026-01-01T00:00:00Z' }),
    key('key_bound', { agent: { id: 'agt_1' } }),
  ]
  const people = [
    { id: 'usr_bbbbbb', name: 'Ann' },
    { id: 'usr_bbbbbb', name: 'Ann' },
    { id: 'key_session', name: 'x' },
    { id: 'usr_cccccc', name: null },
  ]
  const self = { id: 'key_op', name: 'operator', isOperator: true }
  expect(votersOf({ self, keys, people })).toEqual([
    { id: 'key_aaaaaa', name: 'Ann (key …aaaaaa)' },
    { id: 'usr_bbbbbb', name: 'Ann (person …bbbbbb)' },
    { id: 'usr_cccccc', name: 'usr_cccccc (person)' },
  ])
})

test('anybody else chooses itself and the keys that it made', () => {
  const self = { id: 'usr_me', name: 'Me', isOperator: false }
  const keys = [
    key('key_mine', { creator: { id: 'usr_me' } }),
    key('key_theirs', { creator: { id: 'usr_x' } }),
  ]
  const people = [{ id: 'usr_other', name: 'Other' }]
  expect(votersOf({ self, keys, people }).map(({ id }) => id)).toEqual(['key_mine', 'usr_me'])
  const program = [key('key_me', { votes: false })]
  expect(votersOf({ self: { ...self, id: 'key_me' }, keys: program, people: [] })).toEqual([])
})

describe.skipIf(!hasChromium)('Slack', { timeout: 180_000 }, () => {
  let browser: Browser
  let slack: SlackServer
  let shop: Shop

  beforeAll(async () => {
    browser = await openChromium()
    slack = await openSlackServer()
    shop = await openShop({ config: { slackApiUrl: slack.url } })
  })
  afterAll(async () => {
    await browser?.close()
    await shop?.close()
    await slack?.close()
  })

  const set = (input: object) => shop.h.mutate('setSlackIntegration', input, 'integration { id }')
  const read = async () => {
    const fields = 'channel showArguments status users { slackUserId principalId }'
    return (await shop.h.gql(`{ slackIntegration { ${fields} } }`)).data['slackIntegration']
  }

  test('Slack is set up, people are linked by name, and a press of theirs can be taken back', async () => {
    const ann = await shop.person('Ann Approver')
    const tab = await visit(browser, shop.h, '/settings/slack')
    const { page } = tab
    await page.getByRole('heading', { name: 'Slack is not set up' }).waitFor()
    await tab.check()
    await page.getByRole('button', { name: 'Set up Slack' }).click()
    const dialog = page.getByRole('dialog')
    const submit = dialog.getByRole('button', { name: 'Set up', exact: true })
    expect(await submit.isDisabled()).toBe(true)
    await dialog.getByLabel('Channel').fill('general')
    await dialog.getByLabel('Bot token').fill('xoxb-a-token-that-slack-does-not-know')
    await dialog.getByLabel('Signing secret').fill(signingSecret)
    await submit.click()
    // Each fault stands at its field.
    await dialog
      .locator('.field', { hasText: 'Channel' })
      .getByRole('alert')
      .getByText('must be the id')
      .waitFor()
    await dialog.getByLabel('Channel').fill(channel)
    await submit.click()
    await dialog
      .locator('.field', { hasText: 'Bot token' })
      .getByRole('alert')
      .getByText('refused by Slack')
      .waitFor()
    await tab.check()
    await dialog.getByLabel('Bot token').fill(botToken)
    await submit.click()
    await page.getByRole('status', { name: 'Status' }).getByText('enabled').waitFor()
    await page.getByText(`${shop.h.url}/slack/interactions`).waitFor()
    await page.getByRole('button', { name: 'Example' }).waitFor()
    for (const secret of [botToken, signingSecret]) expect(await page.content()).not.toContain(secret)

    const form = page.getByRole('form', { name: 'Link a Slack user' })
    await form.getByLabel('Slack user').fill('ann')
    await form.getByLabel('Votes as').selectOption({ label: 'Ann Approver (key)' })
    await form.getByRole('button', { name: 'Link' }).click()
    await form.getByRole('alert').getByText('must be the id of a Slack user').waitFor()
    await form.getByLabel('Slack user').fill('U0ALICE')
    await form.getByRole('button', { name: 'Link' }).click()
    const row = page.getByRole('row').filter({ hasText: 'U0ALICE' })
    await row.getByRole('button', { name: 'Ann Approver' }).waitFor()
    expect((await read()).users).toEqual([{ slackUserId: 'U0ALICE', principalId: ann.id }])

    // Each step of the checklist is verified: the press of a real message comes back, signed.
    const steps = page.getByRole('region', { name: 'Checklist' }).getByRole('listitem')
    const states = async () => (await steps.allInnerTexts()).map((text) => text.split(':')[0])
    expect(await states()).toEqual(['done', 'to do', 'to do', 'done'])
    await page.getByRole('button', { name: 'Send a test message' }).click()
    await steps.getByText('Press the button of the test message in Slack.').waitFor()
    expect(await states()).toEqual(['done', 'done', 'to do', 'done'])
    await tab.check()
    expect((await interact(shop.h.url, testPressOf(slack, 'U0ALICE'))).status).toBe(200)
    await steps.getByText('The button of a test message was pressed.').waitFor()
    expect(await states()).toEqual(['done', 'done', 'done', 'done'])
    await tab.check()
    await picture(tab, 'slack')

    await form.getByLabel('Slack user').fill('U0BOB')
    await form.getByLabel('Votes as').selectOption({ label: 'By id …' })
    await form.getByLabel('Id of the person or key').fill('usr_nobody')
    await form.getByRole('button', { name: 'Link' }).click()
    await form.getByRole('alert').getByText('must be the id of a person').waitFor()
    await tab.check()

    await row.getByRole('button', { name: 'Unlink' }).click()
    await dialog.getByRole('button', { name: 'Unlink' }).click()
    await page.getByText('Nobody is linked yet').waitFor()
    expect((await read()).users).toEqual([])
    await tab.close()
  })

  test('settings are saved beside those of a rival; what Slack and others do is shown as it happens', async () => {
    await set({ botToken, signingSecret, channel })
    const tab = await visit(browser, shop.h, '/settings/slack')
    const { page } = tab
    const status = page.getByRole('status', { name: 'Status' })
    await page.getByLabel('With the arguments of calls').check()
    await set({ channel: 'C0OTHER' })
    // Somebody else's change of another field is shown beside one's own.
    await page.getByRole('heading', { name: 'Someone else changed this' }).waitFor()
    await tab.check()
    await page.getByRole('button', { name: 'Continue with these' }).click()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('The Slack integration is changed.').waitFor()
    expect(await read()).toMatchObject({ channel: 'C0OTHER', showArguments: true })

    // That channel does not exist: Slack refuses the question.
    await shop.ask('R-1')
    await status.getByText('disabled').waitFor()
    await status.getByText('channel_not_found').waitFor()
    await page
      .getByRole('region', { name: 'Checklist' })
      .getByText('The channel does not exist, or it is private')
      .waitFor()
    await tab.check()
    await page.getByLabel('Channel').fill(channel)
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await status.getByText('enabled').waitFor()
    await slack.until(() => slack.messages.size > 0)
    await page.getByRole('button', { name: 'Disable' }).click()
    await status.getByText('by request').waitFor()
    await set({ enabled: true })
    await status.getByText('enabled').waitFor()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByRole('heading', { name: 'Slack is not set up' }).waitFor()
    expect(await read()).toBeNull()
    await set({ botToken, signingSecret, channel })
    await status.getByText('enabled').waitFor()
    await tab.close()
  })

  test('who is no operator sets no secrets and links itself; who may only read sees no buttons; else a sentence', async () => {
    await set({ botToken, signingSecret, channel })
    const admin = await shop.person('Adam Admin', 'ADMIN')
    const theirs = await visit(browser, shop.h, '/settings/slack', { key: admin.secret })
    await theirs.page.getByText('Only an operator’s key may set').waitFor()
    expect(await theirs.page.getByLabel('Bot token').count()).toBe(0)
    const form = theirs.page.getByRole('form', { name: 'Link a Slack user' })
    await form.getByLabel('Slack user').fill('U0ADAM')
    const options = await form.getByLabel('Votes as').getByRole('option').allInnerTexts()
    expect(options).toEqual(['Select …', 'Adam Admin (key)', 'By id …'])
    const ann = await shop.person('Ann')
    await form.getByLabel('Votes as').selectOption({ label: 'By id …' })
    await form.getByLabel('Id of the person or key').fill(ann.id)
    await form.getByRole('button', { name: 'Link' }).click()
    await form.getByRole('alert').getByText("Only an operator's key may direct the votes").waitFor()
    await form.getByLabel('Votes as').selectOption({ label: 'Adam Admin (key)' })
    await form.getByRole('button', { name: 'Link' }).click()
    await theirs.page.getByRole('row').filter({ hasText: 'U0ADAM' }).waitFor()
    await theirs.check()
    await theirs.close()

    const policy = {
      statement: [{ effect: 'Allow', action: ['slack:Get', 'sessions:Start'], resource: ['*'] }],
    }
    const reader = await shop.h.mutate('createApiKey', { name: 'reader', policy }, 'secret')
    const seen = await visit(browser, shop.h, '/settings/slack', { key: reader['secret'] })
    await seen.page.getByRole('row').filter({ hasText: 'U0ADAM' }).waitFor()
    for (const name of ['Disable', 'Delete', 'Unlink', 'Link', 'Save'])
      expect(await seen.page.getByRole('button', { name, exact: true }).count()).toBe(0)
    await seen.check()
    await seen.close()

    const { secret } = await shop.person('Carl', 'CALLER')
    const none = await visit(browser, shop.h, '/settings/slack', { key: secret })
    await none.page.getByText('You need the permission slack:Get to do this.').waitFor()
    expect(await none.page.getByRole('heading', { name: 'Slack is not set up' }).count()).toBe(0)
    await none.check()
    await none.close()
  })
})
