/** Verdicts in Slack, as a person in the channel gives them, over a server that is as strict as Slack's. */
import { expect, test } from 'vitest'
import { openHarness } from '../../support/harness.ts'
import {
  botToken,
  channel,
  interact,
  openSlackServer,
  pressOf,
  signingSecret,
  submissionOf,
  testPressOf,
} from '../../support/slack-server.ts'
import { headlineOf, openSlackFixtures, user } from '../../support/slack-fixtures.ts'
import { makeFixtures } from '../../support/fixtures.ts'
import { forFile } from '../../support/for-file.ts'

const slack = await forFile(openSlackServer())
const h = await forFile(openHarness({ slackApiUrl: slack.url }))
const fixtures = await forFile(makeFixtures(h))
const slackFixtures = await openSlackFixtures(h, fixtures, slack)

const textOf = (message: unknown) => JSON.stringify(message)

test('a question is posted once with what a person needs, and without arguments', async () => {
  const { approvalId, tool, message } = await slackFixtures.question()
  expect(headlineOf(message)).toBe('Approval needed')
  const text = textOf(message)
  for (const shown of [tool, `${h.url}/approvals/${approvalId}`, 'Until: <!date^'])
    expect(text).toContain(shown)
  for (const hidden of ['secret-pin', 'amount']) expect(text).not.toContain(hidden)
  expect(message).toMatchObject({ channel, unfurl_links: false })
  expect(text).not.toContain('"confirm"')
  expect(slack.faults).toEqual([])
})

test('a press approves: the call runs, the message says who, and vote, event and audit name the way', async () => {
  const { approvalId, callId, tool, message } = await slackFixtures.question()
  expect(await interact(h.url, pressOf(message, 'approve', user))).toEqual({ status: 200, body: null })
  await slackFixtures.gate.untilCall(callId, ['SUCCEEDED'])
  expect(slackFixtures.gate.paid(tool)).toHaveLength(1)
  const shown = await slackFixtures.untilShown(approvalId, 'Approved')
  expect(textOf(shown)).toMatch(/Approved by key \d+ in Slack/)
  expect(textOf(shown)).not.toContain('gatehouse_approve')
  const { data } = await h.gql(
    'query($id: ID!) { approval(id: $id) { votes { by via } } auditEntries(first: 9) { nodes { principalId details } } }',
    { id: approvalId },
  )
  expect(data['approval'].votes).toEqual([{ by: slackFixtures.alice.id, via: 'SLACK' }])
  expect(data['auditEntries'].nodes).toContainEqual({
    principalId: slackFixtures.alice.id,
    details: expect.objectContaining({ approvalId, via: 'SLACK' }),
  })
})

test('a rejection asks for the reason in a modal, and the reason reaches the caller', async () => {
  const { approvalId, callId, message } = await slackFixtures.question()
  await interact(h.url, pressOf(message, 'reject', user))
  const view = slack.views.at(-1)!
  expect((await slackFixtures.gate.approval(approvalId))['status']).toBe('PENDING')
  expect(await interact(h.url, submissionOf(view, 'too much', user))).toEqual({ status: 200, body: null })
  expect(textOf((await slackFixtures.gate.untilCall(callId, ['REJECTED']))['content'])).toContain('too much')
  expect(textOf(await slackFixtures.untilShown(approvalId, 'Rejected'))).toContain('too much')
  const late = await interact(h.url, submissionOf(view, 'again', user))
  expect(late.body).toMatchObject({
    response_action: 'errors',
    errors: { reason: expect.stringContaining('faster') },
  })
})

test('what is decided, expires or is voided elsewhere is shown', async () => {
  const decided = await slackFixtures.question()
  await slackFixtures.gate.decide(decided.approvalId, 'REJECT', { reason: 'at the desk' })
  expect(textOf(await slackFixtures.untilShown(decided.approvalId, 'Rejected'))).toContain('at the desk')

  const expired = await slackFixtures.question()
  await slackFixtures.gate.bringForward(expired.approvalId, 'expiry')
  await slackFixtures.untilShown(expired.approvalId, 'Expired')

  const tool = await slackFixtures.gate.gated({ autoApprove: false })
  const generation = await slackFixtures.gate.ask(tool)
  const [asked] = await slackFixtures.gate.pending(generation)
  await slack.until(() => slackFixtures.message(asked!['id']) !== undefined)
  await h.mutate('cancelGeneration', { generationId: generation }, 'generation { id }')
  await slackFixtures.untilShown(asked!['id'], 'Void')
})

test('a question that gets longer time shows until when', async () => {
  const { approvalId } = await slackFixtures.question()
  const until = new Date(Math.floor(Date.now() / 1000) * 1000 + 3_600_000)
  const given = { approvalId, until: until.toISOString() }
  const { secret } = slackFixtures.alice
  await h.mutate('extendApproval', given, 'approval { id }', secret)
  await slack.until(() => textOf(slackFixtures.message(approvalId)).includes(`<!date^${+until / 1000}^`))
  expect(headlineOf(slackFixtures.message(approvalId)!)).toBe('Approval needed')
})

test('an unlinked user decides nothing and is told so alone', async () => {
  const { approvalId, message } = await slackFixtures.question()
  const before = slack.ephemeral.length
  expect((await interact(h.url, pressOf(message, 'approve', 'U0NOBODY'))).status).toBe(200)
  expect(slack.ephemeral.slice(before)).toEqual([
    { user: 'U0NOBODY', text: expect.stringContaining('(U0NOBODY) is not linked to anybody') },
  ])
  expect((await interact(h.url, pressOf(message, 'reject', 'U0NOBODY'))).status).toBe(200)
  expect(slack.ephemeral.slice(before)).toHaveLength(2)
  expect((await slackFixtures.gate.approval(approvalId))['votes']).toEqual([])
  expect((await interact(h.url, pressOf(message, 'open', 'U0NOBODY'))).status).toBe(200)
  expect(slack.ephemeral.slice(before)).toHaveLength(2)
})

test('a destructive tool asks for a second press, and the message shows masked arguments only when it is set so', async () => {
  await h.mutate('setSlackIntegration', { showArguments: true }, 'integration { showArguments }')
  const { message } = await slackFixtures.question(
    { autoApprove: false, title: 'Pay out {amount}' },
    { annotations: { destructiveHint: true } },
  )
  await h.mutate('setSlackIntegration', { showArguments: false }, 'integration { showArguments }')
  expect(message['blocks'][1]).toEqual({
    type: 'section',
    text: { type: 'plain_text', emoji: false, text: 'Pay out 5' },
  })
  const actions = message['blocks'].find(({ type }: any) => type === 'actions')
  expect(actions.elements[0]).toMatchObject({ action_id: 'gatehouse_approve', confirm: { style: 'danger' } })
  expect(textOf(message)).toContain('\\"amount\\": 5')
  expect(textOf(message)).not.toContain('secret-pin')
})

test('an edited question has new buttons, and the old ones are refused with a sentence', async () => {
  const { approvalId, message } = await slackFixtures.question({ quorum: 2 })
  await slackFixtures.gate.decide(approvalId, 'APPROVE', { arguments: { amount: 6 } })
  await slack.until(() => textOf(slackFixtures.message(approvalId)).includes('Approved by'))
  const before = slack.ephemeral.length
  await interact(h.url, pressOf(message, 'approve', user))
  expect(slack.ephemeral.slice(before)).toEqual([
    { user, text: expect.stringContaining('were edited since you read') },
  ])
  await interact(h.url, pressOf(slackFixtures.message(approvalId)!, 'approve', user))
  expect((await slackFixtures.gate.approval(approvalId))['status']).toBe('APPROVED')
})

test('a busy Slack is asked again after Retry-After, and the question is posted once', async () => {
  let refused = 0
  slack.interfere = (method, _args, response) => {
    if (method !== 'chat.postMessage' || refused++ > 0) return false
    response.writeHead(429, { 'retry-after': '1' }).end()
    return true
  }
  const { approvalId } = await slackFixtures.question()
  slack.interfere = null
  const posts = slack.calls.filter(
    ({ method, args }) => method === 'chat.postMessage' && textOf(args).includes(approvalId),
  )
  expect(posts).toHaveLength(2)
  expect([...slack.messages.values()].filter((one) => textOf(one).includes(approvalId))).toHaveLength(1)
})

test('a long description and long arguments stay within the limits of Slack', async () => {
  await h.mutate('setSlackIntegration', { showArguments: true }, 'integration { showArguments }')
  const tool = await slackFixtures.gate.gated(
    { autoApprove: false },
    { description: '😀'.repeat(1995), title: '<!channel> ‮' },
  )
  const call = await slackFixtures.gate.call(tool.id, { amount: 1, to: '<!here> *'.repeat(2000) })
  await slack.until(() => slackFixtures.message(call['approval'].id) !== undefined)
  await h.mutate('setSlackIntegration', { showArguments: false }, 'integration { showArguments }')
  const message = slackFixtures.message(call['approval'].id)!
  // Foreign text is only in plain text, which Slack does not interpret.
  const markup = message['blocks']
    .flatMap(({ fields = [] }: any) => fields)
    .filter(({ type }: any) => type === 'mrkdwn')
  expect(textOf(markup)).not.toContain('channel>')
  expect(textOf(message)).not.toContain('\u202e')
  // Half a character is no Unicode, and refused by what reads JSON strictly.
  expect(textOf(message)).not.toMatch(/\\ud[89a-f]/)
  expect(slack.faults).toEqual([])
})

test('a revoked token disables the integration with event and audit entry; a new one goes on where it stopped', async () => {
  slack.tokens.clear()
  const tool = await slackFixtures.gate.gated({ autoApprove: false })
  const call = await slackFixtures.gate.call(tool.id)
  const [event] = await slackFixtures.gate.feed(
    ['SLACK_DISABLED'],
    '... on SlackDisabledEvent { integrationId reason }',
    (all) => all.length > 0,
  )
  expect(event).toMatchObject({ reason: 'TOKEN_REVOKED' })
  const { data } = await h.gql(
    '{ slackIntegration { status disabledReason fault } auditEntries(first: 5) { nodes { action principalId details } } }',
  )
  expect(data['slackIntegration']).toEqual({
    status: 'DISABLED',
    disabledReason: 'TOKEN_REVOKED',
    fault: 'token_revoked',
  })
  expect(data['auditEntries'].nodes).toContainEqual({
    action: 'slack:Set',
    principalId: 'system',
    details: { disabled: 'TOKEN_REVOKED', fault: 'token_revoked' },
  })
  expect(await h.mutate('setSlackIntegration', { botToken }, 'integration { id }')).toMatchObject({
    __typename: 'ValidationError',
    issues: [{ path: ['input', 'botToken'], message: expect.stringContaining('token_revoked') }],
  })
  slack.tokens.add('xoxb-9999-abcdefgh')
  const renewed = { botToken: 'xoxb-9999-abcdefgh' }
  expect(await h.mutate('setSlackIntegration', renewed, 'integration { status fault }')).toMatchObject({
    integration: { status: 'ENABLED', fault: null },
  })
  await slack.until(() => slackFixtures.message(call['approval'].id) !== undefined)
})

test('the secrets cannot be read, and only an operator sets them or links somebody else', async () => {
  const admin = await slackFixtures.gate.key({ role: 'ADMIN' })
  const forbidden = { errors: [{ extensions: { code: 'FORBIDDEN' } }] }
  const run = (name: string, input: object) =>
    h.gql(
      `mutation($i: ${name[0]!.toUpperCase()}${name.slice(1)}Input!) { ${name}(input: $i) { __typename } }`,
      { i: input },
      admin.secret,
    )
  expect(await run('setSlackIntegration', { signingSecret: 'a'.repeat(32) })).toMatchObject(forbidden)
  expect(
    await run('linkSlackUser', { slackUserId: 'U0ADMIN', principalId: slackFixtures.alice.id }),
  ).toMatchObject(forbidden)
  // Neither by taking over a link that exists.
  expect((await run('linkSlackUser', { slackUserId: user, principalId: admin.id })).data).toMatchObject({
    linkSlackUser: { __typename: 'ConflictError' },
  })
  expect((await run('linkSlackUser', { slackUserId: 'U0ADMIN', principalId: admin.id })).data).toMatchObject({
    linkSlackUser: { __typename: 'LinkSlackUserPayload' },
  })
  const { data } = await h.gql('{ slackIntegration { users { slackUserId principalId } interactionsUrl } }')
  expect(data['slackIntegration']).toEqual({
    users: [
      { slackUserId: 'U0ADMIN', principalId: admin.id },
      { slackUserId: user, principalId: slackFixtures.alice.id },
    ],
    interactionsUrl: `${h.url}/slack/interactions`,
  })
})

test('a test message proves the signing secret when its press comes back, and until a secret is set anew', async () => {
  const verifiedAt = async () =>
    (await h.gql('{ slackIntegration { verifiedAt } }')).data['slackIntegration'].verifiedAt
  const tried = () => h.mutate('testSlackIntegration', {}, 'tokenFault channelFault')
  expect(await tried()).toMatchObject({ tokenFault: null, channelFault: null })
  const press = testPressOf(slack, 'U0STRANGER')
  // Neither another secret nor a made-up integration proves anything.
  const forged = await interact(h.url, press, { secret: '0123456789abcdef' })
  const other = { ...press, actions: [{ ...press['actions'][0], value: 'slk_000000000000000000000000' }] }
  expect([forged.status, (await interact(h.url, other)).status]).toEqual([401, 401])
  expect(await verifiedAt()).toBeNull()
  const { feedCursor } = (await h.gql('{ viewer { project { feedCursor } } }')).data['viewer'].project
  expect((await interact(h.url, press)).status).toBe(200)
  await h.collect(
    'subscription($after: String) { projectEvents(after: $after, types: [SLACK_SET]) { __typename } }',
    { after: feedCursor },
    (events) => events.length > 0,
  )
  expect(await verifiedAt()).not.toBeNull()
  expect(textOf([...slack.messages.values()].at(-1))).toContain('The press has arrived')
  await h.mutate('setSlackIntegration', { signingSecret }, 'integration { id }')
  expect(await verifiedAt()).toBeNull()

  await h.mutate('setSlackIntegration', { channel: 'C0NOWHERE' }, 'integration { id }')
  expect(await tried()).toMatchObject({ tokenFault: null, channelFault: 'channel_not_found' })
  const tokens = [...slack.tokens]
  slack.tokens.clear()
  expect(await tried()).toMatchObject({ tokenFault: 'token_revoked', channelFault: null })
  for (const token of tokens) slack.tokens.add(token)
  slack.faults.length = 0
  await h.mutate('setSlackIntegration', { channel }, 'integration { id }')
})

test('a deleted integration posts nothing, and its buttons decide nothing', async () => {
  const { approvalId, message } = await slackFixtures.question()
  expect(await h.mutate('deleteSlackIntegration', {}, 'deletedId')).toMatchObject({
    deletedId: expect.stringMatching(/^slk_/),
  })
  expect((await interact(h.url, pressOf(message, 'approve', user))).status).toBe(401)
  expect((await slackFixtures.gate.approval(approvalId))['status']).toBe('PENDING')
  expect((await h.gql('{ slackIntegration { id } }')).data['slackIntegration']).toBeNull()
})
