/** Invitations: one person takes the key, whoever guesses, forwards or repeats a link gets nothing. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import * as oneTime from '../../src/core/signing.ts'
import { hasPostgres } from '../support/databases.ts'
import { openDeployment, type Deployment } from '../support/deployment.ts'
import { adminKey } from '../support/harness.ts'
import { sendForm } from '../support/link-fixtures.ts'

let deployment: Deployment
beforeAll(async () => {
  const kind = hasPostgres ? 'PostgreSQL' : 'PGlite'
  deployment = await openDeployment(kind, { trustedProxies: ['127.0.0.1/32'] })
})
afterAll(() => deployment?.close())

const masterKey = Buffer.alloc(32, 7)
const kind = { token: 'invitation link', code: 'invitation code' }
const shown = 'link oneTimeCode apiKey { id role expiresAt invitedUntil createdBy }'

interface Made {
  link: string
  code: string
  apiKey: { id: string; role: string; expiresAt: string | null; invitedUntil: string | null }
}

async function invite(more: object = {}, by = adminKey): Promise<Made> {
  const input = { name: 'Ann', role: 'APPROVER', ...more }
  const made: any = await deployment.replicas[0]!.mutate('createInvitation', input, shown, by)
  return { ...made, code: made.oneTimeCode ?? made.code }
}

const elsewhere = (url: string) => url.replace(deployment.replicas[0]!.url, deployment.replicas.at(-1)!.url)
const accept = (url: string, code: string, headers = {}) => sendForm(url, { code }, headers)
const secretIn = (text: string) => /gh_[A-Za-z0-9_-]{43}/.exec(text)?.[0] ?? null

async function keyOf(id: string): Promise<any> {
  const { data } = await deployment.replicas[0]!.gql(
    `{ node(id: "${id}") { ... on ApiKey { id invitedUntil revokedAt lastUsedAt } } }`,
  )
  return data['node']
}

async function who(secret: string): Promise<any> {
  return deployment.replicas[0]!.gql('{ viewer { id role permissions { action } } }', {}, secret)
}

test('an accepted invitation is a key with its role and end, signs the browser in, and is told', async () => {
  const expiresAt = new Date(Date.now() + 30 * 86_400_000).toISOString()
  const { link, code, apiKey } = await invite({ expiresAt })
  expect(apiKey).toMatchObject({ role: 'APPROVER', expiresAt })
  const days = (Date.parse(apiKey.invitedUntil!) - Date.now()) / 86_400_000
  expect(days).toBeGreaterThan(6.9)
  expect(days).toBeLessThan(7.001)
  const { status, text, headers } = await accept(link, code.toLowerCase())
  expect(status).toBe(200)
  const secret = secretIn(text)!
  expect((await who(secret)).data.viewer).toMatchObject({ id: apiKey.id, role: 'APPROVER' })
  const cookie = headers.get('set-cookie')!.split(';')[0]!
  const session = await fetch(`${deployment.replicas[0]!.url}/session`, { headers: { cookie } })
  expect(await session.json()).toMatchObject({ id: apiKey.id, role: 'approver' })
  expect(await keyOf(apiKey.id)).toMatchObject({ invitedUntil: null, revokedAt: null })
  const [event] = await deployment.rows(
    `select count(*)::int as n from events where type = 'API_KEY_ACCEPTED' and data->>'apiKeyId' = '${apiKey.id}'`,
  )
  expect(event!['n']).toBe(1)
  const audit = await deployment.rows(
    `select principal_id as who, details->>'invitation' as what from audit_entries where resource = 'key/${apiKey.id}' and action = 'keys:Create' order by created_at`,
  )
  expect(audit.map(({ what }) => what)).toEqual(['sent', 'accepted'])
  expect(audit[1]!['who']).toBe(apiKey.id)
})

test('it is accepted once, however many try at the same moment on two replicas', async () => {
  const { link, code, apiKey } = await invite()
  const answers = await Promise.all(
    Array.from({ length: 4 }, (_, i) => accept(i % 2 ? elsewhere(link) : link, code)),
  )
  const accepted = answers.filter(({ status }) => status === 200)
  expect(accepted).toHaveLength(1)
  expect((await who(secretIn(accepted[0]!.text)!)).data.viewer.id).toBe(apiKey.id)
  const again = await accept(link, code)
  expect(again.status).toBe(409)
  expect(again.text).toContain('was accepted already')
  expect(again.text).toContain('can send a new one')
  expect(secretIn(again.text)).toBeNull()
})

test('five wrong codes end it, and an altered or foreign link is answered like a wrong code', async () => {
  const { link, code, apiKey } = await invite()
  const other = await invite()
  const wrong = Array.from({ length: 9 }, (_, i) => oneTime.codeOf(masterKey, kind, [apiKey.id, i]))
  const token = link.split('/invitation/')[1]!
  const [body, mac] = token.split('.') as [string, string]
  const forged = [
    `${Buffer.from(JSON.stringify([other.apiKey.id])).toString('base64url')}.${mac}`,
    oneTime.tokenOf(masterKey, { token: 'verdict link', code: '' }, [apiKey.id]),
    `${body}.`,
    'x',
    'A'.repeat(5000),
  ]
  const first = await accept(link, other.code)
  expect(first.status).toBe(400)
  for (const one of forged)
    expect(await accept(link.replace(token, one), code)).toMatchObject({ status: 400, text: first.text })
  for (const junk of ['', 'hello', '12345678']) expect((await accept(link, junk)).status).toBe(400)
  for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }])
    expect((await accept(link, code, headers)).status).toBe(400)
  await Promise.all(wrong.map((one, i) => accept(i % 2 ? elsewhere(link) : link, one)))
  expect(await accept(link, code)).toMatchObject({ status: 400, text: first.text })
  expect((await accept(other.link, other.code)).status).toBe(200)
})

test('opening the page changes nothing and shows nothing of the invitation', async () => {
  const { link, apiKey } = await invite({ name: 'Berta' })
  for (const method of ['GET', 'HEAD']) {
    const response = await fetch(link, { method })
    expect(response.status).toBe(200)
    expect(response.headers.get('content-security-policy')).toContain("form-action 'self'")
    const text = await response.text()
    expect(text).not.toContain('Berta')
    expect(text).not.toContain(apiKey.id)
  }
  expect((await keyOf(apiKey.id)).invitedUntil).toBe(apiKey.invitedUntil)
})

test('a withdrawn one, one whose inviter ended and one that is too old say so, and give nothing', async () => {
  const h = deployment.replicas[0]!
  const withdrawn = await invite()
  await h.mutate('revokeApiKey', { id: withdrawn.apiKey.id }, 'apiKey { id }')
  const inviter = await h.mutate('createApiKey', { name: 'i', role: 'ADMIN' }, 'secret apiKey { id }')
  const orphan = await invite({}, inviter['secret'])
  await h.mutate('revokeApiKey', { id: inviter['apiKey'].id }, 'apiKey { id }')
  const old = await invite()
  await deployment.rows(`update api_keys set invited_until = now() where id = '${old.apiKey.id}'`)
  const ended = await invite()
  await deployment.rows(`update api_keys set expires_at = now() where id = '${ended.apiKey.id}'`)
  const cases = [
    [withdrawn, 'was withdrawn'],
    [orphan, 'was withdrawn'],
    [old, 'has ended'],
    [ended, 'has ended'],
  ] as const
  for (const [one, words] of cases) {
    const { status, text, headers } = await accept(one.link, one.code)
    expect([status, secretIn(text), headers.get('set-cookie')]).toEqual([409, null, null])
    expect(text).toContain(words)
  }
})

test('nobody invites to more than they may, or past their own end', async () => {
  const h = deployment.replicas[0]!
  const expiresAt = new Date(Date.now() + 86_400_000).toISOString()
  const admin = await h.mutate('createApiKey', { name: 'a', role: 'ADMIN', expiresAt }, 'secret')
  const later = new Date(Date.now() + 2 * 86_400_000).toISOString()
  expect(await invite({ expiresAt: later }, admin['secret'])).toMatchObject({ code: 'INVALID' })
  expect((await invite({}, admin['secret'])).apiKey.expiresAt).toBe(expiresAt)
  const statement = [{ effect: 'Allow', action: ['keys:*'], resource: ['*'] }]
  const weak = await h.mutate('createApiKey', { name: 'w', policy: { statement } }, 'secret')
  const refused = await h.gql(
    'mutation ($input: CreateInvitationInput!) { createInvitation(input: $input) { __typename ... on Error { code } } }',
    { input: { name: 'x', role: 'ADMIN' } },
    weak['secret'],
  )
  expect(JSON.stringify(refused)).toContain('FORBIDDEN')
})

test('a key says what would end with it: keys made with it, the own one, the last admin', async () => {
  const h = deployment.replicas[0]!
  const project = await h.mutate('createProject', { name: 'apart' }, 'project { id }')
  const projectId = project['project'].id
  const make = async (role: string, by = adminKey) =>
    (await h.mutate('createApiKey', { name: role, role, projectId }, 'secret apiKey { id }', by)) as any
  const admin = await make('ADMIN')
  const viewer = await make('VIEWER', admin.secret)
  const facts = async (id: string, by: string) =>
    (
      await h.gql(
        `{ node(id: "${id}") { ... on ApiKey { revocation { madeKeys includesCaller leavesNoAdmin } } } }`,
        {},
        by,
      )
    ).data['node'].revocation
  expect(await facts(admin.apiKey.id, admin.secret)).toEqual({
    madeKeys: 1,
    includesCaller: true,
    leavesNoAdmin: true,
  })
  expect(await facts(admin.apiKey.id, viewer.secret)).toMatchObject({ includesCaller: true })
  expect(await facts(viewer.apiKey.id, admin.secret)).toEqual({
    madeKeys: 0,
    includesCaller: false,
    leavesNoAdmin: false,
  })
  await make('ADMIN')
  expect(await facts(admin.apiKey.id, admin.secret)).toMatchObject({ leavesNoAdmin: false })
  // Where no key is of an admin, none of them is the last.
  const { project: other } = await h.mutate('createProject', { name: 'without' }, 'project { id }')
  const lone = { name: 'v', role: 'VIEWER', projectId: other.id }
  const { apiKey } = await h.mutate('createApiKey', lone, 'apiKey { id }')
  expect(await facts(apiKey.id, adminKey)).toMatchObject({ leavesNoAdmin: false })
})
