/** A server that is called with tokens for which the sign-in of the person of each call is exchanged. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { forgetExpiredSessions } from '../../src/domain/access/index.ts'
import { query } from '../../src/store/db/database.ts'
import { sql } from '../../src/store/db/sql.ts'
import { hasPostgres, postgresDatabase } from '../support/databases.ts'
import { adminKey, openHarness, type Harness } from '../support/harness.ts'
import { oidcAt } from '../support/identity-provider.ts'
import { addProgram, mutateFor } from '../support/acts-for.ts'
import { asking, makeAgent } from '../support/nested-fixtures.ts'
import { addPerson, call, callOf, type OwnLogins } from '../support/own-logins.ts'
import { hasPeers } from '../support/peers.ts'
import {
  addSignedIn,
  begin,
  openExchanging,
  saveExchangeSecrets,
  signIn,
  signOut,
  startExchangingProvider,
  type ExchangingProvider,
  type SignedIn,
} from '../support/signed-in.ts'
import { freePort } from '../support/upstream-servers.ts'

describe.skipIf(!hasPeers || !hasPostgres)('a server with exchanged sign-ins', () => {
  let database: Awaited<ReturnType<typeof postgresDatabase>>
  let h: Harness
  let other: Harness
  let provider: ExchangingProvider
  let logins: OwnLogins
  let ada: SignedIn
  let bob: SignedIn

  beforeAll(async () => {
    database = await postgresDatabase()
    const port = await freePort()
    h = await openHarness({ databaseUrl: database.url, oidc: oidcAt(port) })
    other = await openHarness({ databaseUrl: database.url, oidc: oidcAt(port), publicUrl: h.url })
    provider = await startExchangingProvider(port, [h.url])
    await saveExchangeSecrets(h)
    logins = await openExchanging(h, provider.issuer)
  })
  afterAll(async () => {
    await logins?.close()
    await Promise.all([h?.stop(), other?.stop()])
    await provider?.close()
    await database?.drop()
  })
  beforeEach(async () => {
    logins.calls.length = 0
    Object.assign(provider.exchanges, { ttl: 300, refusal: null })
    ada = await addSignedIn(h, provider, `ada-${randomUUID()}`)
    bob = await addSignedIn(h, provider, `bob-${randomUUID()}`)
    provider.exchanges.done.length = 0
  })

  const statusOf = async (id: string) => (await callOf(h, id)).status
  const claims = ({ token }: { token: string }) =>
    JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as Record<string, any>
  const subjects = () => provider.exchanges.done.map(({ subject }) => subject.split('-')[0]).toSorted()
  const nameOf = async ({ toolId }: OwnLogins) =>
    (await h.gql('query($id: ID!) { tool(id: $id) { name } }', { id: toolId })).data['tool'].name
  const logIn = (who: SignedIn) => h.mutate('logInToUpstream', { toolId: logins.toolId }, 'url', who.key)
  /** Of how many of these people the exchanged token has expired. */
  const endedOf = async (people: SignedIn[]) => {
    const [row] = await query<{ n: number }>(
      h.app.services.db,
      sql`select count(*)::int as n from person_logins
        where upstream_id = ${logins.toolId} and person in ${people.map(({ id }) => id)} and expires_at < now()`,
    )
    return row!.n
  }
  const signOutAndCall = async (who: SignedIn, message: string, of = logins) => {
    await signOut(who)
    const waits = await call(h, of, who, message)
    expect(waits).toMatchObject({
      status: 'AWAITING_APPROVAL',
      approval: { requirement: { loginOf: who.id } },
    })
    return waits
  }

  test('each call arrives with the token of its person, over two replicas at once', async () => {
    for (const one of [ada, bob]) await begin(h, logins, one)
    logins.calls.length = 0
    const made = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        call(i % 2 ? h : other, logins, i % 3 ? ada : bob, i % 3 ? 'a' : 'b'),
      ),
    )
    expect(made.map(({ status }) => status)).toEqual(Array(20).fill('SUCCEEDED'))
    expect(logins.calls).toHaveLength(20)
    for (const { account, message } of logins.calls) expect(account[0]).toBe(message)
    // The lists were read with the token of one; the scope and resource are those that the server names.
    expect(subjects()).toEqual(['ada', 'bob'])
    expect(provider.exchanges.done[0]).toMatchObject({ resource: logins.server.url, scope: 'mcp:read' })
  })

  test('a call of a person who is not signed in waits, and the sign-in lets it go on', async () => {
    await begin(h, logins, ada)
    const waits = await signOutAndCall(ada, 'later')
    expect(logins.calls).toEqual([])
    // Another person's sign-in changes nothing.
    await signIn(h, provider, bob.sub)
    expect(await statusOf(waits.id)).toBe('AWAITING_APPROVAL')
    await signIn(h, provider, ada.sub)
    await expect.poll(() => statusOf(waits.id)).toBe('SUCCEEDED')
    expect(logins.calls).toMatchObject([{ account: ada.sub, message: 'later' }])
    expect((await callOf(h, waits.id)).approval).toMatchObject({ votes: [{ via: 'LOGIN', by: ada.id }] })
  })

  test('nobody is exchanged unasked: the person agrees once, and sign-ins after that go on', async () => {
    await begin(h, logins, bob)
    const waits = await call(h, logins, ada, 'unasked')
    expect(waits).toMatchObject({ approval: { requirement: { loginOf: ada.id } } })
    expect(subjects()).not.toContain('ada')
    await signIn(h, provider, ada.sub, ada.tab)
    expect(await statusOf(waits.id)).toBe('AWAITING_APPROVAL')
    await begin(h, logins, ada)
    await expect.poll(() => statusOf(waits.id)).toBe('SUCCEEDED')
    await signOut(ada)
    await signIn(h, provider, ada.sub)
    expect((await call(h, logins, ada, 'later')).status).toBe('SUCCEEDED')
    await h.mutate('logOutOfUpstream', { toolId: logins.toolId }, 'tool { id }', ada.key)
    expect((await call(h, logins, ada, 'withdrawn')).status).toBe('AWAITING_APPROVAL')
  })

  test('a verdict comes before the exchange', async () => {
    const gated = await openExchanging(h, provider.issuer, {
      input: { gate: { autoApprove: false, timeoutSeconds: 60 } },
    })
    try {
      // The lists are read with the newest login, which is not that of the call.
      for (const one of [ada, bob]) await begin(h, gated, one)
      await query(
        h.app.services.db,
        sql`update person_logins set id = person, sealed = null, version = version + 1
          where upstream_id = ${gated.toolId}`,
      )
      provider.exchanges.done.length = 0
      const waits = await call(h, gated, ada, 'gated')
      expect(waits).toMatchObject({
        status: 'AWAITING_APPROVAL',
        approval: { requirement: { loginOf: null } },
      })
      expect(subjects()).not.toContain('ada')
      await h.mutate(
        'decideApproval',
        { approvalId: waits.approval.id, verdict: 'APPROVE' },
        'approval { id }',
      )
      await expect.poll(() => statusOf(waits.id)).toBe('SUCCEEDED')
      expect(subjects()).toContain('ada')
    } finally {
      await gated.close()
    }
  })

  test('the token names who acts: the person, the agents in their order, and Gatehouse', async () => {
    const signing = await openExchanging(h, provider.issuer, {
      tokenExchange: { clientId: 'signer', clientSecret: null, privateKey: 'signer' },
    })
    try {
      await begin(h, signing, ada)
      const tool = await nameOf(signing)
      const inner = await makeAgent(h, {
        name: `inner_${signing.toolId.slice(-6)}`,
        toolIds: [signing.toolId],
      })
      const innerName = (await h.gql(`{ agent(id: "${inner}") { name } }`)).data['agent'].name
      const outer = await makeAgent(h, {
        name: `outer_${signing.toolId.slice(-6)}`,
        agentIds: [inner],
        mcp: { enabled: true },
        toolIds: [signing.toolId],
      })
      signing.calls.length = 0
      await call(h, signing, ada, 'direct')
      const run = async (agentId: string, prompt: string) => {
        const { generation } = await h.mutate(
          'startGeneration',
          { agentId, prompt },
          'generation { id }',
          ada.key,
        )
        await h.until(generation.id, ['COMPLETED'])
      }
      await run(inner, `call ${tool}_echo {"message":"run"}\nthen\nsay done`)
      await run(outer, asking(innerName, `call ${tool}_echo {"message":"nested"}\nthen\nsay done`))
      const response = await fetch(`${h.url}/mcp/${outer}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${ada.key}` },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: { name: `${tool}_echo`, arguments: { message: 'bridge' } },
        }),
      })
      expect(await response.text()).toContain('echoed')
      const program = await addProgram(h)
      const asked = { toolId: signing.toolId, action: 'echo', arguments: { message: 'program' } }
      const made = await mutateFor(h, program, { keyId: ada.id }, 'callTool', asked, 'toolCall { status }')
      expect(made['toolCall'].status).toBe('SUCCEEDED')
      const agent = (sub: string, act?: object) => ({ iss: h.url, sub, ...(act && { act }) })
      const expected: Record<string, object> = {
        direct: { sub: 'signer' },
        run: { sub: 'signer', act: agent(inner) },
        nested: { sub: 'signer', act: agent(inner, agent(outer)) },
        bridge: { sub: 'signer', act: agent(outer) },
        program: { sub: 'signer', act: agent(program.keyId) },
      }
      const actual = signing.calls.map((one) => [one.message, claims(one)['act']])
      expect(Object.fromEntries(actual)).toEqual(expected)
      for (const one of signing.calls) expect(claims(one)['sub']).toBe(ada.sub)
      // A token for each chain of actors, and one person.
      const count = `{ tool(id: "${signing.toolId}") { ... on McpTool { upstream { loginCount } } } }`
      expect((await h.gql(count)).data['tool'].upstream.loginCount).toBe(1)
      const kept = async () => {
        const rows = sql`select 1 from person_logins where upstream_id like ${`${signing.toolId}%`}`
        return (await query(h.app.services.db, rows)).length
      }
      expect(await kept()).toBe(5)
      await h.mutate('logOutOfUpstream', { toolId: signing.toolId }, 'tool { id }', ada.key)
      expect(await kept()).toBe(0)
    } finally {
      await signing.close()
    }
  })

  test('an expired token is exchanged anew once for each person, however many calls need it on two replicas', async () => {
    provider.exchanges.ttl = 1
    for (const one of [ada, bob]) await begin(h, logins, one)
    await Promise.all([ada, bob].map((one) => call(h, logins, one, 'first')))
    await expect.poll(() => endedOf([ada, bob])).toBe(2)
    provider.exchanges.ttl = 300
    provider.exchanges.done.length = 0
    logins.calls.length = 0
    const made = await Promise.all(
      Array.from({ length: 16 }, (_, i) =>
        call(i % 2 ? h : other, logins, i % 4 < 2 ? ada : bob, i % 4 < 2 ? 'a' : 'b'),
      ),
    )
    expect(made.map(({ status }) => status)).toEqual(Array(16).fill('SUCCEEDED'))
    for (const { account, message } of logins.calls) expect(account[0]).toBe(message)
    expect(subjects()).toEqual(['ada', 'bob'])
  })

  // RFC 6749, RFC 8693 and Keycloak name the same end differently.
  const endings = ['invalid_grant', 'invalid_request', 'invalid_token']
  test.each(endings)(
    'a sign-in that has ended at the provider, in the middle of a run: %s',
    async (ending) => {
      Object.assign(provider.exchanges, { ttl: 1, ending })
      await begin(h, logins, ada)
      const tool = await nameOf(logins)
      const agent = await makeAgent(h, { name: `middle_${ada.id.slice(-6)}`, toolIds: [logins.toolId] })
      const { run } = logins.server.tools.get('echo')!
      logins.server.tools.get('echo')!.run = async (args, context) => {
        if (args['message'] === 'before') {
          await provider.end(ada.sub)
          await expect.poll(() => endedOf([ada])).toBe(1)
        }
        return run(args, context)
      }
      try {
        const one = (message: string) => `call ${tool}_echo {"message":"${message}"}\nthen\n`
        const { generation } = await h.mutate(
          'startGeneration',
          { agentId: agent, prompt: `${one('before')}${one('after')}say done` },
          'generation { id }',
          ada.key,
        )
        await h.until(generation.id, ['AWAITING_APPROVAL'])
        expect(logins.calls.map(({ message }) => message)).toEqual(['before'])
        provider.exchanges.ttl = 300
        await signIn(h, provider, ada.sub)
        await h.until(generation.id, ['COMPLETED'])
        expect(logins.calls.map(({ message }) => message)).toEqual(['before', 'after'])
      } finally {
        logins.server.tools.get('echo')!.run = run
      }
    },
  )

  test('a refusal says so to the person, asks nobody to sign in, and is not repeated without end', async () => {
    provider.exchanges.refusal = 'access_denied'
    await logIn(ada)
    try {
      const refused = await call(h, logins, ada, 'refused')
      expect(refused).toMatchObject({ status: 'ERRORED', errorCode: 'authorization_failed', approval: null })
      expect(refused.content[0].text).toContain('access_denied')
      // The provider itself takes the sign-in: another one would be refused too.
      for (const ending of endings) {
        provider.exchanges.refusal = ending
        expect(await call(h, logins, ada, 'refused')).toMatchObject({
          status: 'ERRORED',
          errorCode: 'authorization_failed',
        })
      }
    } finally {
      provider.exchanges.refusal = null
    }
    const believing = logins.server.guard!
    logins.server.guard = (request, response, body) => {
      if (!body.includes('"tools/call"')) return believing(request, response, body)
      response.writeHead(401, { 'www-authenticate': 'Bearer error="invalid_token"' }).end()
      return true
    }
    try {
      expect(await call(h, logins, ada, 'not here')).toMatchObject({
        status: 'ERRORED',
        errorCode: 'authorization_failed',
        content: [{ text: expect.stringContaining('does not accept the token for which the sign-in') }],
      })
    } finally {
      logins.server.guard = believing
    }
    expect(logins.calls).toEqual([])
    expect((await call(h, logins, ada, 'again')).status).toBe('SUCCEEDED')
  })

  test('signing out deletes the sign-in and what it was exchanged for, when the last session ends', async () => {
    await begin(h, logins, ada)
    await call(h, logins, ada, 'x')
    const second = await signIn(h, provider, ada.sub)
    const kept = async () =>
      (
        await query<{ id: string }>(
          h.app.services.db,
          sql`select upstream_id as id from person_logins
            where person = ${ada.id} and sealed is not null order by 1`,
        )
      ).map(({ id }) => id)
    expect(await kept()).toEqual(['sign-in', logins.toolId].toSorted())
    await signOut(ada)
    expect(await kept()).toHaveLength(2)
    await signOut({ tab: second })
    expect(await kept()).toEqual([])
    // A session that ends by itself takes the sign-in along.
    await signIn(h, provider, ada.sub)
    expect(await kept()).toEqual(['sign-in'])
    await query(h.app.services.db, sql`update sessions set expires_at = now() where principal_id = ${ada.id}`)
    expect((await call(h, logins, ada, 'after')).status).toBe('AWAITING_APPROVAL')
    await forgetExpiredSessions(h.app.services.db)
    expect(await kept()).toEqual([])
  })

  test('a key that is no account of the provider, and a program, get their own error', async () => {
    await begin(h, logins, ada)
    const made = await call(h, logins, { key: adminKey }, 'x')
    expect(made).toMatchObject({ status: 'ERRORED', errorCode: 'no_person' })
    const program = await addPerson(h, 'program', { votes: false })
    expect(await call(h, logins, program, 'x')).toMatchObject({ errorCode: 'no_person' })
    expect(logins.calls).toEqual([])
  })

  test('logInToUpstream leads to the sign-in where there is none', async () => {
    expect(await begin(h, logins, ada)).toBe(`${h.url}/upstreams/${logins.toolId}`)
    await signOut(ada)
    const { url } = await h.mutate('logInToUpstream', { toolId: logins.toolId }, 'url', ada.key)
    expect(url).toBe(`${h.url}/session/login?to=${encodeURIComponent(`/upstreams/${logins.toolId}`)}`)
    await h.mutate('logOutOfUpstream', { toolId: logins.toolId }, 'tool { id }', ada.key)
  })

  test('faults of the configuration are named', async () => {
    const faultsOf = async (tokenExchange: object, login: string | null = 'PER_PERSON', on = h) => {
      const auth = { tokenExchange: { clientId: 'x', issuer: provider.issuer, ...tokenExchange } }
      const config = { mcp: { url: 'http://127.0.0.1:1/mcp', auth, ...(login ? { login } : {}) } }
      return JSON.stringify(
        await on.gql(
          `mutation($input: CreateToolInput!) { createTool(input: $input) {
            ... on ValidationError { issues { path message } } ... on Error { message } } }`,
          { input: { name: 'x', config } },
        ),
      )
    }
    const secret = { clientSecret: 'exchanger' }
    expect(await faultsOf({})).toContain('give exactly one of clientSecret and privateKey')
    expect(await faultsOf({ ...secret, privateKey: 'signer' })).toContain('give exactly one')
    expect(await faultsOf({ ...secret, omitResource: true })).toContain(
      'is required when omitResource is set',
    )
    expect(await faultsOf(secret, null)).toContain('must be PER_PERSON with tokenExchange')
    const plain = await openHarness()
    try {
      expect(await faultsOf(secret, 'PER_PERSON', plain)).toContain('GATEHOUSE_OIDC_ISSUER')
    } finally {
      await plain.stop()
    }
  })
})
