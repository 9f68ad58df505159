/** Invitations that people join with their accounts: one person each, in the browser that typed the code, until the key ends. */
import type { JWTPayload } from 'jose'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { accountOf } from '../../src/domain/sign-in/oidc.ts'
import { hasPostgres } from '../support/databases.ts'
import { openTab, type Tab } from '../support/cookie-jar.ts'
import { openDeployment, type Deployment } from '../support/deployment.ts'
import { adminKey, type Harness } from '../support/harness.ts'
import {
  atProvider,
  oidcAt,
  startIdentityProvider,
  type IdentityProvider,
} from '../support/identity-provider.ts'
import { describeWithPeers } from '../support/peers.ts'
import { freePort } from '../support/upstream-servers.ts'

const who = '{ viewer { id name role project { id } session { method endsAt } } }'

describeWithPeers('with an identity provider', () => {
  let deployment: Deployment
  let provider: IdentityProvider
  let h: Harness
  let other: Harness
  beforeAll(async () => {
    const port = await freePort()
    const kind = hasPostgres ? 'PostgreSQL' : 'PGlite'
    deployment = await openDeployment(kind, { oidc: oidcAt(port), trustedProxies: ['127.0.0.1/32'] })
    h = deployment.replicas[0]!
    other = deployment.replicas.at(-1)!
    const back = deployment.replicas.map(({ url }) => `${url}/session/callback`)
    provider = await startIdentityProvider(port, back)
  })
  afterAll(async () => {
    await deployment?.close()
    await provider?.close()
  })
  let people = 0
  beforeEach(() => {
    people += 1
    be(`person-${people}`)
  })
  /** Who logs in at the provider from now on. */
  const be = (sub: string, claims: Record<string, unknown> = { name: `Name of ${sub}` }) => {
    provider.person = { sub, claims }
  }

  const rows = (text: string) => deployment.rows(text)
  const invite = async (more: object = {}, by = adminKey) => {
    const input = { name: 'Ann', role: 'APPROVER', ...more }
    const shown = 'link oneTimeCode apiKey { id }'
    const made: any = await h.mutate('createInvitation', input, shown, by)
    return {
      path: made.link.slice(h.url.length) as string,
      code: made.oneTimeCode as string,
      id: made.apiKey.id as string,
    }
  }
  type Made = Awaited<ReturnType<typeof invite>>
  const post = (
    tab: Tab,
    { path, code }: Pick<Made, 'path' | 'code'>,
    fields: Record<string, string> = { by: 'account' },
  ) =>
    tab.fetch(path, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ code, ...fields }).toString(),
    })
  /** Types the code and logs in at the provider; returns the path of the callback, which is not opened yet. */
  const begun = async (tab: Tab, made: Made, url = h.url) => {
    const sent = await post(tab, made)
    expect(sent.status).toBe(303)
    return atProvider(sent.headers.get('location')!, url)
  }
  const open = (tab: Tab, path: string) => tab.fetch(path, { origin: null })
  const join = async (made: Made) => {
    const tab = openTab(h.url)
    const done = await open(tab, await begun(tab, made))
    expect([done.status, done.headers.get('location')]).toEqual([303, '/'])
    return tab
  }
  const signIn = async (query = '') => {
    const tab = openTab(h.url)
    const location = (await open(tab, `/session/login${query}`)).headers.get('location')!
    const done = await open(tab, await atProvider(location, h.url))
    return { tab, done }
  }
  const viewer = async (tab: Tab) => (await tab.gql(who)).data?.viewer
  const keyOf = async (id: string) =>
    (
      await h.gql(
        `{ node(id: "${id}") { ... on ApiKey { invitedUntil joinedBy { id kind name } lastUsedAt } } }`,
      )
    ).data['node']
  const isOpen = async (id: string) => {
    const key = await keyOf(id)
    return key.invitedUntil !== null && key.joinedBy === null
  }

  test('an account joins, has the role and the end of the key, and signs in with it from then on', async () => {
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
    const made = await invite({ expiresAt })
    const tab = await join(made)
    const seen = await viewer(tab)
    expect(seen).toMatchObject({ id: made.id, name: 'Ann', role: 'APPROVER', session: { method: 'OIDC' } })
    expect(new Date(seen.session.endsAt).toISOString()).toBe(expiresAt)
    expect(await keyOf(made.id)).toMatchObject({
      invitedUntil: null,
      joinedBy: { id: expect.stringMatching(/^usr_/), kind: 'PERSON', name: `Name of person-${people}` },
    })
    const later = await signIn('?to=/runs')
    expect(later.done.headers.get('location')).toBe('/runs')
    expect((await viewer(later.tab)).id).toBe(made.id)
    const events = await rows(
      `select 1 from events where type = 'API_KEY_ACCEPTED' and data->>'apiKeyId' = '${made.id}'`,
    )
    expect(events).toHaveLength(1)
    const audit = await rows(
      `select principal_id as by, details->>'invitation' as what, details->>'joinedBy' as joined from audit_entries
        where resource = 'key/${made.id}' and action = 'keys:Create' order by created_at`,
    )
    expect(audit).toMatchObject([
      { what: 'sent', joined: null },
      { what: 'accepted', by: made.id, joined: expect.stringMatching(/^usr_/) },
    ])
    const again = await post(openTab(h.url), made)
    expect([again.status, await again.text()]).toEqual([
      409,
      expect.stringContaining('sign in with your account'),
    ])
  })

  test('of two people at once, on two replicas, one joins and the other is told', async () => {
    const made = await invite()
    const tabs = [openTab(h.url), openTab(other.url)] as const
    const paths: string[] = []
    for (const [i, tab] of tabs.entries()) {
      be(`rival-${i}`, {})
      paths.push(await begun(tab, made, i === 0 ? h.url : other.url))
    }
    const answers = await Promise.all(tabs.map((tab, i) => open(tab, paths[i]!)))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([303, 409])
    const late = answers.find(({ status }) => status === 409)!
    expect(await late.text()).toContain('was accepted already')
    const signedIn = await Promise.all(tabs.map(viewer))
    expect(signedIn.filter(Boolean)).toMatchObject([{ id: made.id }])
    expect((await rows(`select 1 from sessions where principal_id = '${made.id}'`)).length).toBe(1)
  })

  test('of a person who joins and one who makes a key at once, one has it', async () => {
    const made = await invite()
    const tab = openTab(h.url)
    const path = await begun(tab, made)
    const answers = await Promise.all([open(tab, path), post(openTab(other.url), made, {})])
    expect(answers.map(({ status }) => status).filter((status) => status === 409)).toHaveLength(1)
    const secret = /gh_[A-Za-z0-9_-]{43}/.exec(await answers[1].text())?.[0]
    expect([secret !== undefined, (await viewer(tab)) !== undefined].filter(Boolean)).toHaveLength(1)
  })

  test('opening the link, beginning to join, and leaving changes nothing and takes no try', async () => {
    const made = await invite()
    for (const method of ['GET', 'HEAD'])
      expect((await fetch(h.url + made.path, { method })).status).toBe(200)
    const page = await (await fetch(h.url + made.path)).text()
    expect(page).toContain('Join with your account')
    expect(page).not.toContain(made.id)
    for (let i = 0; i < 7; i++) expect((await post(openTab(h.url), made)).status).toBe(303)
    const wrong = await post(openTab(h.url), { ...made, code: 'WRONG' })
    expect([wrong.status, wrong.headers.get('location')]).toEqual([400, null])
    const foreign = await openTab(h.url).fetch(made.path, {
      method: 'POST',
      origin: 'https://evil.example',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ code: made.code, by: 'account' }).toString(),
    })
    expect([foreign.status, foreign.headers.get('location')]).toEqual([400, null])
    expect(await isOpen(made.id)).toBe(true)
    await join(made)
  })

  test('another browser cannot end what one began, and another invitation cannot be put in its place', async () => {
    const [mine, theirs] = [await invite(), await invite()]
    const [mallory, alice] = [openTab(h.url), openTab(h.url)]
    const path = await begun(mallory, mine)
    expect((await open(alice, path)).status).toBe(410)
    await begun(alice, theirs)
    expect((await open(alice, path)).status).toBe(410)
    const name = 'gatehouse_sign_in'
    const [time, random] = mallory.cookies.get(name)!.split('.')
    const goal = Buffer.from(JSON.stringify({ goTo: '/', invitation: theirs.id })).toString('base64url')
    const forged = openTab(h.url, new Map([[name, `${time}.${random}.${goal}`]]))
    expect((await open(forged, path)).status).toBe(410)
    expect([await isOpen(mine.id), await isOpen(theirs.id)]).toEqual([true, true])
    expect((await open(mallory, path)).status).toBe(303)
  })

  test('what ended while the person was at the provider gives nothing, and says why', async () => {
    const inviter = await h.mutate('createApiKey', { name: 'i', role: 'ADMIN' }, 'secret apiKey { id }')
    const end = (id: string) => h.mutate('revokeApiKey', { id }, 'apiKey { id }')
    const cases: [Made, string, (made: Made) => Promise<unknown>][] = [
      [await invite(), 'was withdrawn', ({ id }) => end(id)],
      [await invite({}, inviter['secret']), 'was withdrawn', () => end(inviter['apiKey'].id)],
      [
        await invite(),
        'has ended',
        ({ id }) => rows(`update api_keys set invited_until = now() where id = '${id}'`),
      ],
      [
        await invite(),
        'has ended',
        ({ id }) => rows(`update api_keys set expires_at = now() where id = '${id}'`),
      ],
    ]
    for (const [made, words, meanwhile] of cases) {
      const tab = openTab(h.url)
      const path = await begun(tab, made)
      await meanwhile(made)
      const done = await open(tab, path)
      expect([done.status, await done.text()]).toEqual([409, expect.stringContaining(words)])
      expect(tab.cookies.has('gatehouse')).toBe(false)
      expect((await keyOf(made.id)).joinedBy).toBeNull()
      expect((await post(openTab(h.url), made)).status).toBe(409)
    }
    expect((await signIn()).done.status).toBe(403)
  })

  test('claims that name a project win: such an account does not join, and signs in by its claims', async () => {
    const { id: projectId } = (await h.gql('{ viewer { project { id } } }')).data['viewer'].project
    const sub = `person-${people}`
    const first = await invite()
    await join(first)
    be(sub, { gatehouse_project: projectId, gatehouse_role: 'viewer' })
    const made = await invite()
    const tab = openTab(h.url)
    const refused = await open(tab, await begun(tab, made))
    expect([refused.status, await refused.text()]).toEqual([
      403,
      expect.stringContaining('gatehouse_project'),
    ])
    expect(await isOpen(made.id)).toBe(true)
    expect(await viewer((await signIn()).tab)).toMatchObject({
      id: (await keyOf(first.id)).joinedBy.id,
      role: 'VIEWER',
    })
    be(sub, { gatehouse_project: 'proj_none' })
    expect((await signIn()).done.status).toBe(403)
  })

  test.each([{}, { sub: '' }, { sub: ' ' }, { sub: 7 }, { sub: 'x'.repeat(256) }])(
    'claims with %j are no account',
    (claims) => expect(accountOf(oidcAt(1), claims as JWTPayload)).toBeNull(),
  )

  test('an account without a usable subject joins nothing', async () => {
    be(' ', {})
    const made = await invite()
    const tab = openTab(h.url)
    const done = await open(tab, await begun(tab, made))
    expect(done.status).toBeGreaterThanOrEqual(400)
    expect([await isOpen(made.id), tab.cookies.has('gatehouse')]).toEqual([true, false])
  })

  test('who has joined two projects chooses at each sign-in, and reaches both', async () => {
    const { project } = await h.mutate('createProject', { name: 'The <b>second</b>' }, 'project { id }')
    const one = await invite()
    const two = await invite({ projectId: project.id, role: 'VIEWER' })
    await join(one)
    expect((await viewer(await join(two))).project.id).toBe(project.id)
    const asked = await signIn('?to=/runs')
    const page = await asked.done.text()
    expect([asked.done.status, asked.tab.cookies.size]).toEqual([200, 0])
    expect(page).toContain('The &lt;b&gt;second&lt;/b&gt;')
    const links = [...page.matchAll(/href="(\/session\/login\?[^"]+)"/g)].map(([, path]) =>
      path!.replaceAll('&amp;', '&'),
    )
    const seen: any[] = []
    for (const path of links) {
      const chosen = await signIn(path.slice('/session/login'.length))
      expect(chosen.done.headers.get('location')).toBe('/runs')
      seen.push(await viewer(chosen.tab))
    }
    expect(seen).toMatchObject([
      { id: one.id, role: 'APPROVER' },
      { id: two.id, role: 'VIEWER', project: { id: project.id } },
    ])
    be('stranger', {})
    expect((await signIn(`?as=${one.id}`)).done.status).toBe(403)
  })

  test.each(['the key', 'the key of the inviter'])(
    'a revocation of %s ends the sessions and the sign-in',
    async (which) => {
      const inviter = await h.mutate('createApiKey', { name: 'i', role: 'ADMIN' }, 'secret apiKey { id }')
      const made = await invite({}, inviter['secret'])
      const tab = await join(made)
      const id = which === 'the key' ? made.id : inviter['apiKey'].id
      await h.mutate('revokeApiKey', { id }, 'apiKey { id }')
      expect((await tab.gql(who)).errors[0].extensions.code).toBe('UNAUTHENTICATED')
      expect((await signIn()).done.status).toBe(403)
    },
  )

  test('the end of the key ends its sign-in', async () => {
    const made = await invite()
    await join(made)
    await rows(`update api_keys set expires_at = now() where id = '${made.id}'`)
    expect((await signIn()).done.status).toBe(403)
  })

  /** Votes of these callers on one question of three people: the codes of what was refused, null for a vote that counted. */
  const votes = async (tabs: (Tab | string)[]) => {
    const gate = { autoApprove: false, quorum: 3 }
    const { toolId } = await deployment.payer(gate)
    const called = await h.mutate(
      'callTool',
      { toolId, arguments: { n: '1' } },
      'toolCall { approval { id } }',
    )
    const id = called['toolCall'].approval.id
    const text = `mutation($id: ID!) { decideApproval(input: {approvalId: $id, verdict: APPROVE}) {
      __typename ... on Error { code } } }`
    const codes: (string | null)[] = []
    for (const tab of tabs) {
      const { data } = typeof tab === 'string' ? await h.gql(text, { id }, tab) : await tab.gql(text, { id })
      codes.push(data.decideApproval.code ?? null)
    }
    return codes
  }

  test('who was invited by an operator is a person of their own, the same by another invitation and by claims', async () => {
    const { id: projectId } = (await h.gql('{ viewer { project { id } } }')).data['viewer'].project
    const sub = `person-${people}`
    const [first, second] = [await join(await invite()), await join(await invite())]
    be(sub, { gatehouse_project: projectId, gatehouse_role: 'approver' })
    const claimed = (await signIn()).tab
    be('somebody else')
    const colleague = await join(await invite())
    expect(await votes([first, second, claimed, colleague, adminKey])).toEqual([
      null,
      'CONFLICT',
      'CONFLICT',
      null,
      null,
    ])
  })

  test('who joins by an invitation of their own account counts once, and who a known person invites by themselves', async () => {
    const { id: projectId } = (await h.gql('{ viewer { project { id } } }')).data['viewer'].project
    const sub = `person-${people}`
    be(sub, { gatehouse_project: projectId, gatehouse_role: 'admin' })
    const admin = (await signIn()).tab
    const inviteAs = async () => {
      const { data } = await admin.gql(
        `mutation { createInvitation(input: {name: "x", role: APPROVER}) { ... on CreateInvitationPayload {
          link oneTimeCode apiKey { id } } } }`,
      )
      const { link, oneTimeCode, apiKey } = data.createInvitation
      return { path: link.slice(h.url.length), code: oneTimeCode, id: apiKey.id }
    }
    be(sub, {})
    const own = await join(await inviteAs())
    be(`friend of ${sub}`)
    const friend = await join(await inviteAs())
    expect(await votes([admin, own, friend])).toEqual([null, 'CONFLICT', null])
  })

  test('of a key that nobody vouches for, the holder and who joins by its invitation count once', async () => {
    const key = (name: string, by = adminKey) =>
      h.mutate('createApiKey', { name, role: 'ADMIN' }, 'secret', by).then(({ secret }) => secret as string)
    const project = await key('given to a colleague')
    const made = await key('made with it', project)
    const joined = await join(await invite({}, made))
    expect(await votes([project, joined, made])).toEqual([null, 'CONFLICT', 'CONFLICT'])
  })
})
