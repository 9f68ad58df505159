/** Webhooks whose endpoint is an e-mail address, over a real mail server: questions, links, faults and repeats. */
import { readFileSync } from 'node:fs'
import { afterAll, afterEach, expect, test } from 'vitest'
import { isMailAddress } from '../../../src/domain/egress/index.ts'
import { loadConfig } from '../../../src/config.ts'
import { openCertificates } from '../../support/certificates.ts'
import { forFile } from '../../support/for-file.ts'
import { makeFixtures } from '../../support/fixtures.ts'
import { gateFixtures } from '../../support/gate-fixtures.ts'
import { openHarness } from '../../support/harness.ts'
import { sendForm } from '../../support/link-fixtures.ts'
import { openSmtpServer, type KeptMail } from '../../support/smtp-server.ts'
import { passTime } from '../../support/webhook-receiver.ts'

let smtp = await openSmtpServer()
const mail = loadConfig({ GATEHOUSE_SMTP_URL: smtp.url, GATEHOUSE_MAIL_FROM: 'gatehouse@example.com' }).mail
const h = await forFile(openHarness({ mail, webhookTimeoutMs: 4000 }))
const gate = gateFixtures(h, await forFile(makeFixtures(h)))
const made: string[] = []

afterAll(() => smtp.close())
afterEach(async () => {
  for (const webhookId of made.splice(0)) await h.mutate('deleteWebhook', { webhookId }, 'deletedId')
  smtp.mails.length = 0
  smtp.answer = () => null
  smtp.certificate = null
  smtp.logins.length = 0
})

async function create(more: object = {}): Promise<string> {
  const input = { url: 'mailto:finance@example.com', ...more }
  const { webhook, secret } = await h.mutate('createWebhook', input, 'secret webhook { id }')
  expect(secret).toBeNull()
  made.push(webhook.id)
  return webhook.id
}

async function question(more: object = {}, tool: object = {}) {
  const { id, name } = await gate.gated({ autoApprove: false, ...more }, tool)
  const call = await gate.call(id, { amount: 5, to: 'Ann', pin: 'secret-pin' })
  return { approvalId: call['approval'].id as string, callId: call['id'] as string, name }
}

async function until(id: string, holds: (delivery: Record<string, any>) => boolean): Promise<any> {
  let delivery: any
  const read = async () => {
    const { data } = await h.gql(
      'query($id: ID!) { webhook(id: $id) { deliveries { nodes { id status attempts answers { status error body } } } } }',
      { id },
    )
    delivery = data['webhook'].deliveries.nodes[0]
    return delivery !== undefined && holds(delivery)
  }
  await expect.poll(read).toBe(true)
  return delivery
}

const idOf = ({ headers }: KeptMail) => headers['message-id']

test('a question is one mail, with what is asked and the link, and without arguments and verdict links', async () => {
  const id = await create()
  const { approvalId, name } = await question({ verdictLinks: true })
  await until(id, ({ status }) => status === 'DELIVERED')
  expect(smtp.mails).toHaveLength(1)
  const [{ to, headers, text, raw }] = smtp.mails as [KeptMail]
  expect(to).toBe('finance@example.com')
  expect(headers).toMatchObject({
    from: 'gatehouse@example.com',
    subject: `Approval needed: ${name}`,
    'auto-submitted': 'auto-generated',
  })
  expect(text).toContain(`${h.url}/approvals/${approvalId}`)
  expect(text).toMatch(/Expires: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, \d+ (?:minute|hour|day)/)
  for (const hidden of ['/verdict/', 'Ann', 'secret-pin', 'Your code']) expect(raw).not.toContain(hidden)
  const { data } = await h.gql('query($id: ID!) { webhook(id: $id) { types } }', { id })
  expect(data['webhook'].types).toEqual(['APPROVAL_REQUESTED', 'APPROVAL_EXPIRED', 'APPROVAL_ESCALATED'])
  expect(smtp.logins[0]).toBe('user:hush-hush-word')
})

test('each recipient gets a mail of their own, whose link decides once', async () => {
  const id = await create()
  const people = [await gate.key({ role: 'APPROVER' }), await gate.key({ role: 'APPROVER' })]
  const recipients = (addresses: string[]) =>
    h.mutate(
      'setWebhookRecipients',
      {
        webhookId: id,
        recipients: people.map((one, i) => ({ principalId: one.id, address: addresses[i]! })),
      },
      'webhook { id }',
    )
  expect(await recipients(['ann@example.com', 'bob'])).toMatchObject({
    issues: [{ path: ['input', 'recipients', '1', 'address'] }],
  })
  await recipients(['ann@example.com', 'bob@example.com'])
  const { approvalId } = await question({ verdictLinks: true })
  await smtp.until((mails) => mails.length === 3)
  const of = (to: string) => smtp.mails.find((one) => one.to === to)!
  expect(of('finance@example.com').raw).not.toContain('/verdict/')
  const { text } = of('ann@example.com')
  expect(text).not.toContain(/Your code: (\S+)/.exec(of('bob@example.com').text)![1])
  const url = /http\S+\/verdict\/\S+/.exec(text)![0]
  const code = /Your code: (\S+)/.exec(text)![1]!
  expect((await sendForm(url, { code, verdict: 'APPROVE' })).text).toContain('<h1>Approved</h1>')
  expect((await sendForm(url, { code, verdict: 'APPROVE' })).status).toBe(409)
  expect((await gate.approval(approvalId))['votes']).toHaveLength(1)
})

test('with arguments the subject is the sentence, in one line whatever it has in it', async () => {
  const id = await create({ full: true })
  const { id: toolId } = await gate.gated({ autoApprove: false, title: 'Pay {to}' })
  await gate.call(toolId, {
    amount: 5,
    to: 'Eve\r\nBcc: eve@example.com\r\n\r\n<img src=x>',
    pin: 'secret-pin',
  })
  await until(id, ({ status }) => status === 'DELIVERED')
  const [{ headers, raw }] = smtp.mails as [KeptMail]
  expect(headers['bcc']).toBeUndefined()
  expect(headers['subject']).toContain('Pay Eve Bcc: eve@example.com <img src=x>')
  expect(raw).not.toContain('secret-pin')
  expect(raw.slice(raw.indexOf('text/html'))).not.toContain('<img')
})

test('4xx is tried again, an answer that was lost is the same mail again, and 5xx is dead at once', async () => {
  const id = await create()
  smtp.answer = (command) => (command.startsWith('RCPT') ? '451 4.7.1 hush-hush-word greylisted' : null)
  await question()
  const first = await until(id, ({ attempts }) => attempts === 1)
  expect(first.status).toBe('PENDING')
  expect(first.answers[0]).toMatchObject({ status: 451 })
  expect(first.answers[0].error).toContain('4.7.1 [masked] greylisted')
  smtp.answer = (command) => (command === 'END' ? 'cut' : null)
  await passTime(h)
  await until(id, ({ attempts }) => attempts === 2)
  smtp.answer = () => null
  await passTime(h)
  const done = await until(id, ({ status }) => status === 'DELIVERED')
  expect(done.answers.at(-1)).toMatchObject({ status: 250, error: null })
  expect(smtp.mails).toHaveLength(2)
  expect(idOf(smtp.mails[0]!)).toBe(idOf(smtp.mails[1]!))
  expect(smtp.mails[0]!.headers['date']).toBe(smtp.mails[1]!.headers['date'])
  smtp.answer = (command) => (command.startsWith('RCPT') ? '550 5.1.1 nobody here' : null)
  await question()
  const dead = await until(id, ({ status }) => status === 'DEAD')
  expect(dead).toMatchObject({ attempts: 1, answers: [{ status: 550 }] })
  expect(dead.answers[0].error).toContain('5.1.1 nobody here')
})

test('what is asked while the mail server is away is sent when it is back, and a refused password is no end', async () => {
  const id = await create()
  await smtp.close()
  await question()
  expect((await until(id, ({ attempts }) => attempts === 1)).status).toBe('PENDING')
  smtp = await openSmtpServer(smtp.port)
  smtp.answer = (command) => (command === 'AUTH' ? '535 5.7.8 hush-hush-word is wrong' : null)
  await passTime(h)
  const refused = await until(id, ({ attempts }) => attempts === 2)
  expect(refused.status).toBe('PENDING')
  expect(JSON.stringify(refused)).not.toContain('hush-hush-word')
  smtp.answer = () => null
  await passTime(h)
  await until(id, ({ status }) => status === 'DELIVERED')
  expect(smtp.mails).toHaveLength(1)
})

test('a server that says nothing more has until the time limit, and the same mail is sent again', async () => {
  const id = await create()
  smtp.answer = (command) => (command === 'END' ? 'silence' : null)
  await question()
  const first = await until(id, ({ attempts }) => attempts === 1)
  expect(first).toMatchObject({ status: 'PENDING', answers: [{ status: null }] })
  smtp.answer = () => null
  await passTime(h)
  await until(id, ({ status }) => status === 'DELIVERED')
  expect(new Set(smtp.mails.map(idOf)).size).toBe(1)
})

test('under a certificate that nobody knows neither password nor mail is sent', async () => {
  const certificates = openCertificates()
  certificates.makeAuthority('stranger')
  const read = (name: string) => readFileSync(certificates.file(name), 'utf8')
  smtp.certificate = { key: read('stranger.key'), cert: read('stranger.pem') }
  certificates.remove()
  const id = await create()
  await question()
  const refused = await until(id, ({ attempts }) => attempts === 1)
  expect(refused.status).toBe('PENDING')
  expect(refused.answers[0].error).toMatch(/certificate/i)
  expect([smtp.mails, smtp.logins]).toEqual([[], []])
  smtp.certificate = null
  await passTime(h)
  await until(id, ({ status }) => status === 'DELIVERED')
})

test('a mail that is replayed is the same mail, for readers that drop what they have', async () => {
  const id = await create()
  await question()
  await until(id, ({ status }) => status === 'DELIVERED')
  expect(await h.mutate('replayWebhook', { webhookId: id, after: '0' }, 'replayId')).toHaveProperty(
    'replayId',
  )
  const sent = idOf(smtp.mails[0]!)
  await smtp.until((mails) => mails.filter((one) => idOf(one) === sent).length === 2)
})

test('a test shows the code of the server, and who may not change a webhook does not see its address', async () => {
  const id = await create()
  const { answer } = await h.mutate('testWebhook', { webhookId: id }, 'answer { status error }')
  expect(answer).toEqual({ status: 250, error: null })
  expect(smtp.mails[0]!.headers['subject']).toBe('A test of Gatehouse')
  const viewer = await gate.key({ role: 'VIEWER' })
  const { data } = await h.gql('query($id: ID!) { webhook(id: $id) { url } }', { id }, viewer.secret)
  expect(data['webhook'].url).toBe('mailto:…')
})

test('an address is never sent every event, whether it is created, given no types or moved to', async () => {
  const types = ['APPROVAL_REQUESTED', 'APPROVAL_EXPIRED', 'APPROVAL_ESCALATED']
  const update = async (webhookId: string, input: object) =>
    (await h.mutate('updateWebhook', { webhookId, ...input }, 'webhook { types }'))['webhook'].types
  const id = await create({ types: ['AGENT_CREATED'] })
  expect(await update(id, { types: null })).toEqual(types)
  const other = (await h.mutate('createWebhook', { url: 'http://127.0.0.1:9/' }, 'webhook { id types }'))[
    'webhook'
  ]
  made.push(other.id)
  expect(other.types).toBeNull()
  expect(await update(other.id, { url: 'mailto:finance@example.com' })).toEqual(types)
  await h.mutate('createAgent', { name: 'not_a_mail' }, 'agent { id }')
  await question()
  await smtp.until((mails) => mails.length === 2)
  expect(smtp.mails.map(({ headers }) => headers['subject'])).toEqual(
    smtp.mails.map(() => expect.stringContaining('Approval needed') as string),
  )
})

test('arguments show characters that hide or turn round what follows', async () => {
  const id = await create({ full: true })
  const { id: toolId } = await gate.gated({ autoApprove: false })
  await gate.call(toolId, { amount: 5, to: 'ann\u202etxt.exe\u200b', pin: 'secret-pin' })
  await until(id, ({ status }) => status === 'DELIVERED')
  expect(smtp.mails[0]!.text).toContain('"ann\uFFFDtxt.exe\uFFFD"')
})

test('without the settings an address is refused and the settings are named; and so is what is no address', async () => {
  const without = await openHarness({ mail: null })
  const refused = await without.mutate('createWebhook', { url: 'mailto:a@example.com' }, 'webhook { id }')
  expect(refused['issues'][0]).toMatchObject({ path: ['input', 'url'] })
  expect(refused['issues'][0].message).toContain('GATEHOUSE_SMTP_URL')
  await without.stop()
  const bad = [
    '',
    'a',
    'a@b,c@d',
    'Ann <a@b.example>',
    'a@b?cc=c@d',
    'a@b\n',
    'ä@b.example',
    `${'a'.repeat(65)}@b`,
    '"a b"@c',
    'a@[127.0.0.1]',
  ]
  for (const one of bad) {
    expect(isMailAddress(one), one).toBe(false)
    expect(await h.mutate('createWebhook', { url: `mailto:${one}` }, 'webhook { id }')).toHaveProperty(
      'issues',
    )
  }
  expect(isMailAddress("o'neil+x@mail.example.com")).toBe(true)
})

test('the settings require each other and are named without their values', () => {
  expect(() => loadConfig({ GATEHOUSE_SMTP_URL: 'smtp://a.example' })).toThrow('require each other')
  for (const url of [
    'http://hunter2',
    'smtp://u:hunter2@a.example/x',
    'smtp://u:hunter2@a.example?tls=no',
    'smtp://hunter2@a.example',
    'smtp://u:hunter2@a.example:465',
    'smtps://u:hunter2@a.example:587',
    'smtp://u:hunter2#x@a.example',
  ])
    expect(() => loadConfig({ GATEHOUSE_SMTP_URL: url })).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('hunter2') }) as Error,
    )
})

test('a password of any characters is read as it is, when it is percent-encoded', () => {
  const pass = ',+;"cb)4Ew#HD6*%/\\@:?é'
  const url = `smtps://bot%40example.com:${encodeURIComponent(pass)}@mail.example.com`
  const settings = loadConfig({ GATEHOUSE_SMTP_URL: url, GATEHOUSE_MAIL_FROM: 'bot@example.com' }).mail
  expect(settings).toMatchObject({ port: 465, secure: true, auth: { user: 'bot@example.com', pass } })
})
