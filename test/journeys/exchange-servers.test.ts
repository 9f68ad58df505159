/** Where a sign-in is exchanged: at the identity provider, at servers that the operator names, and by assertions (ID-JAG) elsewhere. */
import { afterEach, describe, expect, test } from 'vitest'
import { query } from '../../src/store/db/database.ts'
import { sql } from '../../src/store/db/sql.ts'
import { hasPostgres, postgresDatabase } from '../support/databases.ts'
import { startExchangeServer } from '../support/exchange.ts'
import { openHarness, type Harness } from '../support/harness.ts'
import { oidcAt } from '../support/identity-provider.ts'
import { call, callOf, type OwnLogins } from '../support/own-logins.ts'
import { hasPeers } from '../support/peers.ts'
import {
  addSignedIn,
  begin,
  openExchanging,
  saveExchangeSecrets,
  signIn,
  startExchangingProvider,
} from '../support/signed-in.ts'
import { startTokenIssuer } from '../support/token-issuer.ts'
import { freePort } from '../support/upstream-servers.ts'

describe.skipIf(!hasPeers || !hasPostgres)('where sign-ins are exchanged', () => {
  const closers: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const close of closers.splice(0).toReversed()) await close()
  })
  const closed = <Thing extends object>(thing: Thing, close: (thing: Thing) => Promise<unknown>): Thing => {
    closers.push(() => close(thing))
    return thing
  }

  /** Two replicas whose people sign in at a provider. */
  async function openReplicas(oidc: object = {}, renews = false) {
    const database = closed(await postgresDatabase(), (one) => one.drop())
    const port = await freePort()
    const settings = { ...oidcAt(port), ...oidc }
    const h = closed(await openHarness({ databaseUrl: database.url, oidc: settings }), (one) => one.stop())
    const other = closed(
      await openHarness({ databaseUrl: database.url, oidc: settings, publicUrl: h.url }),
      (one) => one.stop(),
    )
    const provider = closed(await startExchangingProvider(port, [h.url], renews), (one) => one.close())
    await saveExchangeSecrets(h)
    return { h, other, provider }
  }

  const openServer = async (...given: Parameters<typeof startExchangeServer>) =>
    closed(await startExchangeServer(...given), (one) => one.close())
  const openTool = async (...given: Parameters<typeof openExchanging>) =>
    closed(await openExchanging(...given), (one) => one.close())
  const statusOf = async (h: Harness, id: string) => (await callOf(h, id)).status
  const accounts = ({ calls }: OwnLogins) => calls.map(({ account }) => account)

  test('another server gets an assertion that the provider made for it alone, and never the sign-in', async () => {
    const { h, other, provider } = await openReplicas()
    const server = await openServer(
      { issuer: provider.issuer, jwks: `${provider.issuer}/jwks` },
      { assertions: true },
    )
    const tool = await openTool(h, server.issuer)
    const ada = await addSignedIn(h, provider, 'ada')
    const bob = await addSignedIn(h, provider, 'bob')
    for (const one of [ada, bob]) await begin(h, tool, one)
    const made = await Promise.all([call(h, tool, ada, 'a'), call(other, tool, bob, 'b')])
    expect(made.map(({ status }) => status)).toEqual(['SUCCEEDED', 'SUCCEEDED'])
    expect(accounts(tool).toSorted()).toEqual(['ada', 'bob'])
    expect(provider.exchanges.done[0]).toMatchObject({
      subject: 'ada',
      audience: server.issuer,
      resource: tool.server.url,
    })
    expect(new Set(server.exchanges.done.map(({ subject }) => subject))).toEqual(new Set(['ada', 'bob']))
    const carol = await addSignedIn(h, provider, 'carol')
    await begin(h, tool, carol)
    // What is no assertion is sent to nobody.
    provider.exchanges.issuedAs = 'access_token'
    const dan = await addSignedIn(h, provider, 'dan')
    await dan.tab.gql(
      `mutation { logInToUpstream(input: { toolId: "${tool.toolId}" }) { ... on LogInToUpstreamPayload { url } } }`,
    )
    const before = server.requests.length
    expect(await call(h, tool, dan, 'd')).toMatchObject({ errorCode: 'authorization_failed' })
    expect(server.requests.slice(before).filter((one) => one.startsWith('POST'))).toEqual([])
    provider.exchanges.issuedAs = 'id-jag'
    // What the provider does not allow is said to the person.
    provider.exchanges.refusal = 'access_denied'
    const refused = await call(h, tool, carol, 'c')
    expect(refused).toMatchObject({ status: 'ERRORED', errorCode: 'authorization_failed' })
    expect(refused.content[0].text).toContain('makes no assertion')
  })

  test('the audience and scopes of the configuration are requested, without a resource if it is left out', async () => {
    const { h, provider } = await openReplicas()
    const tokenExchange = { audience: 'crm', omitResource: true, scopes: ['crm:read', 'crm:write'] }
    const first = await openTool(h, provider.issuer, { tokenExchange })
    const ada = await addSignedIn(h, provider, 'ada')
    const agree = ({ toolId }: OwnLogins) =>
      ada.tab.gql(
        `mutation { logInToUpstream(input: { toolId: "${toolId}" }) { ... on LogInToUpstreamPayload { url } } }`,
      )
    await agree(first)
    await expect
      .poll(() => provider.exchanges.done)
      .toContainEqual(
        expect.objectContaining({ audience: 'crm', scope: 'crm:read crm:write', resource: undefined }),
      )
    // An assertion for no server in particular is not requested.
    const server = await openServer(
      { issuer: provider.issuer, jwks: `${provider.issuer}/jwks` },
      { assertions: true },
    )
    const other = await openTool(h, server.issuer, { tokenExchange })
    await agree(other)
    const error = `{ tool(id: "${other.toolId}") { ... on McpTool { upstream { error { message } } } } }`
    await expect
      .poll(async () => (await h.gql(error)).data['tool'].upstream.error?.message)
      .toContain('leave omitResource out')
    expect(provider.exchanges.done.some(({ audience }) => audience === server.issuer)).toBe(false)
  })

  test('a server that takes no assertions gets a sign-in only if the operator names it', async () => {
    const port = await freePort()
    const foreign = await openServer({
      issuer: `http://127.0.0.1:${port}`,
      jwks: `http://127.0.0.1:${port}/jwks`,
    })
    const { h, provider } = await openReplicas()
    const tool = await openTool(h, foreign.issuer)
    const ada = await addSignedIn(h, provider, 'ada')
    const { data } = await ada.tab.gql(
      `mutation { logInToUpstream(input: { toolId: "${tool.toolId}" }) { ... on LogInToUpstreamPayload { url } } }`,
    )
    expect(data.logInToUpstream.url).toBe(`${h.url}/upstreams/${tool.toolId}`)
    const error = `{ tool(id: "${tool.toolId}") { ... on McpTool { upstream { status error { message } } } } }`
    await expect
      .poll(async () => (await h.gql(error)).data['tool'].upstream)
      .toMatchObject({
        status: 'AUTHORIZATION_REQUIRED',
        error: { message: expect.stringContaining('GATEHOUSE_OIDC_EXCHANGE_ISSUERS') },
      })
    expect(foreign.requests.filter((one) => one.startsWith('POST'))).toEqual([])
  })

  test('a token with which a request came is exchanged for as long as it is good', async () => {
    const claims: Record<string, unknown> = { aud: 'gatehouse', gatehouse_role: 'admin' }
    const issuer = closed(await startTokenIssuer(claims), (one) => one.close())
    const server = await openServer({ issuer: issuer.issuer, jwks: `${issuer.issuer}/keys` })
    const h = closed(
      await openHarness({ oidc: { ...issuer.oidc, exchangeIssuers: [server.issuer] } }),
      (one) => one.stop(),
    )
    claims['gatehouse_project'] = (await h.gql('{ viewer { project { id } } }')).data['viewer'].project.id
    await saveExchangeSecrets(h)
    const tool = await openTool(h, server.issuer)
    const bearer = async (seconds: number) => ({
      key: await issuer.token({ exp: Math.floor(Date.now() / 1000) + seconds }),
    })
    const first = await bearer(300)
    const { apiKey, secret } = await h.mutate(
      'createApiKey',
      { name: 'of ada', role: 'DEVELOPER' },
      'secret apiKey { createdBy }',
      first.key,
    )
    // The tool did not exist when the token was first seen; another one is kept.
    const kept = await bearer(301)
    await h.mutate('logInToUpstream', { toolId: tool.toolId }, 'url', kept.key)
    const actions = `{ tool(id: "${tool.toolId}") { ... on McpTool { actions { action } } } }`
    await expect.poll(async () => (await h.gql(actions)).data['tool'].actions).toHaveLength(1)
    expect((await call(h, tool, kept, 'bearer')).status).toBe('SUCCEEDED')
    expect((await call(h, tool, { key: secret }, 'key')).status).toBe('SUCCEEDED')
    expect(accounts(tool)).toEqual(['ada', 'ada'])
    const end = sql`update person_logins set expires_at = now() - interval '1 second' where person = ${apiKey.createdBy}`
    await query(h.app.services.db, end)
    const waits = await call(h, tool, { key: secret }, 'later')
    expect(waits).toMatchObject({
      status: 'AWAITING_APPROVAL',
      approval: { requirement: { loginOf: apiKey.createdBy } },
    })
    await h.gql('{ viewer { id } }', {}, (await bearer(302)).key)
    await expect.poll(() => statusOf(h, waits.id)).toBe('SUCCEEDED')
    expect(accounts(tool)).toEqual(['ada', 'ada', 'ada'])
  })

  test.each(['the access token', 'the ID token'])(
    '%s of a sign-in is renewed once for calls on two replicas',
    async (which) => {
      const client = { ...oidcAt(1).client, scopes: 'openid profile email offline_access' }
      const { h, other, provider } = await openReplicas({ client }, true)
      const assertions = which === 'the ID token'
      const trusted = { issuer: provider.issuer, jwks: `${provider.issuer}/jwks` }
      const server = assertions ? await openServer(trusted, { assertions }) : provider
      const tool = await openTool(h, server.issuer)
      provider.ttl = 3
      server.exchanges.ttl = 3
      const ada = await addSignedIn(h, provider, 'ada')
      await begin(h, tool, ada)
      expect((await call(h, tool, ada, 'first')).status).toBe('SUCCEEDED')
      const isOver = async () => {
        const [row] = await query<{ over: boolean }>(
          h.app.services.db,
          sql`select updated_at < now() - interval '3.5 seconds' as over from person_logins
          where person = ${ada.id} and upstream_id = ${tool.toolId}`,
        )
        return row!.over
      }
      await expect.poll(isOver, { timeout: 20_000 }).toBe(true)
      provider.ttl = 300
      server.exchanges.ttl = 300
      provider.requests.length = 0
      provider.exchanges.done.length = 0
      const made = await Promise.all(
        Array.from({ length: 12 }, (_, i) => call(i % 2 ? h : other, tool, ada, `n${i}`)),
      )
      expect(made.map(({ status }) => status)).toEqual(Array(12).fill('SUCCEEDED'))
      expect(provider.exchanges.done).toHaveLength(1)
      // One renewal and one exchange.
      expect(provider.requests.filter((one) => one === 'POST /token')).toHaveLength(2)
      // A renewal that is refused ends the sign-in.
      await provider.end('ada')
      await query(
        h.app.services.db,
        sql`update person_logins set expires_at = now() - interval '1 second' where person = ${ada.id}`,
      )
      const waits = await call(other, tool, ada, 'over')
      expect(waits).toMatchObject({
        status: 'AWAITING_APPROVAL',
        approval: { requirement: { loginOf: ada.id } },
      })
      await signIn(h, provider, 'ada')
      await expect.poll(() => statusOf(h, waits.id)).toBe('SUCCEEDED')
    },
  )
})
