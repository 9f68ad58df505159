/** Verdicts and their settings while somebody else holds a row, on PostgreSQL. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasPostgres, postgresDatabase } from '../../support/databases.ts'
import { openHarness, type Harness } from '../../support/harness.ts'
import { holdRow } from '../../support/held-row.ts'
import { openLinkFixtures, type LinkFixtures } from '../../support/link-fixtures.ts'
import { interact, openSlackServer, pressOf, type SlackServer } from '../../support/slack-server.ts'
import { openSlackFixtures, user, type SlackFixtures } from '../../support/slack-fixtures.ts'

describe.skipIf(!hasPostgres)('while a row is held by somebody else', { timeout: 180_000 }, () => {
  let database: Awaited<ReturnType<typeof postgresDatabase>>
  let h: Harness
  let slack: SlackServer
  let links: LinkFixtures
  let slackFixtures: SlackFixtures
  beforeAll(async () => {
    database = await postgresDatabase()
    slack = await openSlackServer()
    h = await openHarness({ slackApiUrl: slack.url, databaseUrl: database.url })
    links = await openLinkFixtures(h)
    slackFixtures = await openSlackFixtures(h, links.fixtures, slack)
  })
  afterAll(async () => {
    await links?.close()
    await h?.stop()
    await slack?.close()
    await database?.drop()
  })

  test('a press in Slack is answered before Slack gives it up, and the vote counts once when it can', async () => {
    const { approvalId, callId, tool, message } = await slackFixtures.question()
    const held = await holdRow(database.url, 'tool_calls', callId)
    // Slack shows its user an error after three seconds; the vote itself may wait longer.
    expect(await interact(h.url, pressOf(message, 'approve', user))).toEqual({ status: 200, body: null })
    await held.waiting(1)
    expect((await slackFixtures.gate.approval(approvalId))['status']).toBe('PENDING')
    await held.release()
    await slackFixtures.gate.untilCall(callId, ['SUCCEEDED'])
    await slackFixtures.untilShown(approvalId, 'Approved')
    expect(slackFixtures.gate.paid(tool)).toHaveLength(1)
    const { data } = await h.gql('query($id: ID!) { approval(id: $id) { votes { by via } } }', {
      id: approvalId,
    })
    expect(data['approval'].votes).toEqual([{ by: slackFixtures.alice.id, via: 'SLACK' }])
  })

  test('a webhook does not move with recipients that were set meanwhile', async () => {
    const { webhookId, people, receiver } = links
    const of = (n: number) => [{ principalId: people[n]!.id, address: `p${n}@example.com` }]
    await links.setRecipients(of(0))
    const held = await holdRow(database.url, 'webhooks', webhookId)
    const set = links.setRecipients(of(1))
    await held.waiting(1)
    const input = { webhookId, url: `${receiver.url}/elsewhere` }
    const moved = h.mutate('updateWebhook', input, 'webhook { url }')
    await held.waiting(2)
    await held.release()
    expect((await set)['webhook']).toMatchObject({ recipients: of(1) })
    expect(await moved).toMatchObject({ code: 'CONFLICT' })
    const { data } = await h.gql('query($id: ID!) { webhook(id: $id) { url recipients { principalId } } }', {
      id: webhookId,
    })
    expect(data['webhook']).toEqual({ url: receiver.url, recipients: [{ principalId: people[1]!.id }] })
    expect((await h.mutate('updateWebhook', input, 'webhook { url }'))['webhook']).toEqual({ url: input.url })
  })
})
