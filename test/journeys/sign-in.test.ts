/** People sign in at a real OpenID provider, and a newcomer by the link of the first run. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openTab, type Tab } from '../support/cookie-jar.ts'
import { adminKey, harnessOf, openHarness, type Harness } from '../support/harness.ts'
import {
  atProvider,
  oidcAt,
  startIdentityProvider,
  type IdentityProvider,
} from '../support/identity-provider.ts'
import { hasPeers } from '../support/peers.ts'
import { freePort } from '../support/upstream-servers.ts'
import { makeFixtures, type Fixtures } from '../support/fixtures.ts'
import { memoryDatabase } from '../support/databases.ts'
import { createApp } from '../../src/app.ts'
import { loadConfig, type Config } from '../../src/config.ts'
import { banner } from '../../src/banner.ts'

const who = '{ viewer { id name kind role session { method } } }'

describe.skipIf(!hasPeers)('at an identity provider', () => {
  let h: Harness
  let provider: IdentityProvider
  let fixtures: Fixtures
  let projectId: string

  beforeAll(async () => {
    const port = await freePort()
    h = await openHarness({ oidc: oidcAt(port) })
    provider = await startIdentityProvider(port, [`${h.url}/session/callback`])
    projectId = (await h.gql('{ viewer { project { id } } }')).data['viewer'].project.id
    fixtures = await makeFixtures(h)
  })
  afterAll(async () => {
    await fixtures?.close()
    await h?.stop()
    await provider?.close()
  })
  beforeEach(() => {
    provider.claimsIn = 'id_token'
    provider.person = {
      sub: 'ada',
      claims: { gatehouse_project: projectId, gatehouse_role: 'approver', name: 'Ada Lovelace' },
    }
    provider.requests.length = 0
  })

  const begin = async (tab: Tab, to = '') => {
    const response = await tab.fetch(`/session/login${to}`, { origin: null })
    expect(response.status).toBe(303)
    return response.headers.get('location')!
  }
  const signIn = async (tab: Tab, to = '') =>
    tab.fetch(await atProvider(await begin(tab, to), h.url), { origin: null })

  test('a person signs in, and the session is that person with the rights of the token', async () => {
    const tab = openTab(h.url)
    expect(await (await tab.fetch('/session')).json()).toMatchObject({ methods: ['key', 'oidc'] })
    const done = await signIn(tab, '?to=/approvals/apr_1')
    expect([done.status, done.headers.get('location')]).toEqual([303, '/approvals/apr_1'])
    expect([...tab.cookies.keys()]).toEqual(['gatehouse'])
    expect((await tab.gql(who)).data.viewer).toEqual({
      id: expect.stringMatching(/^usr_/),
      name: 'Ada Lovelace',
      kind: 'PERSON',
      role: 'APPROVER',
      session: { method: 'OIDC' },
    })
    const refused = await tab.gql('mutation { createProject(input: {name: "x"}) { __typename } }')
    expect(refused.errors[0].extensions.code).toBe('FORBIDDEN')
  })

  test('a verdict names the person', async () => {
    const tab = openTab(h.url)
    await signIn(tab)
    const { id } = (await tab.gql(who)).data.viewer
    const gate = { mode: 'ALWAYS' }
    const http = { url: `${fixtures.upstream.url}/pay`, inputSchema: { type: 'object' } }
    const made = await h.mutate('createTool', { name: 'pay', gate, config: { http } }, 'tool { id }')
    const input = { toolId: made['tool'].id, arguments: {} }
    const called = await h.mutate('callTool', input, 'toolCall { approval { id } }')
    const approvalId = called['toolCall'].approval.id as string
    const decided = await tab.gql(
      `mutation($id: ID!) { decideApproval(input: {approvalId: $id, verdict: APPROVE}) {
        ... on ApprovalPayload { approval { status votes { by } } } ... on Error { message } } }`,
      { id: approvalId },
    )
    expect(decided.data.decideApproval.approval).toEqual({ status: 'APPROVED', votes: [{ by: id }] })
    // So do the event and the audit.
    const { data } = await h.gql('{ auditEntries(first: 20) { nodes { principal { id name } details } } }')
    expect(data['auditEntries'].nodes).toContainEqual({
      principal: { id, name: 'Ada Lovelace' },
      details: expect.objectContaining({ approvalId }),
    })
    const told = await h.collect(
      `subscription { projectEvents(after: "0", types: [APPROVAL_VOTED, APPROVAL_DECIDED]) {
        ... on ApprovalVotedEvent { decider { id name } via }
        ... on ApprovalDecidedEvent { decider { id name } via } } }`,
      {},
      (events) => events.length > 0,
    )
    expect(told[0]).toEqual({ decider: { id, name: 'Ada Lovelace' }, via: 'SESSION' })
  })

  test('a run that a person starts goes on with the rights of the session', async () => {
    provider.person.claims['gatehouse_role'] = 'caller'
    const tab = openTab(h.url)
    await signIn(tab)
    const agentId = await fixtures.agent()
    const started = await tab.gql(
      `mutation($input: StartGenerationInput!) { startGeneration(input: $input) {
        ... on GenerationPayload { generation { id } } ... on Error { message } } }`,
      { input: { agentId, prompt: 'call act {"word":"a"}' } },
    )
    const run = await h.until(
      started.data.startGeneration.generation.id,
      ['COMPLETED', 'FAILED'],
      'toolCalls { status }',
    )
    expect(run).toMatchObject({ status: 'COMPLETED', toolCalls: [{ status: 'SUCCEEDED' }] })
  })

  test('claims that are only at the userinfo endpoint count too', async () => {
    provider.claimsIn = 'userinfo'
    const tab = openTab(h.url)
    expect((await signIn(tab)).status).toBe(303)
    expect((await tab.gql(who)).data.viewer).toMatchObject({ name: 'Ada Lovelace', role: 'APPROVER' })
  })

  test('the same person has the same id at each sign-in', async () => {
    const [one, two] = [openTab(h.url), openTab(h.url)]
    await signIn(one)
    await signIn(two)
    expect((await one.gql(who)).data.viewer.id).toBe((await two.gql(who)).data.viewer.id)
  })

  test.each([
    ['a project that does not exist', { gatehouse_project: 'proj_none' }],
    ['no project', {}],
    ['a role that does not exist', { gatehouse_role: 'emperor' }],
  ])('an account with %s is told so and gets no session', async (what, claims) => {
    const project = what.includes('role') ? { gatehouse_project: projectId } : {}
    provider.person = { sub: 'eve', claims: { ...project, ...claims } }
    const tab = openTab(h.url)
    const refused = await signIn(tab)
    expect([refused.status, await refused.text()]).toEqual([
      403,
      expect.stringContaining('has no project here'),
    ])
    expect(tab.cookies.has('gatehouse')).toBe(false)
  })

  test('a sign-in ends only in the browser that began it', async () => {
    const [mallory, alice] = [openTab(h.url), openTab(h.url)]
    const back = await atProvider(await begin(mallory), h.url)
    const asAlice = await alice.fetch(back, { origin: null })
    expect([asAlice.status, alice.cookies.size]).toEqual([410, 0])
    // Not with a sign-in of Alice's own under way either.
    await begin(alice)
    expect((await alice.fetch(back, { origin: null })).status).toBe(410)
    expect(provider.requests).not.toContain('POST /token')
    expect((await mallory.fetch(back, { origin: null })).status).toBe(303)
  })

  test('a callback counts once: the code cannot be used again', async () => {
    const tab = openTab(h.url)
    const location = await begin(tab)
    const before = new Map(tab.cookies)
    const back = await atProvider(location, h.url)
    expect((await tab.fetch(back, { origin: null })).status).toBe(303)
    expect((await openTab(h.url, before).fetch(back, { origin: null })).status).toBe(502)
  })

  test('a sign-in that took too long, was changed or was refused ends without a session', async () => {
    const cookieName = 'gatehouse_sign_in'
    const tab = openTab(h.url)
    const location = await begin(tab, '?to=/runs')
    const [time, random, path] = tab.cookies.get(cookieName)!.split('.')
    const back = await atProvider(location, h.url)
    const other = Buffer.from('/elsewhere').toString('base64url')
    for (const changed of [
      `${Number(time) - 601_000}.${random}.${path}`,
      `${time}.${random}.${other}`,
      'x',
      '',
    ]) {
      const forged = openTab(h.url, new Map([[cookieName, changed]]))
      expect((await forged.fetch(back, { origin: null })).status, changed).toBe(410)
    }
    const state = new URL(location).searchParams.get('state')!
    const declined = await tab.fetch(`/session/callback?error=access_denied&state=${state}`, { origin: null })
    expect(declined.status).toBe(502)
    const foreign = await tab.fetch(`/session/callback?code=x&state=${state}&iss=https://evil.example`, {
      origin: null,
    })
    expect(foreign.status).toBe(502)
    expect(provider.requests).not.toContain('POST /token')
  })

  test.each(['//evil.example', '/\\evil.example', 'https://evil.example', '/\tx', ''])(
    'returns to its own start page when it is asked to go to %j',
    async (to) => {
      const done = await signIn(openTab(h.url), `?to=${encodeURIComponent(to)}`)
      expect(done.headers.get('location')).toBe('/')
    },
  )

  test('asks with PKCE, state and nonce, each new for each sign-in', async () => {
    const [one, two] = [new URL(await begin(openTab(h.url))), new URL(await begin(openTab(h.url)))]
    for (const name of ['state', 'nonce', 'code_challenge']) {
      expect(one.searchParams.get(name)).toMatch(/^[\w-]{43}$/)
      expect(one.searchParams.get(name)).not.toBe(two.searchParams.get(name))
    }
    expect(one.searchParams.get('code_challenge_method')).toBe('S256')
    expect(one.searchParams.get('scope')).toBe('openid profile email')
  })

  test('a link scanner that sends HEAD begins and ends nothing', async () => {
    const tab = openTab(h.url)
    const back = await atProvider(await begin(tab), h.url)
    for (const path of ['/session/login', back])
      expect((await tab.fetch(path, { method: 'HEAD', origin: null })).status).toBe(200)
    expect((await tab.fetch(back, { origin: null })).status).toBe(303)
  })
})

test('without an identity provider the page says how to sign in', async () => {
  const h = await openHarness()
  try {
    const page = await openTab(h.url).fetch('/session/login', { origin: null })
    expect([page.status, await page.text()]).toEqual([
      404,
      expect.stringContaining('Sign in with an API key'),
    ])
  } finally {
    await h.stop()
  }
})

describe('the link of the first run', () => {
  const openDemo = async (more: Partial<Config> = {}) => {
    const config = {
      ...loadConfig({ GATEHOUSE_PORT: '0', GATEHOUSE_LOG_LEVEL: 'silent', GATEHOUSE_ADMIN_KEY: adminKey }),
      ...more,
    }
    const app = await createApp(config, { database: await memoryDatabase() })
    return { app, config, h: harnessOf(app) }
  }
  const spentText = 'This link signs in once and for a while'

  test('signs the operator in once, and is printed', async () => {
    const { app, config, h } = await openDemo()
    try {
      expect(banner(app, config)).toContain(app.signInUrl)
      const path = app.signInUrl!.slice(h.url.length)
      expect(path).toMatch(/^\/session\/start\?code=ghl_[\w-]{43}$/)
      const open = (headers: Record<string, string> = {}, code = path) => {
        const tab = openTab(h.url)
        return tab.fetch(code, { origin: null, headers }).then((response) => ({ tab, response }))
      }
      // None of these spends it.
      for (const headers of [
        { 'x-forwarded-for': '203.0.113.9' },
        { via: '1.1 proxy' },
        { forwarded: 'for=1' },
      ])
        expect((await open(headers as never)).response.status).toBe(410)
      expect((await open({ 'sec-fetch-site': 'cross-site' })).response.status).toBe(403)
      expect((await open({}, '/session/start?code=wrong')).response.status).toBe(410)
      expect((await openTab(h.url).fetch(path, { method: 'HEAD', origin: null })).status).toBe(200)
      const both = await Promise.all([open(), open()])
      expect(both.map(({ response }) => response.status).toSorted()).toEqual([303, 410])
      const { tab, response } = both.find((one) => one.response.status === 303)!
      expect(response.headers.get('location')).toBe('/')
      expect((await tab.gql(who)).data.viewer).toMatchObject({
        name: 'operator',
        session: { method: 'LINK' },
      })
      const late = await open()
      expect([late.response.status, await late.response.text()]).toEqual([
        410,
        expect.stringContaining(spentText),
      ])
    } finally {
      await h.stop()
    }
  })

  test('a port that a platform gave is told of where only this machine reaches it', async () => {
    const { app, config, h } = await openDemo()
    try {
      const shown = (isPlatformPort: boolean, host: string) =>
        banner(app, { ...config, isPlatformPort, host })
      expect(loadConfig({ PORT: '8080' }).isPlatformPort).toBe(true)
      expect(loadConfig({ PORT: '8080', GATEHOUSE_PORT: '1' }).isPlatformPort).toBe(false)
      expect(shown(true, '127.0.0.1')).toContain('GATEHOUSE_HOST=0.0.0.0')
      expect(shown(true, '0.0.0.0')).not.toContain('GATEHOUSE_HOST')
      expect(shown(false, '127.0.0.1')).not.toContain('GATEHOUSE_HOST')
    } finally {
      await h.stop()
    }
  })

  test('does not exist without the demo or in production', async () => {
    for (const more of [{ demo: false }, { production: true, secretKey: Buffer.alloc(32, 7) }]) {
      const { app, config, h } = await openDemo(more)
      try {
        expect(app.signInUrl).toBeNull()
        expect(banner(app, config)).not.toContain('/session/start')
        expect((await openTab(h.url).fetch('/session/start?code=', { origin: null })).status).toBe(410)
      } finally {
        await h.stop()
      }
    }
  })
})

describe('a link that `gatehouse open` prints', () => {
  let h: Harness
  beforeAll(async () => {
    h = await openHarness()
  })
  afterAll(() => h.stop())

  const linkFor = (key: unknown, headers: Record<string, string> = {}) =>
    fetch(`${h.url}/session/link`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ key }),
    })
  const urlFor = async (key: string) => {
    const response = await linkFor(key)
    expect(response.status).toBe(201)
    const { url } = (await response.json()) as { url: string }
    expect(url).toMatch(/\/session\/start\?code=gho_[\w-]{43}$/)
    return url.slice(h.url.length)
  }
  const keyOf = async (role: string, expiresAt: string | null = null) =>
    (await h.mutate('createApiKey', { name: role, role, expiresAt }, 'secret apiKey { id }')) as {
      secret: string
      apiKey: { id: string }
    }
  const opened = (path: string, headers: Record<string, string> = {}) => {
    const tab = openTab(h.url)
    return tab.fetch(path, { origin: null, headers }).then((response) => ({ tab, status: response.status }))
  }

  test('signs one browser in as the owner of the key, also behind a proxy', async () => {
    const { secret, apiKey } = await keyOf('APPROVER')
    const path = await urlFor(secret)
    const both = await Promise.all([
      opened(path, { 'x-forwarded-for': '203.0.113.9', 'user-agent': 'Firefox' }),
      opened(path, { 'user-agent': 'Firefox' }),
    ])
    expect(both.map(({ status }) => status).toSorted()).toEqual([303, 410])
    const { tab } = both.find(({ status }) => status === 303)!
    const { viewer } = (await tab.gql('{ viewer { id role session { method userAgent isCurrent } } }')).data
    expect(viewer).toEqual({
      id: apiKey.id,
      role: 'APPROVER',
      session: { method: 'LINK', userAgent: 'Firefox', isCurrent: true },
    })
    expect((await opened(path)).status).toBe(410)
  })

  test('is no session before it is opened, and ends with its key or as a session', async () => {
    const { secret, apiKey } = await keyOf('VIEWER')
    const [first, second] = [await urlFor(secret), await urlFor(secret)]
    const code = new URL(first, h.url).searchParams.get('code')!
    const asCookie = await fetch(`${h.url}/session`, { headers: { cookie: `gatehouse=${code}` } })
    expect(await asCookie.json()).toMatchObject({ session: null })
    const listed = `{ sessions(principalId: "${apiKey.id}") { nodes { id method userAgent } } }`
    const { nodes } = (await h.gql(listed)).data['sessions']
    expect(nodes).toEqual([
      { id: nodes[0].id, method: 'LINK', userAgent: null },
      { id: nodes[1].id, method: 'LINK', userAgent: null },
    ])
    for (const { id } of nodes.slice(1)) await h.mutate('endSessions', { id }, 'sessions { id }')
    expect(
      (await Promise.all([opened(first), opened(second)])).map(({ status }) => status).toSorted(),
    ).toEqual([303, 410])
    const third = await urlFor(secret)
    await h.mutate('revokeApiKey', { id: apiKey.id }, 'apiKey { id }')
    expect((await opened(third)).status).toBe(410)
    expect((await linkFor(secret)).status).toBe(401)
  })

  test('does not outlive its key, and the token of a session is no code', async () => {
    const { secret } = await keyOf('VIEWER', new Date(Date.now() + 90_000).toISOString())
    const { expiresAt } = (await (await linkFor(secret)).json()) as { expiresAt: string }
    expect(new Date(expiresAt).getTime()).toBeLessThanOrEqual(Date.now() + 95_000)
    const { tab } = await opened(await urlFor(secret))
    const token = [...tab.cookies.values()][0]!
    expect((await opened(`/session/start?code=${token}`)).status).toBe(410)
    expect((await tab.gql('{ viewer { id } }')).data.viewer).not.toBeNull()
  })

  test('is not made for a page of another site, a wrong key or a key that may not sign in', async () => {
    expect((await linkFor(adminKey, { origin: 'https://evil.example' })).status).toBe(403)
    expect((await linkFor(`gh_${'x'.repeat(43)}`)).status).toBe(401)
    for (const odd of [null, 7, '', {}, 'sk_1']) expect((await linkFor(odd)).status).toBe(422)
    const agentId = (await h.mutate('createAgent', { name: 'bound', instructions: '' }, 'agent { id }'))[
      'agent'
    ].id
    const bound = await h.mutate('createApiKey', { name: 'bound', agentId, role: 'CALLER' }, 'secret')
    expect((await linkFor(bound['secret'])).status).toBe(403)
  })
})
