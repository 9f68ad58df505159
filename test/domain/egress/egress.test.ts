/** The guarded fetch against real servers on loopback; names are resolved by the test, and nothing goes further. */
import { createServer, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import {
  createEgress,
  type Egress,
  type EgressOptions,
  type EgressPolicy,
} from '../../../src/domain/egress/index.ts'
import { startLoopback, type Answering, type Loopback } from '../../support/loopback.ts'

const opened: { close(): Promise<unknown> }[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((one) => one.close()))
})

async function server(answer: Answering): Promise<Loopback> {
  const made = await startLoopback(answer)
  opened.push(made)
  return made
}

function egressWith(policy: Partial<EgressPolicy>, options?: EgressOptions): Egress {
  const made = createEgress({ allowPrivate: false, allowList: [], ...policy }, options)
  opened.push(made)
  return made
}

const bounds = { timeoutMs: 5000, maxBytes: 1000 }
const plain: Answering = (_request, response) => response.end('hello')

describe('resolved addresses', () => {
  it('connects to the address that was checked, with the host name in the request', async () => {
    const site = await server(plain)
    const egress = egressWith({ allowList: [`api.test:${site.port}`] }, { lookup: async () => ['127.0.0.1'] })
    const url = `http://api.test:${site.port}/x?y=1`
    const outcome = await egress.request({ method: 'GET', url, ...bounds })
    expect(outcome).toMatchObject({ ok: true, status: 200, truncated: false, bytes: Buffer.from('hello') })
    expect(site.seen[0]).toMatchObject({
      method: 'GET',
      url: '/x?y=1',
      headers: { host: `api.test:${site.port}` },
    })
  })

  it.each([
    ['a private address', ['10.0.0.1']],
    ['loopback', ['127.0.0.1']],
    ['a public and a private address', ['93.184.215.14', '127.0.0.1']],
    ['a mapped address', ['::ffff:127.0.0.1']],
    ['an address with a zone', ['fe80::1%lo']],
    ['something that is no address', ['not-an-address']],
  ])('refuses a name that resolves to %s, before any socket', async (_what, addresses) => {
    const site = await server(plain)
    const egress = egressWith({}, { lookup: async () => addresses })
    const outcome = await egress.request({ method: 'POST', url: `http://evil.test:${site.port}/`, ...bounds })
    expect(outcome).toMatchObject({ ok: false, error: { code: 'BLOCKED_NAME', sent: false } })
    expect(outcome.ok || outcome.error.message).not.toMatch(/127|10\.0|evil/)
    expect(site.connections()).toBe(0)
  })

  it('resolves once for each connection, so a second answer of the resolver changes nothing', async () => {
    const site = await server(plain)
    let asked = 0
    const lookup = async () => (++asked === 1 ? ['127.0.0.1'] : ['10.0.0.1'])
    const egress = egressWith({ allowList: [`api.test:${site.port}`] }, { lookup })
    expect(
      (await egress.request({ method: 'POST', url: `http://api.test:${site.port}/`, ...bounds })).ok,
    ).toBe(true)
    expect(asked).toBe(1)
  })

  it('says CONNECT and not sent when the name is unknown, has no address or nobody listens', async () => {
    const site = await server(plain)
    await site.close()
    const unknown = egressWith({}, { lookup: () => Promise.reject(new Error('ENOTFOUND secret.internal')) })
    const empty = egressWith({}, { lookup: async () => [] })
    const closed = egressWith({ allowPrivate: true })
    for (const [egress, url] of [
      [unknown, 'http://nobody.test/'],
      [empty, 'http://nobody.test/'],
      [closed, site.url],
    ] as const) {
      const outcome = await egress.request({ method: 'POST', url, body: 'x', ...bounds })
      expect(outcome).toMatchObject({ ok: false, error: { code: 'CONNECT', sent: false } })
      expect(outcome.ok || outcome.error.message).not.toMatch(/secret|127/)
    }
  })

  it('lets everything private be reached in development mode', async () => {
    const site = await server(plain)
    expect(
      (await egressWith({ allowPrivate: true }).request({ method: 'GET', url: site.url, ...bounds })).ok,
    ).toBe(true)
  })
})

describe('whether a request was sent', () => {
  it('says not sent for a timeout while the name is being resolved, and never sends it later', async () => {
    const site = await server(plain)
    let answer = (_addresses: string[]): void => {}
    const lookup = () => new Promise<string[]>((resolve) => (answer = resolve))
    const egress = egressWith({ allowList: [`slow.test:${site.port}`] }, { lookup })
    const url = `http://slow.test:${site.port}/`
    const outcome = await egress.request({ method: 'POST', url, maxBytes: 10, timeoutMs: 20 })
    expect(outcome).toMatchObject({ ok: false, error: { code: 'TIMEOUT', sent: false } })
    answer(['127.0.0.1'])
    const second = egress.request({ method: 'PUT', url, ...bounds })
    await new Promise((resolve) => setImmediate(resolve))
    answer(['127.0.0.1'])
    expect(await second).toMatchObject({ ok: true })
    expect(site.seen.map((request) => request.method)).toEqual(['PUT'])
  })

  it('says not sent when TLS cannot be agreed on', async () => {
    const site = await server(plain)
    const url = site.url.replace('http:', 'https:')
    const outcome = await egressWith({ allowList: [site.address] }).request({
      method: 'POST',
      url,
      ...bounds,
    })
    expect(outcome).toMatchObject({ ok: false, error: { code: 'CONNECT', sent: false } })
  })

  it('says sent when the server closes the connection without a response', async () => {
    const site = await server((_request, response) => response.destroy())
    const outcome = await egressWith({ allowList: [site.address] }).request({
      method: 'POST',
      url: site.url,
      ...bounds,
    })
    expect(outcome).toMatchObject({ ok: false, error: { code: 'NETWORK', sent: true } })
  })

  it('says sent when the time is over in the middle of the body', async () => {
    const site = await server((_request, response) => void response.write('begin'))
    const egress = egressWith({ allowList: [site.address] })
    const outcome = await egress.request({ method: 'POST', url: site.url, maxBytes: 100, timeoutMs: 50 })
    expect(outcome).toMatchObject({ ok: false, error: { code: 'TIMEOUT', sent: true } })
  })

  it('says ABORTED when the caller gives up, and not sent when that was before the start', async () => {
    const site = await server(() => {})
    const egress = egressWith({ allowList: [site.address] })
    const early = await egress.request({
      method: 'GET',
      url: site.url,
      signal: AbortSignal.abort(),
      ...bounds,
    })
    expect(early).toMatchObject({ ok: false, error: { code: 'ABORTED', sent: false } })
    expect(site.connections()).toBe(0)
    const controller = new AbortController()
    const late = egress.request({ method: 'GET', url: site.url, signal: controller.signal, ...bounds })
    await site.nextRequest()
    controller.abort()
    expect(await late).toMatchObject({ ok: false, error: { code: 'ABORTED', sent: true } })
  })

  it('says not sent for a header that HTTP cannot carry', async () => {
    const site = await server(plain)
    const egress = egressWith({ allowList: [site.address] })
    const outcome = await egress.request({
      method: 'GET',
      url: site.url,
      headers: { a: 'b\r\nc: d' },
      ...bounds,
    })
    expect(outcome).toMatchObject({ ok: false, error: { code: 'NETWORK', sent: false } })
    expect(site.seen).toEqual([])
  })
})

describe('redirects', () => {
  const redirectTo = (to: () => string, status = 302): Answering => {
    return (request, response) =>
      request.url === '/start'
        ? response.writeHead(status, { location: to() }).end('moved')
        : response.end('arrived')
  }

  it.each([
    ['loopback', 'http://127.0.0.1:1/', 'BLOCKED_ADDRESS'],
    ['another spelling of it', 'http://0x7f.1:1/', 'BLOCKED_ADDRESS'],
    ['the metadata service', 'http://169.254.169.254/latest/meta-data/', 'BLOCKED_ADDRESS'],
    ['a name that resolves to a private address', 'http://inside.test/', 'BLOCKED_NAME'],
  ])('refuses a redirect to %s', async (_what, target, code) => {
    const site = await server(redirectTo(() => target))
    const egress = egressWith({ allowList: [site.address] }, { lookup: async () => ['10.0.0.1'] })
    const outcome = await egress.request({ method: 'GET', url: `${site.url}/start`, ...bounds })
    expect(outcome).toMatchObject({ ok: false, error: { code, sent: true } })
    await expect(egress.fetch(`${site.url}/start`)).rejects.toMatchObject({ code, sent: true })
  })

  it.each(['ftp://127.0.0.1/', 'file:///etc/passwd', 'http://u:p@127.0.0.1/', 'http://['])(
    'refuses a redirect to %s',
    async (to) => {
      const site = await server(redirectTo(() => to))
      const outcome = await egressWith({ allowList: [site.address] }).request({
        method: 'GET',
        url: `${site.url}/start`,
        ...bounds,
      })
      expect(outcome).toMatchObject({ ok: false, error: { code: 'BAD_URL', sent: true } })
    },
  )

  it('leaves the sensitive headers behind when the origin changes, and only then', async () => {
    const other = await server(plain)
    const site = await server(redirectTo(() => `${other.url}/there`))
    const home = await server(redirectTo(() => '/here'))
    const egress = egressWith({ allowList: [site.address, other.address, home.address] })
    const headers = {
      Authorization: 'Bearer t',
      Cookie: 'c=1',
      'X-API-Key': 'k',
      'X-Token': 's',
      'X-Plain': 'p',
    }
    const sensitiveHeaders = ['X-TOKEN']
    for (const { url } of [site, home])
      await egress.request({ method: 'GET', url: `${url}/start`, headers, sensitiveHeaders, ...bounds })
    expect(other.seen[0]!.headers).toMatchObject({ 'x-plain': 'p' })
    for (const name of ['authorization', 'cookie', 'x-api-key', 'x-token'])
      expect(other.seen[0]!.headers).not.toHaveProperty(name)
    expect(home.seen[1]!.headers).toMatchObject({
      authorization: 'Bearer t',
      cookie: 'c=1',
      'x-api-key': 'k',
      'x-token': 's',
    })
  })

  it.each([
    ['POST', 303, 'GET', ''],
    ['PUT', 303, 'GET', ''],
    ['POST', 307, 'POST', 'payload'],
    ['PATCH', 308, 'PATCH', 'payload'],
    ['HEAD', 303, 'HEAD', ''],
    ['HEAD', 302, 'HEAD', ''],
  ])('turns %s at %i into %s', async (method, status, nextMethod, body) => {
    const site = await server(redirectTo(() => '/end', status))
    const request = { method, url: `${site.url}/start`, body: method === 'HEAD' ? null : 'payload' }
    const outcome = await egressWith({ allowList: [site.address] }).request({
      ...request,
      headers: { 'content-type': 'text/plain' },
      ...bounds,
    })
    expect(outcome).toMatchObject({ ok: true, status: 200 })
    expect(site.seen[1]).toMatchObject({ method: nextMethod, url: '/end', body })
    expect(site.seen[1]!.headers['content-type']).toBe(nextMethod === method ? 'text/plain' : undefined)
  })

  it.each([
    ['POST', 301],
    ['PUT', 302],
    ['DELETE', 302],
  ])('does not send a %s again at %i, which may have been acted on', async (method, status) => {
    const site = await server(redirectTo(() => '/end', status))
    const egress = egressWith({ allowList: [site.address] })
    expect(await egress.request({ method, url: `${site.url}/start`, ...bounds })).toMatchObject({
      ok: true,
      status,
    })
    expect(await egress.fetch(`${site.url}/start`, { method })).toMatchObject({ status })
    expect(site.seen).toHaveLength(2)
  })

  it('gives up after five redirects, or as many as the caller allows', async () => {
    const site = await server((request, response) => {
      const step = Number(request.url.slice(1))
      if (step === 0) response.end('arrived')
      else response.writeHead(302, { location: `/${step - 1}` }).end()
    })
    const egress = egressWith({ allowList: [site.address] })
    const ask = (steps: number, most: { maxRedirects?: number } = {}) =>
      egress.request({ method: 'GET', url: `${site.url}/${steps}`, ...most, ...bounds })
    expect(await ask(5)).toMatchObject({ ok: true, bytes: Buffer.from('arrived') })
    expect(await ask(6)).toMatchObject({ ok: false, error: { code: 'TOO_MANY_REDIRECTS', sent: true } })
    expect(await ask(2, { maxRedirects: 1 })).toMatchObject({
      ok: false,
      error: { code: 'TOO_MANY_REDIRECTS' },
    })
    expect(await ask(2, { maxRedirects: 0 })).toMatchObject({ ok: true, status: 302 })
  })
})

describe('bounds', () => {
  it('stops reading at the cap and says that something is missing', async () => {
    const site = await server((_request, response) => {
      const more = () => void (response.write('x'.repeat(1000)) && setImmediate(more))
      response.on('drain', more).on('error', () => {})
      more()
    })
    const egress = egressWith({ allowList: [site.address] })
    const outcome = await egress.request({ method: 'GET', url: site.url, maxBytes: 1500, timeoutMs: 5000 })
    expect(outcome).toMatchObject({ ok: true, truncated: true, bytes: Buffer.from('x'.repeat(1500)) })
  })

  it('takes a body of exactly the cap as whole', async () => {
    const site = await server(plain)
    const egress = egressWith({ allowList: [site.address] })
    const outcome = await egress.request({ method: 'GET', url: site.url, maxBytes: 5, timeoutMs: 5000 })
    expect(outcome).toMatchObject({ ok: true, truncated: false, bytes: Buffer.from('hello') })
  })

  it('counts decoded bytes, so that a compression bomb stops at the cap', async () => {
    const bomb = gzipSync(Buffer.alloc(20_000_000))
    const site = await server((_request, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb),
    )
    const egress = egressWith({ allowList: [site.address] }, { maxFetchBytes: 1000 })
    expect(await egress.request({ method: 'GET', url: site.url, ...bounds })).toMatchObject({
      ok: true,
      truncated: true,
    })
    const response = await egress.fetch(site.url)
    await expect(response.arrayBuffer()).rejects.toMatchObject({ code: 'TOO_LARGE', sent: true })
  })

  it.each([
    ['gzip', gzipSync('{"a":1}')],
    ['br', brotliCompressSync('{"a":1}')],
    ['gzip, br', brotliCompressSync(gzipSync('{"a":1}'))],
    ['identity', Buffer.from('{"a":1}')],
    ['unknown', Buffer.from('{"a":1}')],
  ])('reads an answer in the coding %s', async (coding, bytes) => {
    const site = await server((_request, response) =>
      response.writeHead(200, { 'content-encoding': coding }).end(bytes),
    )
    const egress = egressWith({ allowList: [site.address] })
    const outcome = await egress.request({ method: 'GET', url: site.url, ...bounds })
    expect(outcome.ok && outcome.bytes.toString()).toBe('{"a":1}')
    expect(await (await egress.fetch(site.url)).json()).toEqual({ a: 1 })
  })

  it('says that a complete response is not in the coding that it names', async () => {
    const site = await server((_request, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end('no gzip'),
    )
    const outcome = await egressWith({ allowList: [site.address] }).request({
      method: 'GET',
      url: site.url,
      ...bounds,
    })
    expect(outcome).toMatchObject({ ok: true, status: 200, garbled: true })
  })

  it('does not let callers set headers of the connection', async () => {
    const site = await server(plain)
    const headers = {
      Host: 'evil.test',
      'Content-Length': '3',
      Connection: 'upgrade',
      'Transfer-Encoding': 'x',
      'X-Ok': '1',
    }
    await egressWith({ allowList: [site.address] }).request({
      method: 'POST',
      url: site.url,
      headers,
      body: 'abcde',
      ...bounds,
    })
    expect(site.seen[0]).toMatchObject({
      body: 'abcde',
      headers: { host: site.address, 'x-ok': '1', 'content-length': '5' },
    })
  })

  it('takes an answer that is no HTTP as a network fault', async () => {
    const sockets: Socket[] = []
    const odd = createServer((socket) => {
      sockets.push(socket)
      socket.once('data', () => socket.end('SSH-2.0-x\r\n'))
    })
    await new Promise<void>((resolve) => odd.listen(0, '127.0.0.1', resolve))
    opened.push({ close: () => new Promise((resolve) => odd.close(resolve)) })
    const { port } = odd.address() as AddressInfo
    const egress = egressWith({ allowPrivate: true })
    const outcome = await egress.request({ method: 'GET', url: `http://127.0.0.1:${port}/`, ...bounds })
    expect(outcome).toMatchObject({ ok: false, error: { code: 'NETWORK', sent: true } })
    sockets.forEach((socket) => socket.destroy())
  })
})

describe('fetch', () => {
  it('is a fetch: a global Response with url, status, headers and JSON', async () => {
    const site = await server((request, response) => {
      if (request.url === '/a') return response.writeHead(307, { location: '/b' }).end()
      return response
        .writeHead(201, { 'content-type': 'application/json', 'set-cookie': ['a=1', 'b=2'] })
        .end(request.body)
    })
    const { fetch } = egressWith({ allowList: [site.address] })
    const response = await fetch(new URL('/a', site.url), { method: 'POST', body: JSON.stringify({ n: 1 }) })
    expect(response).toBeInstanceOf(Response)
    expect(response).toMatchObject({ status: 201, ok: true, url: `${site.url}/b`, redirected: true })
    expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
    expect(await response.json()).toEqual({ n: 1 })
  })

  it('streams: the first event is read while the answer is still open', async () => {
    let finish = (): void => {}
    const site = await server((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n')
      finish = () => void response.end('data: 2\n\n')
    })
    const response = await egressWith({ allowList: [site.address] }).fetch(site.url)
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    expect(await reader.read()).toEqual({ done: false, value: 'data: 1\n\n' })
    finish()
    expect(await reader.read()).toEqual({ done: false, value: 'data: 2\n\n' })
    expect(await reader.read()).toMatchObject({ done: true })
  })

  it('rejects with the reason of the signal, before and in the middle of the body', async () => {
    const site = await server((_request, response) => void response.write('begin'))
    const { fetch } = egressWith({ allowList: [site.address] })
    await expect(fetch(site.url, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      name: 'AbortError',
    })
    const controller = new AbortController()
    const response = await fetch(site.url, { signal: controller.signal })
    const text = response.text()
    controller.abort(new Error('enough'))
    await expect(text).rejects.toThrow('enough')
  })

  it('takes a Request, a form and a body-less status', async () => {
    const site = await server((request, response) =>
      response.writeHead(request.method === 'DELETE' ? 204 : 200).end(request.body),
    )
    const { fetch } = egressWith({ allowList: [site.address] })
    const request = new Request(site.url, { method: 'PUT', body: 'from a Request', headers: { 'x-a': '1' } })
    expect(await (await fetch(request)).text()).toBe('from a Request')
    const form = new FormData()
    form.append('field', 'value')
    expect(await (await fetch(site.url, { method: 'POST', body: form })).text()).toContain('name="field"')
    expect(site.seen[1]!.headers['content-type']).toMatch(/^multipart\/form-data; boundary=/)
    expect(await fetch(site.url, { method: 'DELETE' })).toMatchObject({ status: 204, body: null })
    expect(await fetch(site.url, { method: 'HEAD' })).toMatchObject({ status: 200, body: null })
  })

  it('follows the wish of the caller about redirects', async () => {
    const site = await server((_request, response) => response.writeHead(302, { location: '/on' }).end())
    const { fetch } = egressWith({ allowList: [site.address] })
    expect(await fetch(site.url, { redirect: 'manual' })).toMatchObject({ status: 302 })
    await expect(fetch(site.url, { redirect: 'error' })).rejects.toMatchObject({ code: 'TOO_MANY_REDIRECTS' })
    await expect(fetch(site.url)).rejects.toMatchObject({ code: 'TOO_MANY_REDIRECTS' })
  })
})

describe('close', () => {
  it('cuts open exchanges', async () => {
    const site = await server(() => {})
    const egress = egressWith({ allowList: [site.address] })
    const open = egress.request({ method: 'POST', url: site.url, ...bounds })
    await site.nextRequest()
    await egress.close()
    expect(await open).toMatchObject({ ok: false, error: { code: 'NETWORK', sent: true } })
  })
})
