/** What other sites, guessers and forgers try with session cookies. */
import { exportJWK, generateKeyPair, SignJWT, type JWTPayload } from 'jose'
import { WebSocket } from 'ws'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTab } from '../support/cookie-jar.ts'
import { adminKey, openHarness, type Harness } from '../support/harness.ts'
import { oidcAt } from '../support/identity-provider.ts'
import { startLoopback } from '../support/loopback.ts'
import { forFile } from '../support/for-file.ts'

const h = await forFile(openHarness())
const tab = openTab(h.url)
expect(await tab.signIn(adminKey)).toBe(201)

const who = '{ viewer { id } }'
const codeOf = (answer: any) => answer.errors?.[0]?.extensions?.code ?? null
const foreign = [
  'https://evil.example',
  'http://127.0.0.1:9',
  'http://localhost:9',
  'null',
  'https://127.0.0.1',
]

test('a sign-in that comes back from the site of a provider ends the session that the browser had', async () => {
  const { privateKey, publicKey } = await generateKeyPair('RS256')
  const claims: JWTPayload = { sub: 'ada', aud: 'gatehouse', gatehouse_role: 'approver' }
  const provider = await startLoopback((request, response) => {
    const { url: issuer } = provider
    const json = (body: object) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (request.url === '/keys') {
      void exportJWK(publicKey).then((jwk) => json({ keys: [{ ...jwk, kid: 'one', alg: 'RS256' }] }))
      return
    }
    if (request.url !== '/token') {
      const endpoints = { authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` }
      json({ issuer, jwks_uri: `${issuer}/keys`, ...endpoints })
      return
    }
    const jwt = new SignJWT({ ...claims, iss: issuer }).setProtectedHeader({ alg: 'RS256', kid: 'one' })
    void jwt
      .setIssuedAt()
      .setExpirationTime('5 minutes')
      .sign(privateKey)
      .then((token) => json({ id_token: token, access_token: 'a', token_type: 'Bearer' }))
  })
  const server = await openHarness({ oidc: oidcAt(provider.port) })
  try {
    claims['gatehouse_project'] = (await server.gql('{ viewer { project { id } } }')).data[
      'viewer'
    ].project.id
    const browser = openTab(server.url)
    expect(await browser.signIn(adminKey)).toBe(201)
    const before = openTab(server.url, new Map(browser.cookies))
    const begun = await browser.fetch('/session/login', { origin: null })
    const asked = new URL(begun.headers.get('location')!).searchParams
    claims['nonce'] = asked.get('nonce')
    // The cookie is Strict, and this request is one of another site.
    browser.cookies.delete('gatehouse')
    const back = new URLSearchParams({ code: 'c', state: asked.get('state')! })
    const done = await browser.fetch(`/session/callback?${back.toString()}`, { origin: null })
    expect([done.status, done.headers.get('location')]).toEqual([303, '/'])
    expect((await browser.gql('{ viewer { role } }')).data.viewer.role).toBe('APPROVER')
    expect(codeOf(await before.gql(who))).toBe('UNAUTHENTICATED')
  } finally {
    await server.stop()
    await provider.close()
  }
})

describe('a page of another site', () => {
  test.each([...foreign, null])('acts for nobody with Origin %s', async (origin) => {
    const answer = await tab.gql(who, {}, { origin })
    expect(codeOf(answer)).toBe('UNAUTHENTICATED')
    expect((await tab.gql(who)).data.viewer.id).toMatch(/^key_/)
  })

  test.each(foreign)('opens no socket with Origin %s', async (origin) => {
    expect(await socketOutcome(origin)).toBe('refused 403')
  })

  test.each(foreign)('signs nobody in or out with Origin %s', async (origin) => {
    const json = { 'content-type': 'application/json' }
    const body = JSON.stringify({ key: adminKey })
    const made = await tab.fetch('/session', { method: 'POST', origin, headers: json, body })
    expect([made.status, made.headers.get('set-cookie')]).toEqual([403, null])
    expect((await tab.fetch('/session', { method: 'DELETE', origin })).status).toBe(403)
    expect((await tab.gql(who)).status).toBe(200)
  })

  test('cannot send a form in place of JSON, nor read who is signed in', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded']) {
      const headers = { 'content-type': type }
      const form = await tab.fetch('/graphql', {
        method: 'POST',
        headers,
        body: JSON.stringify({ query: who }),
      })
      expect(form.status).toBe(415)
      const signIn = await tab.fetch('/session', {
        method: 'POST',
        headers,
        body: JSON.stringify({ key: adminKey }),
      })
      expect(signIn.status).toBe(422)
    }
    const read = await tab.fetch('/session', { origin: null, headers: { 'sec-fetch-site': 'cross-site' } })
    expect(await read.json()).toMatchObject({ session: null })
    expect(read.headers.get('access-control-allow-origin')).toBeNull()
  })
})

test('the cookie counts for POST of JSON on /graphql and its sockets, and for nothing else', async () => {
  const get = await tab.fetch(`/graphql?query=${encodeURIComponent(who)}`)
  expect(codeOf(await get.json())).toBe('UNAUTHENTICATED')
  for (const path of ['/mcp', '/mcp/agt_1'])
    expect([
      path,
      (await tab.fetch(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }))
        .status,
    ]).toEqual([path, 401])
  const file = await tab.fetch('/api/v1/files/presign-upload', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ filename: 'a.txt', content_type: 'text/plain' }),
  })
  expect(file.status).toBe(401)
  expect(await socketOutcome(h.url)).toBe('acknowledged')
})

test('a subscription over SSE runs with the cookie', async () => {
  const response = await tab.fetch('/graphql', {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify({ query: 'subscription { projectEvents(after: "0") { cursor } }' }),
  })
  expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/)
  await response.body!.cancel()
})

describe('a forged cookie', () => {
  const real = () => tab.cookies.get('gatehouse')!
  test.each([
    ['no token', () => ''],
    ['an API key', () => adminKey],
    ['a random token', () => `ghs_${'A'.repeat(43)}`],
    ['a token with one character changed', () => real().slice(0, -1) + (real().endsWith('A') ? 'B' : 'A')],
    ['a token with more', () => `${real()}A`],
    ['SQL', () => "ghs_' or 1=1 --"],
    ['a very long value', () => `ghs_${'A'.repeat(8000)}`],
  ])('with %s acts for nobody', async (_what, value) => {
    const forged = openTab(h.url, new Map([['gatehouse', value()]]))
    const answer = await forged.gql(who)
    expect([answer.status, codeOf(answer)]).toEqual([401, 'UNAUTHENTICATED'])
  })

  test('beside the real one makes neither count', async () => {
    for (const cookie of [`gatehouse=${real()}; gatehouse=x`, `gatehouse=x; gatehouse=${real()}`]) {
      const answer = await openTab(h.url).gql(who, {}, { headers: { cookie } })
      expect(codeOf(answer)).toBe('UNAUTHENTICATED')
    }
  })

  test('is not accepted as a key, nor a key as a session', async () => {
    expect((await h.gql(who, {}, real())).status).toBe(401)
  })
})

describe('a cookie beside an Authorization header', () => {
  const as = (key: string) => ({ headers: { authorization: `Bearer ${key}` } })
  test('of the same caller is not needed, and of another is refused', async () => {
    const { secret } = await h.mutate('createApiKey', { name: 'other', role: 'VIEWER' }, 'secret')
    expect((await tab.gql(who, {}, as(adminKey))).status).toBe(200)
    const both = await tab.gql(who, {}, as(secret!))
    expect([both.status, both.errors[0].message]).toEqual([401, expect.stringContaining('different callers')])
    // From another site the cookie does not count, and the header does.
    expect((await tab.gql(who, {}, { ...as(secret!), origin: null })).status).toBe(200)
    // A session that has ended names nobody.
    const stale = openTab(h.url, new Map([['gatehouse', `ghs_${'A'.repeat(43)}`]]))
    expect((await stale.gql(who, {}, as(secret!))).status).toBe(200)
    expect((await tab.gql(who, {}, as('gh_wrong'))).status).toBe(401)
  })
})

test('wrong keys are limited by address, and right ones are not counted', async () => {
  const limited = await openHarness()
  try {
    for (let i = 0; i < 35; i++) expect(await openTab(limited.url).signIn(adminKey)).toBe(201)
    const statuses: number[] = []
    for (let i = 0; i < 35; i++) statuses.push(await openTab(limited.url).signIn(`gh_${'w'.repeat(43)}`))
    expect(statuses.slice(0, 29).every((status) => status === 401)).toBe(true)
    expect(statuses.at(-1)).toBe(429)
    expect(await openTab(limited.url).signIn(adminKey), 'the right key from the same address').toBe(201)
    expect(await openTab(limited.url).signIn(`gh_${'w'.repeat(43)}`)).toBe(429)
  } finally {
    await limited.stop()
  }
})

test('sessions that are guessed are limited by address', async () => {
  const limited = await openHarness({ anonymousPerMinute: 5 })
  try {
    const guesses: number[] = []
    for (let i = 0; i < 8; i++) {
      const guess = `ghs_${String(i).repeat(43)}`
      guesses.push((await openTab(limited.url, new Map([['gatehouse', guess]])).gql(who)).status)
    }
    expect(guesses.slice(0, 5)).toEqual([401, 401, 401, 401, 401])
    expect(guesses.slice(-2)).toEqual([429, 429])
    expect((await limited.gql(who)).status, 'a right key from the same address').toBe(200)
    expect((await limited.gql(who, {}, 'gh_wrong')).status).toBe(429)
  } finally {
    await limited.stop()
  }
})

test('a body that is no key is refused with the path of the fault', async () => {
  for (const body of [
    '',
    '[]',
    '{"key":5}',
    '{"key":"eyJhbGciOiJSUzI1NiJ9.e30.x"}',
    `{"key":"gh_${'x'.repeat(20_000)}"}`,
  ]) {
    const response = await tab.fetch('/session', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    expect([413, 422]).toContain(response.status)
  }
  expect((await tab.fetch('/session', { method: 'PUT' })).headers.get('allow')).toBe(
    'GET, HEAD, POST, DELETE',
  )
})

describe('over https', () => {
  let secure: Harness
  const origin = 'https://gatehouse.example'
  beforeAll(
    async () => void (secure = await openHarness({ publicUrl: origin, allowedHosts: ['gatehouse.example'] })),
  )
  afterAll(() => secure?.stop())

  test('the cookie is Secure and named so that no subdomain can set it, and http pages do not count', async () => {
    const page = openTab(secure.url)
    const body = JSON.stringify({ key: adminKey })
    const headers = { 'content-type': 'application/json' }
    const made = await page.fetch('/session', { method: 'POST', origin, headers, body })
    expect(made.headers.get('set-cookie')).toMatch(
      /^__Host-gatehouse=ghs_[^;]+; Path=\/; .*SameSite=Strict; Secure$/,
    )
    expect((await page.gql(who, {}, { origin })).status).toBe(200)
    expect(codeOf(await page.gql(who, {}, { origin: secure.url }))).toBe('UNAUTHENTICATED')
    const plain = new Map([['gatehouse', page.cookies.get('__Host-gatehouse')!]])
    expect(codeOf(await openTab(secure.url, plain).gql(who, {}, { origin }))).toBe('UNAUTHENTICATED')
  })
})

/** What becomes of a socket with the cookies of the tab from a page of this origin. */
function socketOutcome(origin: string): Promise<string> {
  return new Promise((resolve) => {
    const cookie = `gatehouse=${tab.cookies.get('gatehouse')}`
    const socket = new WebSocket(`${h.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws', {
      headers: { cookie, origin },
    })
    socket.on('unexpected-response', (_request, response) => resolve(`refused ${response.statusCode}`))
    socket.on('error', () => {})
    socket.on('open', () => socket.send(JSON.stringify({ type: 'connection_init' })))
    socket.on('message', (data) => {
      if (JSON.parse(String(data)).type !== 'connection_ack') return
      socket.close()
      resolve('acknowledged')
    })
    socket.on('close', (code) => resolve(`closed ${code}`))
  })
}
