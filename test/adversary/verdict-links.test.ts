/** Attacks on verdict links: guessed codes, altered links, and questions and people that have changed. */
import { expect, test } from 'vitest'
import { openDeployment } from '../support/deployment.ts'
import { hasPostgres } from '../support/databases.ts'
import { openLinkFixtures, sendForm, type Link } from '../support/link-fixtures.ts'
import { readCode } from '../../src/core/signing.ts'
import {
  codeOf,
  readToken,
  tokenOf as signedToken,
} from '../../src/domain/followers/webhooks/verdict-link.ts'
import { holdStatement } from '../support/held-statement.ts'
import { writeOf } from '../support/verdict-around.ts'
import { forFile } from '../support/for-file.ts'

const deployment = await forFile(
  openDeployment(hasPostgres ? 'PostgreSQL' : 'PGlite', {
    trustedProxies: ['127.0.0.1/32'],
  }),
)
const linkFixtures = await forFile(openLinkFixtures(deployment.replicas[0]!, deployment.fixtures))
const masterKey = Buffer.alloc(32, 7)
const tokenOf = (url: string) => url.split('/verdict/')[1]!
/** Codes of the right shape that are not the code of this link. */
function wrongCodes(link: Link, count: number): string[] {
  const read = readToken(masterKey, tokenOf(link.url))!
  return Array.from({ length: count }, (_, i) => codeOf(masterKey, { ...read, endMs: read.endMs + i + 1 }))
}
const approve = (url: string, code: string) => sendForm(url, { code, verdict: 'APPROVE' })
const elsewhere = (url: string) => url.replace(deployment.replicas[0]!.url, deployment.replicas.at(-1)!.url)

test('five wrong codes end a link, on two replicas together, and not the link of another recipient', async () => {
  const { approvalId, links } = await linkFixtures.question()
  const [link, other] = links as [Link, Link]
  const guesses = wrongCodes(link, 12)
  const answers = await Promise.all(
    guesses.map((code, i) => approve(i % 2 ? elsewhere(link.url) : link.url, code)),
  )
  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
  const late = await approve(link.url, link.code)
  expect(late).toMatchObject({ status: 400, text: answers[0]!.text })
  const [row] = await deployment.rows(`select wrong from verdict_tries where approval_id = '${approvalId}'`)
  expect(row!['wrong']).toBe(5)
  expect((await linkFixtures.gate.approval(approvalId))['status']).toBe('PENDING')
  expect((await approve(other.url, other.code)).status).toBe(200)
})

test('what cannot be a code is no try, and four wrong ones leave the fifth', async () => {
  const { approvalId, links } = await linkFixtures.question()
  const [link] = links as [Link]
  const junk = ['', 'test', 'test1234', '12345678', 'AAAAAAAA', 'password', `${link.code}0`, '<script>']
  expect(junk.map(readCode)).toEqual(junk.map(() => null))
  for (const text of [...junk, ...junk]) expect((await approve(link.url, text)).status).toBe(400)
  for (const code of wrongCodes(link, 4)) expect((await approve(link.url, code)).status).toBe(400)
  expect((await approve(link.url, link.code)).status).toBe(200)
  expect((await linkFixtures.gate.approval(approvalId))['status']).toBe('APPROVED')
})

test('unknown, altered and mixed links are answered like a wrong code', async () => {
  const one = await linkFixtures.question()
  const two = await linkFixtures.question()
  const [link, other] = one.links as [Link, Link]
  const [far] = two.links as [Link]
  const wrong = await approve(link.url, wrongCodes(link, 1)[0]!)
  const token = tokenOf(link.url)
  const [body, mac] = token.split('.') as [string, string]
  const parts = JSON.parse(Buffer.from(body, 'base64url').toString()) as unknown[]
  const forged = [0, 1, 2, 3, 4].map((i) => {
    const altered = parts.map((part, at) => (at === i ? (i === 4 ? 9e15 : 'x') : part))
    return `${Buffer.from(JSON.stringify(altered)).toString('base64url')}.${mac}`
  })
  const urls = [...forged, 'x', 'x.y', `${body}.`, `${token}x`, 'A'.repeat(5000), '%00'].map((part) =>
    link.url.replace(token, part),
  )
  for (const url of urls)
    expect(await approve(url, link.code), url).toMatchObject({ status: 400, text: wrong.text })
  for (const code of [other.code, far.code])
    expect(await approve(link.url, code)).toMatchObject({ status: 400, text: wrong.text })
  expect((await approve(link.url, link.code)).status).toBe(200)
})

test('a form of another site, or without a verdict, is refused and is no try', async () => {
  const { links } = await linkFixtures.question()
  const [link] = links as [Link]
  const fields = { code: link.code, verdict: 'APPROVE' }
  for (const headers of [
    { 'sec-fetch-site': 'cross-site' },
    { origin: 'https://evil.example' },
    { 'content-type': 'text/plain' },
  ])
    expect((await sendForm(link.url, fields, headers)).status).toBe(400)
  expect((await sendForm(link.url, { code: link.code })).status).toBe(400)
  expect((await sendForm(link.url, { ...fields, verdict: 'MAYBE' })).status).toBe(400)
  expect((await sendForm(link.url, fields, { origin: 'null' })).status).toBe(200)
})

test('an edited question, a late verdict and a settled one are refused with a sentence, to those who know the code', async () => {
  const edited = await linkFixtures.question({ quorum: 2 })
  const [link] = edited.links as [Link]
  await linkFixtures.gate.decide(edited.approvalId, 'APPROVE', { arguments: { amount: 6 } })
  expect((await approve(link.url, link.code)).text).toContain('was edited since this link was sent')
  expect((await linkFixtures.gate.approval(edited.approvalId))['votes']).toHaveLength(1)

  const late = await linkFixtures.question()
  await linkFixtures.gate.bringForward(late.approvalId, 'expiry')
  await linkFixtures.gate.untilCall(late.callId, ['EXPIRED'])
  expect((await approve(late.links[0]!.url, late.links[0]!.code)).text).toContain(
    'The time for this decision is over',
  )

  const settled = await linkFixtures.question()
  await linkFixtures.gate.decide(settled.approvalId, 'REJECT')
  expect((await approve(settled.links[0]!.url, settled.links[0]!.code)).text).toContain('settled already')
})

test('somebody who is no recipient any more, whose key was revoked, or who asked, decides nothing', async () => {
  const { people } = linkFixtures
  const all = people.map(({ id }, i) => ({ principalId: id, address: `p${i}@example.com` }))
  const one = await linkFixtures.question()
  await linkFixtures.setRecipients(all.slice(1))
  expect((await approve(one.links[0]!.url, one.links[0]!.code)).text).toContain(
    'may not decide with this link any more',
  )
  await linkFixtures.setRecipients(all)
  expect((await approve(one.links[0]!.url, one.links[0]!.code)).status).toBe(200)

  const key = await linkFixtures.gate.key({ role: 'APPROVER' })
  await linkFixtures.setRecipients([{ principalId: key.id, address: 'k' }])
  const two = await linkFixtures.question()
  await deployment.replicas[0]!.mutate('revokeApiKey', { id: key.id }, 'apiKey { id }')
  expect((await approve(two.links[0]!.url, two.links[0]!.code)).text).toContain(
    'may not decide with this link any more',
  )

  const admin = await linkFixtures.gate.key({ role: 'ADMIN' })
  await linkFixtures.setRecipients([{ principalId: admin.id, address: 'a' }])
  const tool = await linkFixtures.gate.gated({
    autoApprove: false,
    verdictLinks: true,
    excludeRequester: true,
  })
  const call = await linkFixtures.gate.call(tool.id, { amount: 1 }, {}, admin.secret)
  await linkFixtures.receiver.until((got) =>
    got.some(({ data }) => data['approvalId'] === call['approval'].id),
  )
  const asked = linkFixtures.receiver.received.find(({ data }) => data['approvalId'] === call['approval'].id)!
  const [own] = asked.data['verdictLinks'] as [Link]
  expect((await approve(own.url, own.code)).text).toContain('may not decide about it')
  await linkFixtures.setRecipients(all)
})

test('one code at once on two replicas counts once', async () => {
  const { approvalId, links } = await linkFixtures.question({ quorum: 2 })
  const [link] = links as [Link]
  const answers = await Promise.all(
    [link.url, elsewhere(link.url), link.url, elsewhere(link.url)].map((url) => approve(url, link.code)),
  )
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  expect((await linkFixtures.gate.approval(approvalId))['votes']).toHaveLength(1)
})

test('a code whose vote a lost process never wrote counts, and late it counts nothing more', async () => {
  const { approvalId, links } = await linkFixtures.question({ quorum: 2 })
  const [link] = links as [Link]
  const lost = holdStatement(deployment.replicas.at(-1)!.app.services.db, writeOf(approvalId))
  const late = sendForm(elsewhere(link.url), { code: link.code, verdict: 'REJECT' })
  await lost.arrived
  expect((await approve(link.url, link.code)).status).toBe(200)
  lost.release()
  expect(await late).toMatchObject({ status: 409, text: expect.stringContaining('used already') })
  expect((await linkFixtures.gate.approval(approvalId))['votes']).toMatchObject([{ verdict: 'APPROVE' }])
  const [row] = await deployment.rows(`select wrong from verdict_tries where approval_id = '${approvalId}'`)
  expect(row).toEqual({ wrong: 0 })
})

test('the link of a question that got longer time lasts as long as the question', async () => {
  const { approvalId, links } = await linkFixtures.question()
  const [link] = links as [Link]
  // As the message had it, had the deadline of then been over by now.
  const then = { ...readToken(masterKey, tokenOf(link.url))!, endMs: Date.now() - 1000 }
  const until = new Date(Date.now() + 3_600_000).toISOString()
  const [person] = linkFixtures.people
  await deployment.replicas[0]!.mutate('extendApproval', { approvalId, until }, '__typename', person!.secret)
  const url = link.url.replace(tokenOf(link.url), signedToken(masterKey, then))
  expect(await approve(url, codeOf(masterKey, then))).toMatchObject({ status: 200 })
})

test('neither link nor code is stored, in the log, or shown to anybody who reads', async () => {
  const { links } = await linkFixtures.question()
  const [link] = links as [Link]
  const code = link.code.replace('-', '')
  for (const table of [
    'webhooks',
    'webhook_deliveries',
    'events',
    'approvals',
    'audit_entries',
    'verdict_tries',
  ]) {
    const text = JSON.stringify(await deployment.rows(`select * from ${table}`))
    for (const secret of [code, link.code, tokenOf(link.url)]) expect(text, table).not.toContain(secret)
  }
})

test('one address may send thirty codes a minute, whatever the link', async () => {
  const { url } = deployment.replicas[0]!
  const answers: number[] = []
  for (let i = 0; i < 120 && answers.at(-1) !== 429; i++)
    answers.push(
      (await sendForm(`${url}/verdict/x`, { code: 'x' }, { 'x-forwarded-for': '10.9.9.9' })).status,
    )
  expect(answers.at(-1)).toBe(429)
})
