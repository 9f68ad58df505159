/** Attacks on the interactions of Slack: forged, old and repeated signatures, other projects, and races. */
import { expect, test } from 'vitest'
import { hasPostgres } from '../support/databases.ts'
import { adminKey } from '../support/harness.ts'
import { openSlackServer, interact, pressOf, botToken, channel } from '../support/slack-server.ts'
import { openSlackFixtures, user } from '../support/slack-fixtures.ts'
import { openDeployment } from '../support/deployment.ts'
import { isSigned, signatureOf } from '../../src/domain/followers/slack/interactions.ts'
import { forFile } from '../support/for-file.ts'

const slack = await forFile(openSlackServer())
const deployment = await forFile(
  openDeployment(hasPostgres ? 'PostgreSQL' : 'PGlite', { slackApiUrl: slack.url }),
)
const h = deployment.replicas[0]!
const slackFixtures = await openSlackFixtures(h, deployment.fixtures, slack)

const second = () => Math.floor(Date.now() / 1000)
const votesOf = async (approvalId: string) =>
  (await slackFixtures.gate.approval(approvalId))['votes'] as unknown[]

test('the signature is that of the example in the documentation of Slack', () => {
  const body =
    'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar' +
    '&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com' +
    '%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c'
  const secret = '8f742231b10e8888abcd99yyyzzz85a5'
  const signature = 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503'
  expect(signatureOf(secret, '1531420618', body)).toBe(signature)
  const request = { timestamp: '1531420618', signature, body }
  const at = 1531420618_000
  expect(isSigned(secret, request, at)).toBe(true)
  expect(isSigned(secret, request, at + 301_000)).toBe(false)
  expect(isSigned(secret, request, at - 301_000)).toBe(false)
  expect(isSigned(secret, { ...request, timestamp: '1531420618.5' }, at)).toBe(false)
})

test('forged, altered and old requests are answered alike, and nobody votes', async () => {
  const { approvalId, message } = await slackFixtures.question()
  const press = () => pressOf(message, 'approve', user)
  const altered = new URLSearchParams({
    payload: JSON.stringify(pressOf(message, 'approve', 'U0OTHER')),
  }).toString()
  const unknown = press()
  unknown['actions'][0].value = unknown['actions'][0].value.replace(/apr_\w+/, 'apr_unknown')
  const answers = [
    await interact(h.url, press(), { secret: 'a'.repeat(32) }),
    await interact(h.url, press(), { body: altered }),
    await interact(h.url, press(), { timestamp: second() - 301 }),
    await interact(h.url, press(), { timestamp: second() + 301 }),
    await interact(h.url, press(), { signature: 'v0=' }),
    await interact(h.url, press(), { signature: '' }),
    await interact(h.url, unknown),
    await interact(h.url, press(), { body: 'payload=%7B' }),
    await interact(h.url, press(), { body: '' }),
    await interact(h.url, { ...press(), type: 'shortcut' }),
  ]
  expect(new Set(answers.map((one) => JSON.stringify(one))).size).toBe(1)
  expect(answers[0]!.status).toBe(401)
  expect(await votesOf(approvalId)).toEqual([])
})

test('a request that was sent before is refused, on another replica too', async () => {
  const { approvalId, message } = await slackFixtures.question({ quorum: 2 })
  const press = pressOf(message, 'approve', user)
  const timestamp = second()
  const answers = await Promise.all(
    [0, 1, 0, 1].map((i) =>
      interact(deployment.replicas[i % deployment.replicas.length]!.url, press, { timestamp }),
    ),
  )
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 401, 401, 401])
  expect(await votesOf(approvalId)).toHaveLength(1)
  expect((await interact(h.url, press, { timestamp })).status).toBe(401)
})

test('the signing secret of another project signs nothing here, and people of another workspace decide nothing', async () => {
  const { approvalId, message } = await slackFixtures.question()
  const made = await h.mutate('createProject', { name: 'other' }, 'project { id }', adminKey)
  const secret = 'b'.repeat(32)
  const other = { projectId: made['project'].id, botToken, signingSecret: secret, channel }
  await h.mutate('setSlackIntegration', other, 'integration { id }')
  expect((await interact(h.url, pressOf(message, 'approve', user), { secret })).status).toBe(401)
  const before = slack.ephemeral.length
  const foreign = { id: user, team_id: 'T0002' }
  await interact(h.url, pressOf(message, 'approve', user, { user: foreign }))
  await interact(h.url, pressOf(message, 'approve', user, { team: { id: 'T0002' } }))
  expect(slack.ephemeral.slice(before).map(({ text }) => text)).toEqual([
    expect.stringContaining('Only people of the workspace'),
    expect.stringContaining('Only people of the workspace'),
  ])
  expect(await votesOf(approvalId)).toEqual([])
})

test('two people at once on two replicas: one decides, the other is told', async () => {
  const bob = await slackFixtures.gate.key({ role: 'APPROVER' })
  await h.mutate('linkSlackUser', { slackUserId: 'U0BOB', principalId: bob.id }, 'user { principalId }')
  const { approvalId, message } = await slackFixtures.question()
  const before = slack.ephemeral.length
  await Promise.all(
    [user, 'U0BOB'].map((who, i) =>
      interact(deployment.replicas[i % deployment.replicas.length]!.url, pressOf(message, 'approve', who)),
    ),
  )
  expect(await votesOf(approvalId)).toHaveLength(1)
  expect(slack.ephemeral.slice(before)).toHaveLength(1)
  await slackFixtures.untilShown(approvalId, 'Approved')
})

test('a revoked key, a program and the requester decide nothing in Slack', async () => {
  const carol = await slackFixtures.gate.key({ role: 'ADMIN' })
  await h.mutate('linkSlackUser', { slackUserId: 'U0CAROL', principalId: carol.id }, 'user { principalId }')
  const tool = await slackFixtures.gate.gated({ autoApprove: false, excludeRequester: true })
  const call = await slackFixtures.gate.call(tool.id, { amount: 1 }, {}, carol.secret)
  await slack.until(() => slackFixtures.message(call['approval'].id) !== undefined)
  const before = slack.ephemeral.length
  await interact(h.url, pressOf(slackFixtures.message(call['approval'].id)!, 'approve', 'U0CAROL'))
  expect(slack.ephemeral.slice(before)).toEqual([
    { user: 'U0CAROL', text: expect.stringContaining('may not decide about it') },
  ])
  const { approvalId, message } = await slackFixtures.question()
  await h.mutate('revokeApiKey', { id: carol.id }, 'apiKey { id }')
  await interact(h.url, pressOf(message, 'approve', 'U0CAROL'))
  expect(slack.ephemeral.at(-1)!.text).toContain('may not act any more')
  expect(await votesOf(approvalId)).toEqual([])
  const program = await slackFixtures.gate.key({ role: 'APPROVER', votes: false })
  const linked = { slackUserId: 'U0BOT2', principalId: program.id }
  expect(await h.mutate('linkSlackUser', linked, 'user { principalId }')).toMatchObject({
    __typename: 'ValidationError',
  })
})

test('an expired question is refused with a sentence', async () => {
  const { approvalId, callId, message } = await slackFixtures.question()
  await slackFixtures.gate.bringForward(approvalId, 'expiry')
  await slackFixtures.gate.untilCall(callId, ['EXPIRED'])
  await interact(h.url, pressOf(message, 'approve', user))
  expect(slack.ephemeral.at(-1)!.text).toContain('The time for this approval was over')
})

test('neither token nor signing secret is stored in clear text or in the log', async () => {
  for (const table of ['slack_integrations', 'events', 'audit_entries', 'idempotency_keys']) {
    const text = JSON.stringify(await deployment.rows(`select * from ${table}`))
    for (const secret of [botToken, '8f742231b10e8888abcd99yyyzzz85a5'])
      expect(text, table).not.toContain(secret)
  }
})
