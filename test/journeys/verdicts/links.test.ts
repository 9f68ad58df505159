/** Verdicts with a link and a one-time code, as a person with an e-mail gives them. */
import { expect, test } from 'vitest'
import { openHarness } from '../../support/harness.ts'
import { openLinkFixtures, sendForm } from '../../support/link-fixtures.ts'
import { forFile } from '../../support/for-file.ts'

const h = await forFile(openHarness())
const linkFixtures = await forFile(openLinkFixtures(h))

test('the code of the message approves: the call runs, and vote, event and audit name the recipient and the way', async () => {
  const { approvalId, callId, tool, links, data } = await linkFixtures.question()
  expect(links.map(({ principalId, address }) => ({ principalId, address }))).toEqual(
    linkFixtures.people.map(({ id }, i) => ({ principalId: id, address: `p${i}@example.com` })),
  )
  const [link] = links
  expect(link!.url).toMatch(new RegExp(`^${h.url}/verdict/`))
  expect(link!.code).toMatch(/^[0-9A-Z]{4}-[0-9A-Z]{4}$/)
  expect(link!.url).not.toContain(link!.code.replace('-', ''))
  expect(data.link).toBe(`${h.url}/approvals/${approvalId}`)
  const answer = await sendForm(link!.url, {
    code: link!.code.toLowerCase().replace('-', ' '),
    verdict: 'APPROVE',
  })
  expect(answer.status).toBe(200)
  expect(answer.text).toContain('<h1>Approved</h1>')
  expect((await linkFixtures.gate.untilCall(callId, ['SUCCEEDED']))['status']).toBe('SUCCEEDED')
  expect(linkFixtures.gate.paid(tool)).toHaveLength(1)
  const { data: read } = await h.gql(
    `query($id: ID!) { approval(id: $id) { status votes { by via from } }
      auditEntries(first: 10) { nodes { action principalId details } } }`,
    { id: approvalId },
  )
  expect(read['approval']).toEqual({
    status: 'APPROVED',
    votes: [{ by: linkFixtures.people[0]!.id, via: 'LINK', from: '127.0.0.1' }],
  })
  const entry = read['auditEntries'].nodes.find((one: any) => one.details.approvalId === approvalId)
  expect(entry).toMatchObject({
    action: 'approvals:Decide',
    principalId: linkFixtures.people[0]!.id,
    details: { via: 'LINK' },
  })
  const of = (event: any) => event.approval?.id === approvalId
  const events = await linkFixtures.gate.feed(
    ['APPROVAL_DECIDED'],
    '... on ApprovalDecidedEvent { approval { id } decidedBy via }',
    (all) => all.some(of),
  )
  expect(events.find(of)).toMatchObject({ decidedBy: linkFixtures.people[0]!.id, via: 'LINK' })
})

test('a rejection takes its reason to the caller', async () => {
  const { callId, links } = await linkFixtures.question()
  const [, link] = links
  const answer = await sendForm(link!.url, { code: link!.code, verdict: 'REJECT', reason: 'not today' })
  expect(answer.text).toContain('<h1>Rejected</h1>')
  const call = await linkFixtures.gate.untilCall(callId, ['REJECTED'])
  expect(JSON.stringify(call['content'])).toContain('not today')
})

test('two recipients at once: one of them decides, the other is told so', async () => {
  const { approvalId, links } = await linkFixtures.question()
  const answers = await Promise.all(
    links.map(({ url, code }, i) => sendForm(url, { code, verdict: i === 0 ? 'APPROVE' : 'REJECT' })),
  )
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409])
  expect((await linkFixtures.gate.approval(approvalId))['votes']).toHaveLength(1)
})

test('with a quorum of two both recipients count, and the code of one counts once', async () => {
  const { approvalId, links } = await linkFixtures.question({ quorum: 2 })
  const [one, two] = links
  const first = await sendForm(one!.url, { code: one!.code, verdict: 'APPROVE' })
  expect(first.text).toContain('Another person must approve, too.')
  const again = await sendForm(one!.url, { code: one!.code, verdict: 'APPROVE' })
  expect(again).toMatchObject({ status: 409 })
  expect(again.text).toContain('This code was used already.')
  expect((await linkFixtures.gate.approval(approvalId))['votes']).toHaveLength(1)
  await sendForm(two!.url, { code: two!.code, verdict: 'APPROVE' })
  expect((await linkFixtures.gate.approval(approvalId))['status']).toBe('APPROVED')
})

test('a gate that does not allow links sends none, and neither does one beside it that does not', async () => {
  const silent = await linkFixtures.question({ verdictLinks: false })
  expect(silent.data).not.toHaveProperty('verdictLinks')
  const tool = await linkFixtures.gate.gated({ autoApprove: false, verdictLinks: true })
  const generation = await linkFixtures.gate.ask(tool, { amount: 5 }, { gate: { autoApprove: false } })
  const [asked] = await linkFixtures.gate.pending(generation)
  await linkFixtures.receiver.until((all) => all.some(({ data }) => data['approvalId'] === asked!['id']))
  const { data } = linkFixtures.receiver.received.find((one) => one.data['approvalId'] === asked!['id'])!
  expect(data).not.toHaveProperty('verdictLinks')
})

test('opening the page says nothing of the question, is the same for every link, and changes nothing', async () => {
  const { approvalId, links, tool } = await linkFixtures.question()
  const [link] = links
  const pages = await Promise.all([link!.url, `${h.url}/verdict/nonsense`].map((url) => fetch(url)))
  const [page, other] = await Promise.all(pages.map((one) => one.text()))
  expect(page).toBe(other)
  for (const hidden of [tool, 'secret-pin', approvalId, 'amount']) expect(page).not.toContain(hidden)
  const head = await fetch(link!.url, { method: 'HEAD' })
  expect(head.status).toBe(200)
  for (const response of [pages[0]!, head]) {
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('referrer-policy')).toBe('no-referrer')
    expect(response.headers.get('content-security-policy')).toMatch(
      /default-src 'none';.*frame-ancestors 'none';.*form-action 'self'/,
    )
  }
  expect((await linkFixtures.gate.approval(approvalId))['status']).toBe('PENDING')
})

test('only an operator names recipients other than itself, and the list cannot be sent elsewhere by anybody else', async () => {
  const developer = await linkFixtures.gate.key({ role: 'DEVELOPER' })
  const other = [{ principalId: linkFixtures.people[0]!.id, address: 'x@example.com' }]
  expect(
    await h.gql(
      'mutation($i: SetWebhookRecipientsInput!) { setWebhookRecipients(input: $i) { __typename } }',
      {
        i: { webhookId: linkFixtures.webhookId, recipients: other },
      },
      developer.secret,
    ),
  ).toMatchObject({ errors: [{ extensions: { code: 'FORBIDDEN' } }] })
  const moved = await h.gql(
    'mutation($i: UpdateWebhookInput!) { updateWebhook(input: $i) { __typename } }',
    {
      i: { webhookId: linkFixtures.webhookId, url: 'http://127.0.0.1:9/mine' },
    },
    developer.secret,
  )
  expect(moved).toMatchObject({ errors: [{ extensions: { code: 'FORBIDDEN' } }] })
  const made = await h.mutate(
    'createWebhook',
    { url: linkFixtures.receiver.url },
    'webhook { id }',
    developer.secret,
  )
  const own = { webhookId: made['webhook'].id, recipients: [{ principalId: developer.id, address: 'me' }] }
  expect(
    await h.mutate('setWebhookRecipients', own, 'webhook { recipients { address } }', developer.secret),
  ).toEqual({
    __typename: 'WebhookPayload',
    webhook: { recipients: [{ address: 'me' }] },
  })
  await h.mutate('deleteWebhook', { webhookId: own.webhookId }, 'deletedId')
  const program = await linkFixtures.gate.key({ role: 'APPROVER', votes: false })
  for (const principalId of [program.id, 'usr_unknown'])
    expect(await linkFixtures.setRecipients([{ principalId, address: 'p' }])).toMatchObject({
      __typename: 'ValidationError',
      issues: [{ path: ['input', 'recipients', '0', 'principalId'] }],
    })
})
