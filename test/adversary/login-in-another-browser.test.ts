/** A login belongs to the browser that confirmed it: a link sent to another person attaches no account. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  protect,
  startAuthorizationServer,
  type AuthorizationServer,
} from '../support/authorization-server.ts'
import { browse, confirmLogin, type Jar } from '../support/browser.ts'
import { openHarness, type Harness } from '../support/harness.ts'
import { hasPeers } from '../support/peers.ts'
import { startModern, type ModernServer } from '../support/upstream-servers.ts'

let h: Harness
let issuer: AuthorizationServer
let server: ModernServer
let toolId: string
let key: string
/** The link of a login that another principal started. */
let link: string

beforeAll(async () => {
  h = await openHarness()
  issuer = await startAuthorizationServer(`${h.url}/oauth/callback`)
  server = await startModern()
  protect(server, issuer.issuer)
  const { project } = await h.mutate(
    'createProject',
    { name: '<img src=x onerror=alert(1)>\u202eproject' },
    'project { id }',
  )
  const input = { projectId: project.id, name: 'Mallory & "Co"', role: 'ADMIN' }
  key = (await h.mutate('createApiKey', input, 'secret'))['secret']
  const config = { mcp: { url: server.url } }
  toolId = (await h.mutate('createTool', { name: 'mailbox', config }, 'tool { id }', key))['tool'].id
})
beforeEach(async () => {
  issuer.requests.length = 0
  link = (await h.mutate('connectUpstream', { toolId }, 'url', key))['url']
})
afterAll(async () => {
  await h?.stop()
  await server?.kill()
  await issuer?.close()
})

const statusOf = async () => {
  const { data } = await h.gql(
    'query($id: ID!) { tool(id: $id) { ... on McpTool { upstream { status } } } }',
    { id: toolId },
    key,
  )
  return data['tool'].upstream.status
}
const tokensAsked = () => issuer.requests.filter((line) => line === 'POST /token')
const post = (fields: Record<string, string>, headers: Record<string, string> = {}) =>
  fetch(`${h.url}/oauth/login`, {
    method: 'POST',
    redirect: 'manual',
    headers,
    body: new URLSearchParams(fields),
  })
const stateOf = (url: string) => new URL(url).searchParams.get('state')!

describe.skipIf(!hasPeers)('the page of a login', () => {
  test('names tool, project, principal and target host, all escaped', async () => {
    const response = await fetch(link)
    const html = await response.text()
    expect(response.status).toBe(200)
    expect(html).toContain('<dd>mailbox</dd>')
    expect(html).toContain('<dd>Mallory &amp; &quot;Co&quot;</dd>')
    expect(html).toContain('<dd>&lt;img src=x onerror=alert(1)&gt; project</dd>')
    expect(html).toContain(`<dd>${new URL(issuer.issuer).host}</dd>`)
    expect(html).not.toContain('\u202e')
    expect(response.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    expect(response.headers.get('cache-control')).toBe('no-store')
  })

  test('sets a cookie that no script reads and no other site sends', async () => {
    const [cookie] = (await fetch(link)).headers.getSetCookie()
    expect(cookie).toMatch(/^gatehouse_login=[\w-]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/)
    const secure = await openHarness({ publicUrl: 'https://gate.example.com' })
    try {
      const { tool } = await secure.mutate(
        'createTool',
        { name: 'mailbox', config: { mcp: { url: server.url } } },
        'tool { id }',
      )
      const { url } = await secure.mutate('connectUpstream', { toolId: tool.id }, 'url')
      const page = await fetch(url.replace('https://gate.example.com', secure.url))
      expect(page.headers.getSetCookie()[0]).toMatch(
        /^__Host-gatehouse_login=[\w-]{43}; Path=\/; .*; HttpOnly; SameSite=Lax; Secure$/,
      )
    } finally {
      await secure.stop()
    }
  })

  test('redirects nobody before it is confirmed, and reveals nothing about an unknown login', async () => {
    expect((await fetch(link, { redirect: 'manual' })).headers.get('location')).toBeNull()
    expect((await fetch(link, { method: 'HEAD' })).headers.getSetCookie()).toEqual([])
    const none = await fetch(`${h.url}/oauth/login?state=${'a'.repeat(43)}`)
    expect([none.status, none.headers.getSetCookie()]).toEqual([400, []])
    expect(await none.text()).not.toContain('mailbox')
  })
})

describe.skipIf(!hasPeers)('a person', () => {
  test('who is sent to the authorization server directly returns without a confirmation: nothing is attached', async () => {
    const attacker: Jar = new Map()
    const address = await confirmLogin(link, attacker)
    const page = await browse(address)
    expect(page.status).toBe(400)
    expect(page.text).toContain('not confirmed in this browser')
    expect(tokensAsked()).toEqual([])
    expect(await statusOf()).toBe('AUTHORIZATION_REQUIRED')
  })

  test('who has opened the page of another login, and confirmed nothing, is refused as well', async () => {
    const other = (await h.mutate('connectUpstream', { toolId }, 'url', key))['url']
    const alice: Jar = new Map()
    const opened = await fetch(other)
    const [name, value] = opened.headers.getSetCookie()[0]!.split(';')[0]!.split(/=(.*)/s)
    alice.set(name!, value!)
    const address = await confirmLogin(link, new Map())
    expect((await browse(address, {}, alice)).status).toBe(400)
    expect(tokensAsked()).toEqual([])
  })

  test('whose return was refused leaves the login to the browser that confirmed it', async () => {
    const own: Jar = new Map()
    const address = await confirmLogin(link, own)
    await browse(address)
    expect((await browse(address, {}, own)).text).toContain('Connected')
    await h.mutate('disconnectUpstream', { toolId }, 'tool { id }', key)
  })
})

describe.skipIf(!hasPeers)('a form of another site', () => {
  test('does not confirm for a browser: without the cookie, without the token, with those of another browser', async () => {
    const state = stateOf(link)
    const page = await fetch(link)
    const cookie = page.headers.getSetCookie()[0]!.split(';')[0]!
    const token = /name="token" value="([^"]+)"/.exec(await page.text())![1]!
    const otherCookie = (await fetch(link)).headers.getSetCookie()[0]!.split(';')[0]!
    const refused = [
      await post({ state, token }),
      await post({ state }, { cookie }),
      await post({ state, token: '' }, { cookie }),
      await post({ state, token }, { cookie: otherCookie }),
      await post({ state, token }, { cookie, 'sec-fetch-site': 'cross-site' }),
      await post(
        { state: stateOf((await h.mutate('connectUpstream', { toolId }, 'url', key))['url']), token },
        { cookie },
      ),
    ]
    expect(refused.map((one) => [one.status, one.headers.get('location')])).toEqual(
      refused.map(() => [403, null]),
    )
    expect((await post({ state, token }, { cookie })).status).toBe(303)
  })

  test('is confirmed by one browser only', async () => {
    await confirmLogin(link, new Map())
    expect(await confirmLogin(link, new Map())).toBe('')
  })
})
