/** A server that is called with the login of the person for whom each call is made. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { query } from '../../src/store/db/database.ts'
import { sql } from '../../src/store/db/sql.ts'
import { hasPostgres, postgresDatabase } from '../support/databases.ts'
import { openHarness, type Harness } from '../support/harness.ts'
import {
  addPerson,
  call,
  callOf,
  logIn,
  openOwnLogins,
  type OwnLogins,
  type Person,
} from '../support/own-logins.ts'
import { browse, confirmLogin, type Jar } from '../support/browser.ts'
import { openTab } from '../support/cookie-jar.ts'
import { startLegacy } from '../support/legacy-server.ts'
import { asking, makeAgent } from '../support/nested-fixtures.ts'
import { oidcAt, startIdentityProvider } from '../support/identity-provider.ts'
import { hasPeers } from '../support/peers.ts'
import { signIn } from '../support/signed-in.ts'
import { freePort } from '../support/upstream-servers.ts'

describe.skipIf(!hasPeers || !hasPostgres)('a server with the login of each person', () => {
  let database: Awaited<ReturnType<typeof postgresDatabase>>
  let h: Harness
  let other: Harness
  let logins: OwnLogins
  let ada: Person
  let bob: Person

  beforeAll(async () => {
    database = await postgresDatabase()
    h = await openHarness({ databaseUrl: database.url })
    other = await openHarness({ databaseUrl: database.url, publicUrl: h.url })
    logins = await openOwnLogins(h)
  })
  afterAll(async () => {
    await logins?.close()
    await Promise.all([h?.stop(), other?.stop()])
    await database?.drop()
  })
  beforeEach(async () => {
    logins.calls.length = 0
    logins.issuer.ttl = 300
    ada = await addPerson(h, 'ada')
    bob = await addPerson(h, 'bob')
  })

  const statusOf = async (id: string) => (await callOf(h, id)).status
  const said = () => logins.calls.map(({ account, message }) => `${account}: ${String(message)}`).toSorted()

  test('each call arrives with the token of its person, over two replicas at once', async () => {
    expect((await logIn(h, logins, ada)).text).toContain('Connected')
    expect((await logIn(other, logins, bob)).text).toContain('Connected')
    const made = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        call(i % 2 ? h : other, logins, i % 3 ? ada : bob, i % 3 ? `a${i}` : `b${i}`),
      ),
    )
    expect(made.map(({ status }) => status)).toEqual(Array(20).fill('SUCCEEDED'))
    expect(logins.calls).toHaveLength(20)
    for (const { account, message } of logins.calls) expect(account[0]).toBe(String(message)[0])
  })

  test('a call without a login waits for it, and its login lets it go on, on another replica', async () => {
    await logIn(h, logins, bob)
    const waits = await call(h, logins, ada, 'later')
    expect(waits).toMatchObject({
      status: 'AWAITING_APPROVAL',
      approval: { status: 'PENDING', requirement: { loginOf: ada.keyId } },
    })
    expect(logins.calls).toEqual([])
    // Nobody decides it in place of the login, not even the operator.
    const verdict = { approvalId: waits.approval.id, verdict: 'APPROVE' }
    await expect(h.mutate('decideApproval', verdict, 'approval { id }')).rejects.toThrow(
      'Nobody decides about this',
    )
    await logIn(other, logins, ada)
    await expect.poll(() => statusOf(waits.id)).toBe('SUCCEEDED')
    expect(said()).toEqual(['ada: later'])
    expect((await callOf(h, waits.id)).approval).toMatchObject({
      status: 'APPROVED',
      votes: [{ via: 'LOGIN', by: ada.keyId }],
    })
  })

  test('a gate comes first: the verdict is asked for, then the login', async () => {
    const gated = await openOwnLogins(h, {
      issuer: logins.issuer,
      input: { gate: { autoApprove: false, timeoutSeconds: 60 } },
    })
    try {
      await logIn(h, gated, bob)
      const waits = await call(h, gated, ada, 'gated')
      expect(waits.approval.requirement.loginOf).toBeNull()
      await h.mutate(
        'decideApproval',
        { approvalId: waits.approval.id, verdict: 'APPROVE' },
        'approval { id }',
      )
      await expect.poll(async () => (await callOf(h, waits.id)).approval.requirement.loginOf).toBe(ada.keyId)
      const { data } = await h.gql('query($id: ID!) { approval(id: $id) { status } }', {
        id: waits.approval.id,
      })
      expect(data['approval'].status).toBe('APPROVED')
      await logIn(h, gated, ada)
      await expect.poll(() => statusOf(waits.id)).toBe('SUCCEEDED')
      expect(gated.calls).toMatchObject([{ account: 'ada', message: 'gated' }])
    } finally {
      await gated.close()
    }
  })

  test('the deadline ends the wait, and the call says why it was not run', async () => {
    const short = await openOwnLogins(h, {
      issuer: logins.issuer,
      input: { gate: { mode: 'WHEN', when: { required: ['never'] }, timeoutSeconds: 5 } },
    })
    try {
      await logIn(h, short, bob)
      const waits = await call(h, short, ada, 'too late')
      expect(waits.status).toBe('AWAITING_APPROVAL')
      await expect
        .poll(() => callOf(h, waits.id))
        .toMatchObject({ status: 'EXPIRED', errorCode: 'login_expired' })
      expect(short.calls).toEqual([])
    } finally {
      await short.close()
    }
  })

  test('the key of a program has no person: its call is refused, and says what to do', async () => {
    await logIn(h, logins, bob)
    const program = await addPerson(h, 'program', { votes: false })
    const made = await call(h, logins, program, 'x')
    expect(made).toMatchObject({ status: 'ERRORED', errorCode: 'no_person' })
    expect(made.content[0].text).toContain('key or the sign-in of a person')
    expect(await h.mutate('logInToUpstream', { toolId: logins.toolId }, 'url', program.key)).toMatchObject({
      code: 'INVALID',
    })
  })

  test('a nested run calls with the login of the person who started the root', async () => {
    await logIn(h, logins, ada)
    await logIn(h, logins, bob)
    const name = (await h.gql('query($id: ID!) { tool(id: $id) { name } }', { id: logins.toolId })).data[
      'tool'
    ].name
    const child = await makeAgent(h, { name: `child_${ada.keyId.slice(-6)}`, toolIds: [logins.toolId] })
    const parent = await makeAgent(h, { name: `parent_${ada.keyId.slice(-6)}`, agentIds: [child] })
    const prompt = asking(
      `child_${ada.keyId.slice(-6)}`,
      `call ${name}_echo {"message":"nested"}\nthen\nsay done`,
    )
    for (const person of [bob, ada]) {
      const started = await h.mutate(
        'startGeneration',
        { agentId: parent, prompt },
        'generation { id }',
        person.key,
      )
      await h.until(started['generation'].id, ['COMPLETED'])
    }
    expect(logins.calls.map(({ account }) => account)).toEqual(['bob', 'ada'])
  })

  test('a run waits for the login and goes on with it', async () => {
    await logIn(h, logins, bob)
    const name = (await h.gql('query($id: ID!) { tool(id: $id) { name } }', { id: logins.toolId })).data[
      'tool'
    ].name
    const agent = await makeAgent(h, { name: `alone_${ada.keyId.slice(-6)}`, toolIds: [logins.toolId] })
    const prompt = `call ${name}_echo {"message":"run"}\nthen\nsay done`
    const { generation } = await h.mutate(
      'startGeneration',
      { agentId: agent, prompt },
      'generation { id }',
      ada.key,
    )
    await h.until(generation.id, ['AWAITING_APPROVAL'])
    await logIn(other, logins, ada)
    await h.until(generation.id, ['COMPLETED'])
    expect(said()).toEqual(['ada: run'])
  })

  test('an expired token is renewed once for each person, however many calls need it on two replicas', async () => {
    logins.issuer.ttl = 1
    await logIn(h, logins, ada)
    await logIn(h, logins, bob)
    const isOver = async () => {
      const [row] = await query<{ n: number }>(
        h.app.services.db,
        sql`select count(*)::int as n from person_logins
          where person in ${[ada.keyId, bob.keyId]} and expires_at < now() - interval '1 second'`,
      )
      return row!.n
    }
    await expect.poll(isOver).toBe(2)
    logins.issuer.ttl = 300
    logins.issuer.granted.length = 0
    const made = await Promise.all(
      Array.from({ length: 16 }, (_, i) =>
        call(i % 2 ? h : other, logins, i % 4 < 2 ? ada : bob, i % 4 < 2 ? 'a' : 'b'),
      ),
    )
    expect(made.map(({ status }) => status)).toEqual(Array(16).fill('SUCCEEDED'))
    for (const { account, message } of logins.calls) expect(account[0]).toBe(message)
    expect(logins.issuer.granted.map(({ grant_type }) => grant_type)).toEqual([
      'refresh_token',
      'refresh_token',
    ])
  })

  test('a login that the server does not accept any more ends, and the call waits for another one', async () => {
    await logIn(h, logins, ada)
    expect((await call(h, logins, ada, 'first')).status).toBe('SUCCEEDED')
    const believing = logins.server.guard!
    logins.server.guard = (request, response, body) => {
      if (accountOf(request.headers.authorization) !== 'ada') return believing(request, response, body)
      response.writeHead(401, { 'www-authenticate': 'Bearer error="invalid_token"' }).end()
      return true
    }
    const waits = await call(h, logins, ada, 'second')
    expect(waits).toMatchObject({
      status: 'AWAITING_APPROVAL',
      approval: { requirement: { loginOf: ada.keyId } },
    })
    expect((await call(h, logins, ada, 'third')).status).toBe('AWAITING_APPROVAL')
    logins.server.guard = believing
    await logIn(h, logins, ada)
    await expect.poll(() => statusOf(waits.id)).toBe('SUCCEEDED')
    await expect.poll(said).toEqual(['ada: first', 'ada: second', 'ada: third'])
  })

  test('a token that the server refuses before its time is renewed without the person', async () => {
    await logIn(h, logins, ada)
    expect((await call(h, logins, ada, 'first')).status).toBe('SUCCEEDED')
    const believing = logins.server.guard!
    const revoked = logins.calls[0]!.token
    // A token that was stored a moment ago is tried again and not renewed.
    const age = sql`update person_logins set updated_at = now() - interval '1 minute' where person = ${ada.keyId}`
    await query(h.app.services.db, age)
    logins.server.guard = (request, response, body) => {
      if (request.headers.authorization !== revoked) return believing(request, response, body)
      response.writeHead(401, { 'www-authenticate': 'Bearer error="invalid_token"' }).end()
      return true
    }
    try {
      expect(await call(h, logins, ada, 'second')).toMatchObject({ status: 'SUCCEEDED' })
    } finally {
      logins.server.guard = believing
    }
    expect(said()).toEqual(['ada: first', 'ada: second'])
  })

  test('the login that everybody shares only reads the lists; it never stands in for that of a person', async () => {
    const own = await openOwnLogins(h, { issuer: logins.issuer })
    try {
      logins.issuer.account = 'operator'
      await browse((await h.mutate('connectUpstream', { toolId: own.toolId }, 'url'))['url'])
      const actions =
        'query($id: ID!) { tool(id: $id) { ... on McpTool { login actions { action } upstream { loginCount } } } }'
      await expect
        .poll(async () => (await h.gql(actions, { id: own.toolId })).data['tool'])
        .toEqual({
          login: 'PER_PERSON',
          actions: [{ action: 'echo' }],
          upstream: { loginCount: 0 },
        })
      const caller = await addPerson(h, 'carol', { role: 'CALLER' })
      const waits = await call(h, own, caller, 'mine')
      expect(waits.status).toBe('AWAITING_APPROVAL')
      expect(own.calls).toEqual([])
      await logIn(h, own, caller)
      await expect.poll(() => statusOf(waits.id)).toBe('SUCCEEDED')
      expect(own.calls).toMatchObject([{ account: 'carol', message: 'mine' }])
    } finally {
      await own.close()
    }
  })

  test('an MCP client is told where to log in, and its repeat finds the call that ran', async () => {
    await logIn(h, logins, bob)
    const carol = await addPerson(h, 'carol', { role: 'CALLER' })
    const agent = await makeAgent(h, {
      name: `bridge_${ada.keyId.slice(-6)}`,
      toolIds: [logins.toolId],
      mcp: { enabled: true },
    })
    const name = (await h.gql('query($id: ID!) { tool(id: $id) { name } }', { id: logins.toolId })).data[
      'tool'
    ].name
    const ask = async () => {
      const response = await fetch(`${h.url}/mcp/${agent}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${carol.key}` },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: { name: `${name}_echo`, arguments: { message: 'bridge' } },
        }),
      })
      const text = await response.text()
      expect(text).toContain('"result"')
      return (JSON.parse(text) as { result: any }).result
    }
    const pending = await ask()
    expect(pending.structuredContent).toMatchObject({
      status: 'pending_approval',
      login_url: `${h.url}/approvals/${pending.structuredContent.approval_id}`,
    })
    expect(pending.content[0].text).toContain('has to log in at the server of the tool')
    await logIn(h, logins, carol)
    await expect.poll(() => statusOf(pending.structuredContent.call_id)).toBe('SUCCEEDED')
    expect((await ask()).content).toEqual([{ type: 'text', text: 'echoed' }])
    expect(said()).toEqual(['carol: bridge'])
  })

  test('a refusal of what the account may do names the account, and keeps the login', async () => {
    await logIn(h, logins, ada)
    const believing = logins.server.guard!
    logins.server.guard = async (request, response, body) => {
      if (!body.includes('"tools/call"')) return believing(request, response, body)
      response.writeHead(403).end()
      return true
    }
    try {
      const made = await call(h, logins, ada, 'x')
      expect(made).toMatchObject({ status: 'ERRORED', errorCode: 'http_error' })
      expect(made.content[0].text).toContain('account with which the person')
    } finally {
      logins.server.guard = believing
    }
    expect((await call(h, logins, ada, 'again')).status).toBe('SUCCEEDED')
  })

  test('two people share no session of a server with sessions, and a login again opens another one', async () => {
    const legacy = await startLegacy()
    try {
      const config = { mcp: { url: legacy.url, login: 'PER_PERSON' } }
      const { tool } = await h.mutate(
        'createTool',
        { name: `old_${ada.keyId.slice(-6)}`, config },
        'tool { id }',
      )
      // It asks for no token: what is said about its sessions does not depend on one.
      const connect = (person: Person, id: string) =>
        query(
          h.app.services.db,
          sql`insert into person_logins (id, upstream_id, project_id, person, connected_at)
            select ${id}, id, project_id, ${person.keyId}, now() from upstreams where id = ${tool.id}
            on conflict (upstream_id, person) do update set id = excluded.id`,
        )
      await connect(ada, 'first of ada')
      await connect(bob, 'first of bob')
      const before = legacy.opened()
      const use = async (person: Person) => {
        const input = { toolId: tool.id, action: 'one' }
        const made = await h.mutate('callTool', input, 'toolCall { status }', person.key)
        expect(made['toolCall']).toEqual({ status: 'SUCCEEDED' })
      }
      for (const person of [ada, bob, ada, bob]) await use(person)
      expect(legacy.opened() - before).toBe(2)
      await connect(ada, 'second of ada')
      await use(ada)
      await use(bob)
      expect(legacy.opened() - before).toBe(3)
    } finally {
      await legacy.close()
    }
  })

  test('a person who leaves while a call waits: no login that was begun counts, and the call never runs', async () => {
    await logIn(h, logins, bob)
    const waits = await call(h, logins, ada, 'gone')
    expect(waits.status).toBe('AWAITING_APPROVAL')
    const { url } = await h.mutate('logInToUpstream', { toolId: logins.toolId }, 'url', ada.key)
    const cookies: Jar = new Map()
    await openTab(h.url, cookies).signIn(ada.key)
    const goesOn = await confirmLogin(url, cookies)
    expect(goesOn).toContain(logins.issuer.issuer)
    await h.mutate('revokeApiKey', { id: ada.keyId }, 'apiKey { id }')
    logins.issuer.account = 'ada'
    expect((await browse(goesOn, {}, cookies)).text).toContain('This login has ended')
    const left = sql`select 1 from person_logins where person = ${ada.keyId}`
    expect(await query(h.app.services.db, left)).toEqual([])
    // What waits for others goes on, and this does not.
    const carol = await addPerson(h, 'carol')
    const stays = await call(h, logins, carol, 'stays')
    await logIn(h, logins, carol)
    await expect.poll(() => statusOf(stays.id)).toBe('SUCCEEDED')
    expect(await statusOf(waits.id)).toBe('AWAITING_APPROVAL')
    expect(said()).toEqual(['carol: stays'])
  })

  test('a login that ends in the middle of a run: its next call waits for another one', async () => {
    await logIn(h, logins, ada)
    const { run } = logins.server.tools.get('echo')!
    const name = (await h.gql('query($id: ID!) { tool(id: $id) { name } }', { id: logins.toolId })).data[
      'tool'
    ].name
    const agent = await makeAgent(h, { name: `middle_${ada.keyId.slice(-6)}`, toolIds: [logins.toolId] })
    const one = (message: string) => `call ${name}_echo {"message":"${message}"}\nthen\n`
    logins.server.tools.get('echo')!.run = async (args, context) => {
      if (args['message'] === 'before')
        await h.mutate('logOutOfUpstream', { toolId: logins.toolId }, 'tool { id }', ada.key)
      return run(args, context)
    }
    try {
      const prompt = `${one('before')}${one('after')}say done`
      const { generation } = await h.mutate(
        'startGeneration',
        { agentId: agent, prompt },
        'generation { id }',
        ada.key,
      )
      await h.until(generation.id, ['AWAITING_APPROVAL'])
      expect(said()).toEqual(['ada: before'])
      await logIn(other, logins, ada)
      await h.until(generation.id, ['COMPLETED'])
      expect(said()).toEqual(['ada: after', 'ada: before'])
    } finally {
      logins.server.tools.get('echo')!.run = run
    }
  })

  test('logins go with the key, with the person who logs out, and with the tool', async () => {
    const count = async () => {
      const [row] = await query<{ n: number }>(
        h.app.services.db,
        sql`select count(*)::int as n from person_logins where person in ${[ada.keyId, bob.keyId]}`,
      )
      return row!.n
    }
    const own = await openOwnLogins(h, { issuer: logins.issuer })
    await logIn(h, own, ada)
    await logIn(h, own, bob)
    expect(await count()).toBe(2)
    await h.mutate('logOutOfUpstream', { toolId: own.toolId }, 'tool { id }', ada.key)
    expect(await count()).toBe(1)
    expect((await call(h, own, ada, 'x')).status).toBe('AWAITING_APPROVAL')
    await h.mutate('revokeApiKey', { id: bob.keyId }, 'apiKey { id }')
    expect(await count()).toBe(0)
    await logIn(h, own, ada)
    expect(await count()).toBe(1)
    await h.mutate('deleteTool', { id: own.toolId }, 'tool { id }')
    expect(await count()).toBe(0)
    await own.close()
  })
})

describe.skipIf(!hasPeers)('a person of an identity provider', () => {
  test('logs in with the session of the page, and calls with that login', async () => {
    const port = await freePort()
    const h = await openHarness({ oidc: oidcAt(port) })
    const provider = await startIdentityProvider(port, [`${h.url}/session/callback`])
    const logins = await openOwnLogins(h)
    try {
      const tab = await signIn(h, provider, 'grace', undefined, 'caller')
      const run = async (name: string, input: object, fields: string) => {
        const type = name[0]!.toUpperCase() + name.slice(1)
        const document = `mutation($input: ${type}Input!) { ${name}(input: $input) { ${fields} } }`
        return (await tab.gql(document, { input })).data[name]
      }
      const logInThere = async () => {
        const fields = '... on LogInToUpstreamPayload { url }'
        const { url } = await run('logInToUpstream', { toolId: logins.toolId }, fields)
        logins.issuer.account = 'grace'
        return browse(url, {}, tab.cookies)
      }
      expect((await logInThere()).text).toContain('Connected')
      const input = { toolId: logins.toolId, action: 'echo', arguments: { message: 'mine' } }
      const fields =
        '... on ToolCallPayload { toolCall { status requester { kind } } } ... on Error { message }'
      await expect
        .poll(() => run('callTool', input, fields))
        .toEqual({
          toolCall: { status: 'SUCCEEDED', requester: { kind: 'PERSON' } },
        })
      expect(logins.calls).toMatchObject([{ account: 'grace', message: 'mine' }])
    } finally {
      await logins.close()
      await h.stop()
      await provider.close()
    }
  })
})

function accountOf(authorization = ''): string | null {
  const [, claims] = authorization.split('.')
  return claims ? (JSON.parse(Buffer.from(claims, 'base64url').toString()) as { sub: string }).sub : null
}
