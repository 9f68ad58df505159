/** Requests that are refused early: bodies before a key, connections, Host headers, metrics, and the GraphiQL page. */
import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { createBodyBudget } from '../../src/api/http/bodies.ts'
import { startDemoUpstream } from '../../src/demo/upstream.ts'
import { upgradeStatus } from '../api/graphql/raw-socket.ts'
import { adminKey, openHarness } from '../support/harness.ts'
import { forFile } from '../support/for-file.ts'

const h = await forFile(openHarness({ graphiql: true, allowedHosts: ['gate.example.com'] }))

/** One HTTP request with exactly these headers, Host included. */
function sendRequest(
  url: string,
  {
    method = 'GET',
    headers = {},
    body = '',
  }: { method?: string; headers?: Record<string, string>; body?: string },
): Promise<{ status: number; headers: Record<string, unknown>; text: string }> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk) => (text += chunk))
      response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers, text }))
    })
    request.on('error', reject)
    request.end(body)
  })
}

const json = { 'content-type': 'application/json' }
const bearer = { authorization: `Bearer ${adminKey}` }
const query = (bytes: number) => JSON.stringify({ query: '{ __typename }' }).padEnd(bytes)

describe('bodies', () => {
  test('without a key 16 KiB are read and no more; with a key 1 MiB', async () => {
    const post = (bytes: number, headers: object = {}) =>
      sendRequest(`${h.url}/graphql`, {
        method: 'POST',
        headers: { ...json, ...headers },
        body: query(bytes),
      })
    expect((await post(16 * 1024)).status).toBe(200)
    const refused = await post(16 * 1024 + 1)
    expect(refused).toMatchObject({ status: 413, text: expect.stringContaining('without a valid key') })
    expect((await post(1024 * 1024, bearer)).status).toBe(200)
  })

  test('the server does not wait for a body that may not be sent: it responds after the head', async () => {
    for (const path of ['/graphql', '/mcp', '/api/v1/files/presign-upload']) {
      const status = await new Promise<number>((resolve, reject) => {
        const request = httpRequest(`${h.url}${path}`, {
          method: 'POST',
          headers: { ...json, authorization: 'Bearer gh_wrong', 'content-length': '1000000' },
        })
        request.on('response', (response) => {
          resolve(response.statusCode!)
          request.destroy()
        })
        request.on('error', reject)
        request.flushHeaders()
      })
      expect(status, path).toBe(401)
    }
  })

  test('all bodies together have a budget, and one sender a quarter of it', async () => {
    const tight = await openHarness({}, { server: { maxBufferedBodies: 1024 * 1024 } })
    const tiny = await openHarness({}, { server: { maxBufferedBodies: 512 * 1024 } })
    const send = () =>
      sendRequest(`${tight.url}/graphql`, {
        method: 'POST',
        headers: { ...json, ...bearer },
        body: query(400_000),
      })
    expect(await send()).toMatchObject({ status: 503, headers: { 'retry-after': '1' } })
    // Without a key, too.
    for (const path of ['/hooks/trg_nothing', '/slack/interactions']) {
      const url = `${tiny.url}${path}`
      const refused = await sendRequest(url, { method: 'POST', body: 'x'.repeat(200_000) })
      expect(refused, path).toMatchObject({ status: 503, headers: { 'retry-after': '1' } })
    }
    // Memory of refused bodies is released.
    for (let i = 0; i < 8; i++)
      expect(
        (
          await sendRequest(`${tight.url}/graphql`, {
            method: 'POST',
            headers: { ...json, ...bearer },
            body: query(200_000),
          })
        ).status,
      ).toBe(200)
    await Promise.all([tight.stop(), tiny.stop()])
  })

  test('the budget is shared by all requests and given back', () => {
    const budget = createBodyBudget(400)
    expect(budget.take('a', 100)).toBe(true)
    expect(budget.take('a', 1)).toBe(false)
    for (const name of ['b', 'c', 'd']) expect(budget.take(name, 100)).toBe(true)
    expect(budget.take('e', 1)).toBe(false)
    budget.giveBack('a', 100)
    expect(budget.take('e', 100)).toBe(true)
    expect(budget.used()).toBe(400)
  })

  const openSockets = (url: string, count: number) =>
    Promise.all(
      Array.from({ length: count }, async () => {
        const socket = connect(Number(new URL(url).port), '127.0.0.1')
        await new Promise((resolve) => socket.once('connect', resolve))
        return socket
      }),
    )
  const statusOf = (url: string) =>
    sendRequest(`${url}/healthz`, {}).then(
      ({ status }) => status,
      () => 0,
    )

  test.each([
    ['of all addresses', { maxConnections: 3 }],
    ['of one address', { maxConnectionsPerAddress: 3 }],
  ])('connections %s beyond the bound are closed when they arrive', async (_of, config) => {
    const few = await openHarness(config)
    const held = await openSockets(few.url, 3)
    expect(await statusOf(few.url)).toBe(0)
    held.forEach((socket) => socket.destroy())
    await expect.poll(() => statusOf(few.url)).toBe(200)
    await few.stop()
  })

  test('those of a trusted proxy are not counted as one address', async () => {
    const few = await openHarness({ maxConnectionsPerAddress: 3, trustedProxies: ['127.0.0.0/8'] })
    const held = await openSockets(few.url, 4)
    expect(await statusOf(few.url)).toBe(200)
    held.forEach((socket) => socket.destroy())
    await few.stop()
  })
})

describe('names in the Host header', () => {
  const paths = [
    '/graphql?query={__typename}',
    '/metrics',
    '/api/v1/files/presign-upload',
    '/oauth/callback',
    '/nothing',
    '/mcp',
  ]
  test.each(paths)('%s is served under configured names only', async (path) => {
    expect((await sendRequest(h.url + path, { headers: { host: 'evil.example.com' } })).status).toBe(403)
    for (const host of [
      'localhost:4000',
      '10.1.2.3',
      '[::1]:4000',
      'gate.example.com',
      'GATE.example.com:443',
    ])
      expect((await sendRequest(h.url + path, { headers: { host } })).status, host).not.toBe(403)
  })

  test('health probes are served under every name', async () => {
    for (const path of ['/healthz', '/readyz'])
      expect((await sendRequest(h.url + path, { headers: { host: 'pod.internal' } })).status).toBe(200)
  })

  test('a socket opens under configured names only', async () => {
    expect(await upgradeStatus(h.url, { host: 'evil.example.com' })).toBe(403)
    expect(await upgradeStatus(h.url, { host: 'gate.example.com' })).toBe(101)
  })

  test("the demo's journal is not served under another name", async () => {
    const upstream = await startDemoUpstream({ port: 0 })
    expect(
      (await sendRequest(`${upstream.url}/journal`, { headers: { host: 'evil.example.com' } })).status,
    ).toBe(403)
    expect((await sendRequest(`${upstream.url}/journal`, {})).status).toBe(200)
    await upstream.close()
  })
})

describe('metrics', () => {
  test('can require a token', async () => {
    const metricsToken = 'scrape-0123456789abcdef'
    const guarded = await openHarness({ metricsToken })
    const status = async (headers: Record<string, string>) =>
      (await sendRequest(`${guarded.url}/metrics`, { headers })).status
    expect(await status({})).toBe(401)
    expect(await status(bearer)).toBe(401)
    expect(await status({ authorization: `Bearer ${metricsToken}` })).toBe(200)
    await guarded.stop()
  })

  test('can have an address of their own, which serves nothing else', async () => {
    const apart = await openHarness({ metricsListen: { host: '127.0.0.1', port: 0 } })
    const own = apart.app.metricsUrl!
    expect((await sendRequest(`${apart.url}/metrics`, {})).status).toBe(404)
    expect(await sendRequest(`${own}/metrics`, {})).toMatchObject({
      status: 200,
      text: expect.stringContaining('gatehouse_sockets'),
    })
    expect((await sendRequest(`${own}/graphql?query={__typename}`, {})).status).toBe(404)
    await apart.stop()
    await expect(sendRequest(`${own}/metrics`, {})).rejects.toThrow()
  })
})

describe('the page for browsers', () => {
  test('runs only its own script, in no frame, and stores no key', async () => {
    const { headers, text } = await sendRequest(`${h.url}/graphql`, { headers: { accept: 'text/html' } })
    const policy = String(headers['content-security-policy'])
    expect(policy).toMatch(/^default-src 'none'; script-src 'sha256-[\w+/=]{44}' blob:;/)
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).toContain("connect-src 'self'")
    expect(headers['x-frame-options']).toBe('DENY')
    // One script, whose hash is allowed; the option that stores headers in localStorage is off and hidden.
    const script = text.slice(text.indexOf('<script>') + 8, text.lastIndexOf('</script>'))
    const { createHash } = await import('node:crypto')
    expect(policy).toContain(createHash('sha256').update(script).digest('base64'))
    expect(script.slice(-3000)).toContain('"shouldPersistHeaders":false')
  })
})
