/** Sessions of browsers: a key signs in, the cookie acts for it, and the session ends by itself, by hand or with its key. */
import { sql } from 'drizzle-orm'
import { createClient } from 'graphql-ws'
import { WebSocket } from 'ws'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { atomically, query } from '../../src/store/db/database.ts'
import { openTab, type Tab } from '../support/cookie-jar.ts'
import { databaseKinds } from '../support/databases.ts'
import { adminKey } from '../support/harness.ts'
import { openDeployment, type Deployment } from '../support/deployment.ts'

describe.each(databaseKinds)('on %s', (kind) => {
  let deployment: Deployment
  /** The replica that signs in, and the one that is asked. */
  let first: string
  let other: string
  beforeAll(async () => {
    deployment = await openDeployment(kind)
    first = deployment.replicas[0]!.url
    other = deployment.replicas.at(-1)!.url
  })
  afterAll(() => deployment?.close())

  const newKey = async (input: object = {}) => {
    const made = await deployment.replicas[0]!.mutate(
      'createApiKey',
      { name: 'reviewer', role: 'APPROVER', ...input },
      'apiKey { id } secret',
    )
    return { id: made['apiKey'].id as string, secret: made['secret'] as string }
  }
  const signedIn = async (secret: string): Promise<{ tab: Tab; elsewhere: Tab }> => {
    const tab = openTab(first)
    expect(await tab.signIn(secret)).toBe(201)
    return { tab, elsewhere: openTab(other, tab.cookies) }
  }
  const viewer = '{ viewer { id name kind role votes session { id isCurrent method } } }'
  const codeOf = (answer: any) => answer.errors?.[0]?.extensions?.code ?? null

  test('a key signs in once, and the cookie acts for it on every replica', async () => {
    const key = await newKey()
    const { tab, elsewhere } = await signedIn(key.secret)
    const { data } = await elsewhere.gql(viewer)
    expect(data.viewer).toMatchObject({
      id: key.id,
      name: 'reviewer',
      kind: 'API_KEY',
      role: 'APPROVER',
      votes: true,
      session: { isCurrent: true, method: 'KEY' },
    })
    const shown = await tab.fetch('/session')
    expect([shown.status, shown.headers.get('cache-control')]).toEqual([200, 'no-store'])
    expect(await shown.json()).toMatchObject({
      id: key.id,
      kind: 'API_KEY',
      role: 'approver',
      project: { name: 'Default' },
      session: { id: data.viewer.session.id },
      methods: ['key'],
    })
  })

  test('the cookie cannot be read by scripts, goes to no other site, and its token is not stored', async () => {
    const key = await newKey()
    const response = await openTab(first).fetch('/session', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ key: key.secret }),
    })
    const cookie = response.headers.get('set-cookie')!
    expect(cookie).toMatch(/^gatehouse=ghs_[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict$/)
    const token = /=(ghs_[^;]+)/.exec(cookie)![1]!
    expect(JSON.stringify(await deployment.rows('select * from sessions'))).not.toContain(token)
    expect(await response.text()).not.toContain(token)
  })

  test.skipIf(kind === 'PGlite')('a session that ends while it is looked up is not remembered', async () => {
    const key = await newKey()
    const { tab } = await signedIn(key.secret)
    const { db, pubsub } = deployment.replicas[0]!.app.services
    // Then its use is written, which waits for the row.
    await deployment.rows(`update sessions set used_at = now() - interval '1 hour'`)
    const asking = await atomically(db, async (tx) => {
      await query(tx, sql`delete from sessions where principal_id = ${key.id}`)
      const asked = tab.gql(viewer)
      const waiting = `select 1 as n from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`
      await expect.poll(() => deployment.rows(waiting)).toEqual([{ n: 1 }])
      pubsub.publish([{ kind: 'signal', name: 'revoked', id: key.id }])
      return { asked }
    })
    await asking.asked
    expect(codeOf(await tab.gql(viewer))).toBe('UNAUTHENTICATED')
  })

  test('a session that is ended is over on every replica at once, and so are its sockets', async () => {
    const key = await newKey()
    const { tab, elsewhere } = await signedIn(key.secret)
    expect((await elsewhere.gql('{ viewer { id } }')).status).toBe(200)
    const closed = socketEnd(other, tab)
    await closed.open
    expect((await tab.fetch('/session', { method: 'DELETE' })).status).toBe(204)
    expect(await closed.code).toBe(4403)
    expect(tab.cookies.size).toBe(0)
    const old = openTab(other, new Map([['gatehouse', closed.token]]))
    const refused = await old.gql('{ viewer { id } }')
    expect([refused.status, codeOf(refused)]).toEqual([401, 'UNAUTHENTICATED'])
    expect(await (await old.fetch('/session')).json()).toMatchObject({ session: null })
    // Signing out again changes nothing.
    expect((await old.fetch('/session', { method: 'DELETE' })).status).toBe(204)
  })

  test('a session ends with its key, and so do its sockets', async () => {
    const key = await newKey()
    const { tab } = await signedIn(key.secret)
    const closed = socketEnd(other, tab)
    await closed.open
    await deployment.replicas[0]!.mutate('revokeApiKey', { id: key.id }, 'apiKey { id }')
    expect(await closed.code).toBe(4403)
    expect((await openTab(other, tab.cookies).gql('{ viewer { id } }')).status).toBe(401)
    expect(await deployment.rows(`select 1 from sessions where principal_id = '${key.id}'`)).toEqual([])
  })

  test('a socket closes when its session was not used for too long, although no hint was sent', async () => {
    const key = await newKey()
    const { tab } = await signedIn(key.secret)
    const closed = socketEnd(other, tab)
    await closed.open
    await deployment.rows(`update sessions set expires_at = now() where principal_id = '${key.id}'`)
    expect(await closed.code).toBe(4403)
  })

  test('a use extends a session, at most every five minutes and never beyond its end', async () => {
    const key = await newKey()
    const { tab } = await signedIn(key.secret)
    const times = async () => {
      const [row] = await deployment.rows<{ left: number; used: number }>(
        `select extract(epoch from expires_at - now())::float8 as left,
          extract(epoch from now() - used_at)::float8 as used
        from sessions where principal_id = '${key.id}'`,
      )
      return row!
    }
    const set = (text: string) =>
      deployment.rows(`update sessions set ${text} where principal_id = '${key.id}'`)
    const useAfterCache = async () => {
      // As after the five seconds for which a session is cached.
      for (const { app } of deployment.replicas)
        app.services.pubsub.publish([{ kind: 'signal', name: 'revoked', id: 'nobody' }])
      await new Promise((resolve) => setImmediate(resolve))
      expect((await tab.gql('{ viewer { id } }')).status).toBe(200)
    }
    await set(`used_at = now() - interval '4 minutes', expires_at = now() + interval '1 hour'`)
    await useAfterCache()
    expect((await times()).left).toBeLessThan(3601)
    await set(`used_at = now() - interval '6 minutes'`)
    await useAfterCache()
    expect((await times()).left).toBeGreaterThan(12 * 3600 - 30)
    expect((await times()).used).toBeLessThan(30)
    await set(`used_at = now() - interval '6 minutes', ends_at = now() + interval '30 minutes'`)
    await useAfterCache()
    expect((await times()).left).toBeLessThan(1801)
  })

  test('a session of a key that expires ends no later than the key', async () => {
    const key = await newKey({ expiresAt: new Date(Date.now() + 3_600_000) })
    const { tab } = await signedIn(key.secret)
    const { session } = (await (await tab.fetch('/session')).json()) as any
    expect(Date.parse(session.endsAt)).toBeLessThanOrEqual(Date.now() + 3_605_000)
    expect(session.expiresAt).toBe(session.endsAt)
  })

  test('each sign-in has a new token and ends the session that the browser had', async () => {
    const key = await newKey()
    const { tab } = await signedIn(key.secret)
    const planted = tab.cookies.get('gatehouse')!
    expect(await tab.signIn(key.secret)).toBe(201)
    expect(tab.cookies.get('gatehouse')).not.toBe(planted)
    expect((await openTab(first, new Map([['gatehouse', planted]])).gql('{ viewer { id } }')).status).toBe(
      401,
    )
    expect((await tab.gql('{ viewer { id } }')).status).toBe(200)
  })

  test('signing out everywhere ends every session of the caller and of nobody else', async () => {
    const [key, bystander] = [await newKey(), await newKey()]
    const tabs = [await signedIn(key.secret), await signedIn(key.secret), await signedIn(key.secret)]
    const kept = await signedIn(bystander.secret)
    const { data } = await tabs[0]!.tab.gql('{ viewer { sessions { id isCurrent userAgent } } }')
    expect(data.viewer.sessions.map((one: any) => one.isCurrent).toSorted()).toEqual([false, false, true])
    const ended = await tabs[0]!.tab.gql(
      `mutation($id: ID!) { endSessions(input: {principalId: $id, keepCurrent: true})
        { ... on EndSessionsPayload { sessions { id } } } }`,
      { id: key.id },
    )
    expect(ended.data.endSessions.sessions).toHaveLength(2)
    const statuses = async () =>
      Promise.all(tabs.map(async ({ elsewhere }) => (await elsewhere.gql('{ viewer { id } }')).status))
    expect(await statuses()).toEqual([200, 401, 401])
    expect((await tabs[0]!.tab.fetch('/session?everywhere=true', { method: 'DELETE' })).status).toBe(204)
    expect(await statuses()).toEqual([401, 401, 401])
    expect((await kept.tab.gql('{ viewer { id } }')).status).toBe(200)
  })

  test('an admin sees and ends the sessions of others, and an approver does not', async () => {
    const [admin, approver] = [await newKey({ role: 'ADMIN' }), await newKey()]
    const { tab: theirs } = await signedIn(approver.secret)
    const { tab } = await signedIn(admin.secret)
    const list = `query($of: ID) { sessions(principalId: $of) { nodes { id principalId } } }`
    const { data } = await tab.gql(list, { of: approver.id })
    expect(data.sessions.nodes).toEqual([{ id: expect.stringMatching(/^ses_/), principalId: approver.id }])
    const end = `mutation($id: ID!) { endSessions(input: {id: $id}) { __typename ... on EndSessionsPayload { sessions { id } } } }`
    const mine = (await tab.gql('{ viewer { session { id } } }')).data.viewer.session.id
    const refused = await theirs.gql(end, { id: mine })
    expect(refused.errors[0].extensions).toEqual({ code: 'FORBIDDEN', action: 'sessions:End' })
    const both = await tab.gql(
      `mutation($id: ID!) { endSessions(input: {id: $id, keepCurrent: true}) { ... on ValidationError { issues { path } } } }`,
      { id: mine },
    )
    expect(both.data.endSessions.issues).toEqual([{ path: ['input', 'keepCurrent'] }])
    const ended = await tab.gql(end, { id: data.sessions.nodes[0].id })
    expect(ended.data.endSessions.sessions).toEqual([{ id: data.sessions.nodes[0].id }])
    expect((await theirs.gql('{ viewer { id } }')).status).toBe(401)
    const again = await tab.gql(end, { id: data.sessions.nodes[0].id })
    expect(again.data.endSessions.__typename).toBe('NotFoundError')
  })

  test('beyond fifty sessions of one key, the one that was unused longest ends', async () => {
    const key = await newKey()
    const { tab: oldest } = await signedIn(key.secret)
    await deployment.rows(
      `update sessions set used_at = now() - interval '1 minute' where principal_id = '${key.id}'`,
    )
    for (let i = 0; i < 50; i++) await signedIn(key.secret)
    const [{ count }] = (await deployment.rows(
      `select count(*)::int as count from sessions where principal_id = '${key.id}'`,
    )) as [{ count: number }]
    expect(count).toBe(50)
    expect((await oldest.gql('{ viewer { id } }')).status).toBe(401)
  })

  test('signing in and out is audited, and a verdict is the principal’s', async () => {
    const key = await newKey()
    const { tab } = await signedIn(key.secret)
    const { toolId } = await deployment.payer({ mode: 'ALWAYS' })
    const called = await deployment.replicas[0]!.mutate(
      'callTool',
      { toolId, arguments: { n: 'a' } },
      'toolCall { approval { id } }',
    )
    const decided = await tab.gql(
      `mutation($id: ID!) { decideApproval(input: {approvalId: $id, verdict: APPROVE})
        { ... on ApprovalPayload { approval { status votes { by } } } ... on Error { message } } }`,
      { id: called['toolCall'].approval.id },
    )
    expect(decided.data.decideApproval.approval).toEqual({ status: 'APPROVED', votes: [{ by: key.id }] })
    await tab.fetch('/session', { method: 'DELETE' })
    const rows = await deployment.rows(
      `select action, details->>'method' as method from audit_entries
        where principal_id = '${key.id}' and action like 'sessions:%' order by created_at`,
    )
    expect(rows).toEqual([
      { action: 'sessions:Start', method: 'KEY' },
      { action: 'sessions:End', method: null },
    ])
  })

  test('a verdict of a session that ended while it was on its way does not count', async () => {
    const key = await newKey()
    const { tab } = await signedIn(key.secret)
    // Known to the cache of this replica, whose row is gone.
    expect((await tab.gql('{ viewer { id } }')).status).toBe(200)
    await deployment.rows(`delete from sessions where principal_id = '${key.id}'`)
    const { toolId } = await deployment.payer({ mode: 'ALWAYS' })
    const called = await deployment.replicas[0]!.mutate(
      'callTool',
      { toolId, arguments: { n: 'a' } },
      'toolCall { approval { id } }',
    )
    const decided = await tab.gql(
      `mutation($id: ID!) { decideApproval(input: {approvalId: $id, verdict: APPROVE}) { __typename } }`,
      { id: called['toolCall'].approval.id },
    )
    expect(codeOf(decided)).toBe('UNAUTHENTICATED')
    const [{ status }] = (await deployment.rows(
      `select status from approvals where id = '${called['toolCall'].approval.id}'`,
    )) as [{ status: string }]
    expect(status).toBe('PENDING')
  })

  test('housekeeping deletes what has expired and nothing else', async () => {
    const { forgetExpiredSessions } = await import('../../src/domain/access/index.ts')
    const [old, live] = [await newKey(), await newKey()]
    await signedIn(old.secret)
    await signedIn(live.secret)
    await deployment.rows(
      `update sessions set expires_at = now() - interval '1 second' where principal_id = '${old.id}'`,
    )
    const { db } = deployment.replicas[0]!.app.services
    await forgetExpiredSessions(db)
    const rows = await query<{ id: string }>(
      db,
      sql`select principal_id as id from sessions where principal_id in (${old.id}, ${live.id})`,
    )
    expect(rows).toEqual([{ id: live.id }])
  })

  test('a key without sessions:Start, and one that is bound to an agent, do not sign in', async () => {
    const allow = (action: string[]) => ({ statement: [{ effect: 'Allow', action, resource: ['*'] }] })
    const weak = await newKey({ role: null, policy: allow(['tools:Get']) })
    const agentId = await deployment.fixtures.agent()
    const bound = await newKey({ role: 'ADMIN', agentId })
    for (const { secret } of [weak, bound]) expect(await openTab(first).signIn(secret)).toBe(403)
    expect(await openTab(first).signIn(adminKey)).toBe(201)
  })

  test('a page acts in the name of the person that it shows, or of nobody, over HTTP and sockets', async () => {
    const [shown, another] = [await newKey(), await newKey()]
    const { tab } = await signedIn(another.secret)
    const asked = (id: string) => tab.gql(viewer, {}, { headers: { 'gatehouse-principal': id } })
    expect(codeOf(await asked(shown.id))).toBe('UNAUTHENTICATED')
    expect((await asked(another.id)).data.viewer.id).toBe(another.id)
    expect(await socketEnd(first, tab, { principal: shown.id }).code).toBe(4403)
    const own = socketEnd(first, tab, { principal: another.id })
    await own.open
    await tab.fetch('/session', { method: 'DELETE' })
    await own.code
  })

  /** A socket with the cookies of a tab and a subscription on it: resolves with its close code. */
  function socketEnd(url: string, tab: Tab, connectionParams: Record<string, unknown> = {}) {
    const token = tab.cookies.get('gatehouse')!
    class WithCookie extends WebSocket {
      constructor(address: string, protocols: string) {
        super(address, protocols, { headers: { cookie: `gatehouse=${token}`, origin: url } })
      }
    }
    let opened: () => void
    const open = new Promise<void>((resolve) => (opened = resolve))
    const code = new Promise<number>((resolve) => {
      const client = createClient({
        url: `${url.replace('http', 'ws')}/graphql`,
        webSocketImpl: WithCookie,
        connectionParams,
        retryAttempts: 0,
        lazy: false,
        onNonLazyError: () => {},
        on: { connected: () => opened(), closed: (event) => resolve((event as { code: number }).code) },
      })
      client.subscribe(
        { query: 'subscription { projectEvents { cursor } }' },
        {
          next: () => {},
          error: () => {},
          complete: () => {},
        },
      )
    })
    return { open, code, token }
  }
})
