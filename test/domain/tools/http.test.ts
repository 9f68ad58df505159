/** http tools: what saving checks, the exact request, and the result; against real servers. */
import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../src/core/json.ts'
import { startDemoUpstream } from '../../../src/demo/upstream.ts'
import { createEgress, type Egress } from '../../../src/domain/egress/index.ts'
import { buildHttpRequest, type HttpToolRequest } from '../../../src/domain/tools/kinds/http-request.ts'
import {
  checkHttpConfig,
  placeholderFaults,
  runHttpTool,
  type HttpToolConfig,
} from '../../../src/domain/tools/kinds/http.ts'
import { mergePresets } from '../../../src/domain/tools/presets.ts'
import { startLoopback, type Answering, type Loopback } from '../../support/loopback.ts'

const opened: { close(): Promise<unknown> }[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((one) => one.close()))
})

function keep<T extends { close(): Promise<unknown> }>(one: T): T {
  opened.push(one)
  return one
}

const server = async (answer: Answering): Promise<Loopback> => keep(await startLoopback(answer))

function config(url: string, method: HttpToolConfig['method'] = 'GET', headers = {}): HttpToolConfig {
  return { url, method, headers }
}

function build(url: string, method: HttpToolConfig['method'], args: JsonObject): HttpToolRequest {
  const built = buildHttpRequest(config(url, method), args)
  if ('missing' in built) throw new Error(JSON.stringify(built))
  return built
}

/** The example tools of the product's brief. */
const deletePost: HttpToolConfig = {
  url: 'https://api.example.com/users/{user_id}/posts/{post_id}',
  method: 'DELETE',
  headers: {},
}
const getWeather: HttpToolConfig = {
  url: 'https://api.weather.example/v1/current?city={city}',
  method: 'GET',
  headers: {},
}

describe('the example requests', () => {
  it('for delete-post is exactly DELETE /users/123/posts/456, without body or query', async () => {
    expect(buildHttpRequest(deletePost, { user_id: '123', post_id: '456' })).toEqual({
      url: 'https://api.example.com/users/123/posts/456',
      method: 'DELETE',
      headers: { accept: expect.any(String), 'user-agent': 'gatehouse' },
      body: null,
    })
    const site = await server((_request, response) => response.writeHead(204).end())
    const { result } = await run(
      site,
      { ...deletePost, url: deletePost.url.replace('https://api.example.com', site.url) },
      {
        user_id: '123',
        post_id: '456',
      },
    )
    expect(result.isError).toBe(false)
    expect(site.seen[0]).toMatchObject({ method: 'DELETE', url: '/users/123/posts/456', body: '' })
    expect(site.seen[0]!.headers['content-type']).toBeUndefined()
  })

  it('for get-weather percent-encodes São Paulo', () => {
    expect(buildHttpRequest(getWeather, { city: 'São Paulo' })).toMatchObject({
      url: 'https://api.weather.example/v1/current?city=S%C3%A3o%20Paulo',
      method: 'GET',
      body: null,
    })
  })
})

describe('buildHttpRequest', () => {
  it.each<[HttpToolConfig['method'], string, JsonObject, string, string | null]>([
    [
      'GET',
      'https://h.test/a',
      { q: 'x y', n: 1.5, b: false, no: null },
      'https://h.test/a?q=x%20y&n=1.5&b=false',
      null,
    ],
    [
      'GET',
      'https://h.test/a?k=v',
      { tags: ['a', 'b', null, { c: 1 }] },
      'https://h.test/a?k=v&tags=a&tags=b&tags=%7B%22c%22%3A1%7D',
      null,
    ],
    [
      'HEAD',
      'https://h.test/a?k={k}',
      { k: 'a&b=c#d', x: { y: 1 }, e: [] },
      'https://h.test/a?k=a%26b%3Dc%23d&x=%7B%22y%22%3A1%7D',
      null,
    ],
    ['DELETE', 'https://h.test/{id}', { id: 7, force: true }, 'https://h.test/7?force=true', null],
    ['GET', 'https://h.test', { 'a b': '+' }, 'https://h.test/?a%20b=%2B', null],
    ['GET', 'https://h.test?x={x}#top{x}', { x: '' }, 'https://h.test/?x=', null],
    [
      'POST',
      'https://h.test/{id}/x?v=1',
      { id: 'a/b', n: 1, o: { p: [null] } },
      'https://h.test/a%2Fb/x?v=1',
      '{"n":1,"o":{"p":[null]}}',
    ],
    ['PUT', 'https://h.test/{id}', { id: [1, 2] }, 'https://h.test/%5B1%2C2%5D', '{}'],
    [
      'PATCH',
      'https://h.test/{a}-{b}/{a}',
      { a: true, b: { c: 1 } },
      'https://h.test/true-%7B%22c%22%3A1%7D/true',
      '{}',
    ],
    [
      'POST',
      'https://h.test/{id}{?x,y,z}',
      { id: 1, y: ['a b', 'c'], z: null, n: 2 },
      'https://h.test/1?y=a%20b&y=c',
      '{"n":2}',
    ],
    ['PUT', 'https://h.test/?k={k}{&x}', { k: 1, x: '&k=2' }, 'https://h.test/?k=1&x=%26k%3D2', '{}'],
    ['DELETE', 'https://h.test/{?x}', { n: 2 }, 'https://h.test/?n=2', null],
    ['GET', 'https://h.test/a', { q: '\ud800' }, 'https://h.test/a?q=%EF%BF%BD', null],
  ])('%s %s with %j', (method, url, args, expected, body) => {
    expect(build(url, method, args)).toMatchObject({ method, url: expected, body })
  })

  it('names every argument of the URL that has no value', () => {
    const url = 'https://h.test/{a}/{b}?c={c}&d={constructor}'
    expect(buildHttpRequest(config(url), { a: null, c: 1 })).toEqual({
      missing: ['a', 'b', 'constructor'],
      refused: [],
    })
  })

  it.each<[string, JsonObject]>([
    ['/users/{id}', { id: '..' }],
    ['/users/{id}', { id: '.' }],
    ['/users/{id}', { id: '' }],
    ['/users/{id}/posts', { id: '..' }],
    ['/users/.{id}', { id: '.' }],
    ['/users/%2e{id}', { id: '.' }],
    ['/users/{id}{id}', { id: '.' }],
    ['/{id}', { id: '\udfff' }],
  ])('refuses in %s the argument %j, which would change the path', (path, args) => {
    expect(buildHttpRequest(config(`https://h.test${path}`), args)).toEqual({ missing: [], refused: ['id'] })
  })

  it('keeps text that only looks like a dot segment, encoded', () => {
    expect(build('https://h.test/a/{id}/b', 'GET', { id: '%2e%2e' }).url).toBe(
      'https://h.test/a/%252e%252e/b',
    )
    expect(build('https://h.test/a/{id}/b', 'GET', { id: '../..' }).url).toBe('https://h.test/a/..%2F../b')
    expect(build('https://h.test/a/{id}', 'GET', { id: '...' }).url).toBe('https://h.test/a/...')
    expect(build('https://h.test/a/{id}', 'GET', { id: '..\\..\t?#@:' }).url).toBe(
      'https://h.test/a/..%5C..%09%3F%23%40%3A',
    )
  })

  it('sends JSON with a content type; own headers win over the defaults', () => {
    const own = { 'User-Agent': 'mine', 'Content-Type': 'application/vnd.x+json', 'X-A': 'b' }
    expect(buildHttpRequest(config('https://h.test/', 'POST', own), {})).toMatchObject({
      headers: { 'user-agent': 'mine', 'content-type': 'application/vnd.x+json', 'x-a': 'b' },
      body: '{}',
    })
    expect(build('https://h.test/', 'POST', {}).headers).toMatchObject({ 'content-type': 'application/json' })
  })

  it('treats __proto__ as an argument like any other', () => {
    const args = JSON.parse('{"__proto__":{"x":1},"a":2}') as JsonObject
    expect(build('https://h.test/', 'POST', args).body).toBe('{"__proto__":{"x":1},"a":2}')
    expect(build('https://h.test/{__proto__}', 'GET', args).url).toBe('https://h.test/%7B%22x%22%3A1%7D?a=2')
  })
})

describe('for every argument', () => {
  const nasty = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({
      unit: fc.constantFrom(
        '.',
        '/',
        '\\',
        '%',
        '2',
        'e',
        'E',
        'f',
        '?',
        '#',
        '@',
        ':',
        ' ',
        '\t',
        '\n',
        '',
        '{',
        '}',
        'id',
      ),
    }),
  )
  const value = fc.oneof(nasty, fc.jsonValue({ maxDepth: 2 })) as fc.Arbitrary<JsonObject[string]>

  it('host, path segments and their neighbours stay as in the template', () => {
    const paths = fc.constantFrom(
      '/a/{id}/b/{other}',
      '/a/x{id}y/b/.{other}',
      '/{id}{other}/b',
      '/a/{id}',
      '/a/b?q={id}&r={other}',
    )
    fc.assert(
      fc.property(
        paths,
        value,
        value,
        fc.constantFrom('GET' as const, 'POST' as const),
        (path, id, other, method) => {
          const built = buildHttpRequest(config(`https://h.test:8443${path}`, method), {
            id,
            other,
            extra: id,
          })
          if ('missing' in built) return
          const url = new URL(built.url)
          const [template] = path.split('?') as [string]
          expect(url.host).toBe('h.test:8443')
          expect([url.username, url.password, url.hash]).toEqual(['', '', ''])
          expect(url.pathname.split('/')).toHaveLength(template.split('/').length)
          template.split('/').forEach((segment, at) => {
            if (!segment.includes('{')) expect(url.pathname.split('/')[at]).toBe(segment)
          })
          if (path.includes('?')) expect([...url.searchParams.keys()].slice(0, 2)).toEqual(['q', 'r'])
        },
      ),
      { numRuns: 500 },
    )
  })

  it('a string in the path arrives as it was sent', () => {
    fc.assert(
      fc.property(nasty, (id) => {
        const built = buildHttpRequest(config('https://h.test/a/{id}/b'), { id })
        if ('missing' in built)
          expect(id === '' || id === '.' || id === '..' || /\p{Surrogate}/u.test(id)).toBe(true)
        else expect(decodeURIComponent(new URL(built.url).pathname.split('/')[2]!)).toBe(id)
      }),
    )
  })

  it('no argument changes a preset in the path or in the body', () => {
    const given = fc.dictionary(
      fc.constantFrom('id', 'note', '__proto__', 'x'),
      value,
    ) as fc.Arbitrary<JsonObject>
    fc.assert(
      fc.property(given, (sent) => {
        const { args } = mergePresets(sent, { id: 'doc_1', note: { fixed: true } })
        const built = build('https://h.test/docs/{id}', 'POST', args)
        expect(new URL(built.url).pathname).toBe('/docs/doc_1')
        expect((JSON.parse(built.body!) as JsonObject)['note']).toEqual({ fixed: true })
      }),
    )
  })
})

describe('checkHttpConfig', () => {
  it.each([
    [deletePost],
    [getWeather],
    [config('http://h.test')],
    [
      config('https://h.test:8443/{anything}?a={id}', 'POST', {
        'Content-Type': 'application/json; charset=utf-8',
      }),
    ],
    [
      config('https://[2606:4700::1]/{id}', 'POST', {
        Authorization: 'Bearer {{secret:TOKEN}}',
        'X-Name': 'ä\tb',
      }),
    ],
  ])('accepts %j', (good) => {
    expect(checkHttpConfig(good)).toEqual([])
  })

  it.each([
    'ftp://h.test/',
    'h.test/x',
    '',
    '{id}',
    '{id}://h.test/',
    'https://{id}/',
    'https://{id}.h.test/',
    'https://h.test:{id}/',
    'https://h.test{id}/',
    'https://u@h.test/',
    'https://u:p@h.test/',
    'https://{id}@h.test/',
    'https://@h.test/',
    'https://h.test/ x',
    'https://h.test\\{id}',
    'https://h.test/\n',
    'https://h.test/{id',
    'https://h.test/id}',
    'https://h.test/{}',
    'https://h.test/{a{b}}',
    'https://h.test/{&a}',
    'https://h.test/?b=1{?a}',
    'https://h.test/{?a}/b',
    'https://h.test/{?}',
    'https://{{secret:TOKEN}}.test/',
    'https://h.test/#{id}',
    'https://h.test:99999/',
    'https://127.0.0.256/',
    'https:///x',
    'https://h.test/\u0000',
  ])('refuses the URL %j with its path', (url) => {
    expect(checkHttpConfig(config(url))).toEqual([{ path: ['url'], message: expect.any(String) }])
  })

  const id = { type: 'object', properties: { id: { type: 'string' } } }
  it('refuses a placeholder that neither the schema nor a preset names, with the name and what to do', () => {
    const faults = (url: string, schema: JsonObject = id, presets: JsonObject = {}) =>
      placeholderFaults(url, schema, presets).map(({ message }) => message)
    expect(placeholderFaults('https://h.test/{id}/{nope}', id, {})).toEqual([
      {
        path: ['url'],
        message:
          'has the placeholder {nope}, which is not a property of inputSchema: add the property "nope" there, or remove the placeholder',
      },
    ])
    expect(faults('https://h.test/{constructor}?a={b}')).toHaveLength(2)
    expect(faults('https://h.test/{nope}', id, { nope: 1 })).toEqual([])
    expect(faults('https://h.test/{?id,nope}')).toEqual([expect.stringContaining('{nope}')])
    expect(faults('https://h.test/{id}?key={{secret:KEY}}')).toEqual([])
    expect(faults('https://h.test/{nope}', { ...id, patternProperties: { '^n': {} } })).toEqual([])
    const elsewhere = { allOf: [{ $ref: '#/$defs/all' }], $defs: { all: id } }
    expect(faults('https://h.test/{id}', elsewhere)).toEqual([])
  })

  it.each([
    ['Host', 'x'],
    ['content-length', '1'],
    ['Connection', 'close'],
    ['Transfer-Encoding', 'chunked'],
    ['Proxy-Authorization', 'x'],
    ['Idempotency-Key', 'x'],
    ['bad name', 'x'],
    ['', 'x'],
    ['x:y', 'z'],
    ['X-A', 'a\r\nb: c'],
    ['X-A', 'a\nb'],
    ['X-A', '\u0000'],
    ['X-A', '€'],
    ['X-A', '\u007f'],
    ['Content-Type', 'text/plain'],
  ])('refuses the header %j with the value %j', (name, value) => {
    expect(checkHttpConfig(config('https://h.test/', 'POST', { [name]: value }))).toEqual([
      { path: ['headers', name], message: expect.any(String) },
    ])
  })

  it('refuses a duplicate header and an unknown method, all at once', () => {
    const bad = { ...config('nope', 'POST', { 'X-A': '1', 'x-a': '2' }), method: 'TRACE' as never }
    expect(checkHttpConfig(bad).map((issue) => issue.path)).toEqual([['url'], ['method'], ['headers', 'x-a']])
  })
})

const egressTo = (site: Loopback): Egress =>
  keep(createEgress({ allowPrivate: false, allowList: [site.address] }))

function run(
  site: Loopback,
  tool: HttpToolConfig,
  args: JsonObject = {},
  more: { timeoutMs?: number; signal?: AbortSignal } = {},
) {
  const signal = more.signal ?? new AbortController().signal
  const egress = egressTo(site)
  return runHttpTool({
    isIdempotent: false,
    config: tool,
    args,
    egress,
    projectId: 'proj_one',
    idempotencyKey: 'call_1',
    timeoutMs: 5000,
    maxBytes: 10_000,
    ...more,
    signal,
  })
}

async function answered(headers: Record<string, string>, body: string | Buffer, status = 200) {
  const site = await server((_request, response) => response.writeHead(status, headers).end(body))
  return run(site, config(site.url))
}

describe('runHttpTool', () => {
  it('sends the id of the tool call as Idempotency-Key, with every method', async () => {
    const site = await server((_request, response) => response.end('ok'))
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const)
      expect(await run(site, config(site.url, method))).toMatchObject({ sent: true, status: 200 })
    expect(site.seen.map((request) => request.headers['idempotency-key'])).toEqual(Array(6).fill('call_1'))
  })

  it('returns JSON as text and as structured content', async () => {
    const { result } = await answered(
      { 'content-type': 'application/problem+json; charset=UTF-8' },
      '\ufeff{"a":[1]}',
    )
    expect(result).toEqual({
      content: [{ type: 'text', text: '{"a":[1]}' }],
      structuredContent: { a: [1] },
      isError: false,
    })
  })

  it('returns invalid JSON as text', async () => {
    const { result } = await answered({ 'content-type': 'application/json' }, '{oops')
    expect(result).toEqual({ content: [{ type: 'text', text: '{oops' }], isError: false })
  })

  it.each([
    ['text/plain; charset=iso-8859-1', Buffer.from([0x53, 0xe3, 0x6f]), 'São'],
    ['text/html; charset="utf-16le"', Buffer.from('hé', 'utf16le'), 'hé'],
    ['text/csv; charset=klingon', Buffer.from('ä;b'), 'ä;b'],
    ['image/svg+xml', Buffer.from('<svg/>'), '<svg/>'],
    ['application/x-ndjson', Buffer.from('{}\n{}'), '{}\n{}'],
    ['', Buffer.from('plain ✓'), 'plain ✓'],
  ])('reads %j as text', async (type, bytes, text) => {
    const { result } = await answered(type ? { 'content-type': type } : {}, bytes)
    expect(result).toEqual({ content: [{ type: 'text', text }], isError: false })
  })

  it('returns images and audio as base64 and other bytes as a resource', async () => {
    const bytes = Buffer.from([0, 255, 1, 2])
    const data = bytes.toString('base64')
    expect((await answered({ 'content-type': 'IMAGE/png; x=y' }, bytes)).result.content).toEqual([
      { type: 'image', data, mimeType: 'image/png' },
    ])
    expect((await answered({ 'content-type': 'audio/mpeg' }, bytes)).result.content).toEqual([
      { type: 'audio', data, mimeType: 'audio/mpeg' },
    ])
    const uri = 'gatehouse://tool-calls/call_1/content'
    for (const [type, mimeType] of [
      ['application/pdf', 'application/pdf'],
      ['', 'application/octet-stream'],
    ] as const)
      expect((await answered(type ? { 'content-type': type } : {}, bytes)).result.content).toEqual([
        { type: 'resource', resource: { uri, mimeType, blob: data } },
      ])
  })

  it('reports an empty response', async () => {
    for (const [status, body] of [
      [204, ''],
      [200, ''],
    ] as const)
      expect((await answered({}, body, status)).result).toEqual({
        content: [{ type: 'text', text: `The service answered with status ${status} and no content.` }],
        isError: false,
      })
  })

  it('makes every status beyond 2xx an error with the status and a bounded body', async () => {
    const long = await answered({ 'content-type': 'text/plain' }, 'x'.repeat(9000), 422)
    expect(long).toMatchObject({ sent: true, status: 422 })
    const { error } = long.result.structuredContent as {
      error: { code: string; status: number; body: string }
    }
    expect(error).toMatchObject({ code: 'http_422', status: 422 })
    expect(Buffer.byteLength(error.body)).toBeLessThanOrEqual(4096)
    expect((await answered({}, '', 500)).result.structuredContent).toEqual({
      error: { code: 'http_500', message: 'The service answered with status 500.', status: 500 },
    })
    expect(
      (await answered({ 'content-type': 'image/png' }, 'bytes', 404)).result.structuredContent,
    ).not.toHaveProperty('error.body')
    expect(
      (await answered({ 'content-type': 'text/plain' }, 'x'.repeat(20_000), 503)).result.structuredContent,
    ).toMatchObject({ error: { code: 'http_503' } })
  })

  const ranWords = /The call ran .* must not be repeated/

  it('refuses a response over the limit instead of returning a part of it', async () => {
    const { result, sent } = await answered({ 'content-type': 'text/plain' }, 'x'.repeat(10_001))
    expect(result).toMatchObject({
      isError: true,
      structuredContent: {
        error: {
          code: 'response_too_large',
          message: expect.stringMatching(ranWords),
          output: expect.stringMatching(/^xx/),
        },
      },
    })
    expect(sent).toBe(true)
  })

  it('says that a call ran whose response is not in the encoding that it names', async () => {
    const { result, lost } = await answered({ 'content-encoding': 'gzip' }, 'no gzip')
    expect(result).toMatchObject({
      isError: true,
      structuredContent: {
        error: { code: 'response_unreadable', message: expect.stringMatching(ranWords), status: 200 },
      },
    })
    expect(lost).toBe(false)
  })

  it('times out, and reports that the request was sent', async () => {
    const site = await server(() => {})
    expect(await run(site, config(site.url, 'POST'), {}, { timeoutMs: 40 })).toEqual({
      result: expect.objectContaining({
        isError: true,
        structuredContent: {
          error: { code: 'timeout', message: 'The service did not answer within 40 ms.' },
        },
      }),
      sent: true,
      lost: true,
    })
  })

  it('ends when it is cancelled', async () => {
    const site = await server(() => {})
    const controller = new AbortController()
    const running = run(site, config(site.url), {}, { signal: controller.signal })
    await site.nextRequest()
    controller.abort()
    expect((await running).result.structuredContent).toMatchObject({ error: { code: 'cancelled' } })
  })

  it('reports for every failure before the first byte that nothing was sent, and never the address', async () => {
    const site = await server((_request, response) => response.end())
    const gone = { ...site, url: 'http://10.11.12.13:81' }
    const blocked = await run(gone, config('http://10.11.12.13:81/'))
    expect(blocked).toMatchObject({
      sent: false,
      result: { structuredContent: { error: { code: 'blocked_address' } } },
    })
    expect(JSON.stringify(blocked)).not.toContain('10.11.12.13')
    expect(await run(site, config(`${site.url}/{id}`))).toMatchObject({
      sent: false,
      result: {
        structuredContent: { error: { code: 'invalid_arguments', message: expect.stringContaining('"id"') } },
      },
    })
    expect(await run(site, config(`${site.url}/{id}`), { id: '..' })).toMatchObject({
      sent: false,
      result: { isError: true },
    })
    expect(await run(site, config(site.url, 'GET', { 'x-token': 'a\nb' }))).toMatchObject({
      sent: false,
      result: { structuredContent: { error: { code: 'invalid_configuration' } } },
    })
    expect(await run(site, config('nonsense'))).toMatchObject({ sent: false, result: { isError: true } })
    await site.close()
    expect(await run(site, config(site.url))).toMatchObject({
      sent: false,
      result: { structuredContent: { error: { code: 'unreachable' } } },
    })
    expect(site.seen).toEqual([])
  })

  it.each([
    ['POST', 301],
    ['POST', 302],
    ['DELETE', 302],
    ['PUT', 301],
  ] as const)(
    'never takes the page to which a %s is redirected by %i for its outcome',
    async (method, status) => {
      const site = await server((request, response) =>
        request.url === '/pay'
          ? response.writeHead(status, { location: '/login' }).end()
          : response.end('Please sign in.'),
      )
      const ran = await run(site, config(`${site.url}/pay`, method))
      expect(ran).toMatchObject({
        sent: true,
        lost: true,
        result: { isError: true, structuredContent: { error: { code: `http_${status}` } } },
      })
      expect(site.seen.map(({ url }) => url)).toEqual(['/pay'])
    },
  )

  it('takes what a service shows after a POST for its outcome, unless that is a failure', async () => {
    const shown = { status: 200 }
    const site = await server((request, response) =>
      request.url === '/pay'
        ? response.writeHead(303, { location: '/payments/1' }).end()
        : response.writeHead(shown.status).end('paid'),
    )
    const pay = () => run(site, config(`${site.url}/pay`, 'POST'))
    expect(await pay()).toMatchObject({ lost: false, result: { isError: false } })
    shown.status = 404
    expect(await pay()).toMatchObject({ lost: true, result: { isError: true } })
  })

  it('never carries a configured header to another origin', async () => {
    const other = await server((_request, response) => response.end('{}'))
    const site = await server((_request, response) => response.writeHead(307, { location: other.url }).end())
    const egress = keep(createEgress({ allowPrivate: true, allowList: [] }))
    const tool = config(site.url, 'POST', { 'X-Vendor-Token': 'secret' })
    await runHttpTool({
      isIdempotent: false,
      config: tool,
      args: {},
      egress,
      projectId: 'proj_one',
      idempotencyKey: 'call_1',
      timeoutMs: 5000,
      maxBytes: 100,
      signal: new AbortController().signal,
    })
    expect(site.seen[0]!.headers['x-vendor-token']).toBe('secret')
    expect(other.seen[0]!.headers['x-vendor-token']).toBeUndefined()
    expect(other.seen[0]!.headers['idempotency-key']).toBe('call_1')
  })
})

describe('the demo upstream', () => {
  it('serves tools, and executes a repeated POST once', async () => {
    const demo = keep(await startDemoUpstream({ port: 0 }))
    const egress = keep(createEgress({ allowPrivate: false, allowList: [new URL(demo.url).host] }))
    const call = (tool: HttpToolConfig, args: JsonObject, idempotencyKey: string) =>
      runHttpTool({
        isIdempotent: false,
        config: tool,
        args,
        egress,
        projectId: 'proj_one',
        idempotencyKey,
        timeoutMs: 5000,
        maxBytes: 10_000,
        signal: new AbortController().signal,
      })
    const weather = config(`${demo.url}/v1/weather/{city}`)
    const first = await call(weather, { city: 'São Paulo', unit: 'celsius' }, 'call_1')
    expect(first.result.structuredContent).toMatchObject({
      city: 'São Paulo',
      unit: 'celsius',
      temperature: expect.any(Number),
    })
    expect((await call(weather, { city: 'são paulo' }, 'call_2')).result.structuredContent).toMatchObject({
      temperature: (first.result.structuredContent as JsonObject)['temperature'],
    })
    expect((await call(weather, { city: 'Rome', unit: 'kelvin' }, 'call_3')).status).toBe(400)
    const refund = config(`${demo.url}/v1/refunds`, 'POST')
    const [one, two] = [
      await call(refund, { order_id: 'o1', amount: 5 }, 'call_4'),
      await call(refund, { order_id: 'o1', amount: 5 }, 'call_4'),
    ]
    expect(one).toEqual(two)
    expect(demo.journal).toMatchObject({ executions: 1, replays: 1 })
    expect(
      (await call(config(`${demo.url}/v1/orders/{id}`), { id: 'o 1' }, 'call_5')).result.structuredContent,
    ).toMatchObject({ id: 'o 1' })
    expect((await call(config(`${demo.url}/v2`), {}, 'call_6')).status).toBe(404)
    const journal = await call(config(`${demo.url}/journal`), {}, 'call_7')
    expect(journal.result.structuredContent).toEqual(demo.journal)
    expect(
      demo.journal.entries
        .map((entry) => [entry.method, entry.url, entry.idempotencyKey, entry.replay])
        .slice(0, 5),
    ).toEqual([
      ['GET', '/v1/weather/S%C3%A3o%20Paulo?unit=celsius', 'call_1', false],
      ['GET', '/v1/weather/s%C3%A3o%20paulo', 'call_2', false],
      ['GET', '/v1/weather/Rome?unit=kelvin', 'call_3', false],
      ['POST', '/v1/refunds', 'call_4', false],
      ['POST', '/v1/refunds', 'call_4', true],
    ])
    expect(demo.journal.entries[3]!.body).toEqual({ order_id: 'o1', amount: 5 })
  })

  it('refuses invalid and too large bodies', async () => {
    const demo = keep(await startDemoUpstream({ port: 0 }))
    const status = async (path: string, body?: string) =>
      (await fetch(demo.url + path, body === undefined ? {} : { method: 'POST', body })).status
    expect(await status('/v1/weather/%ff')).toBe(400)
    expect(await status('/v1/refunds', 'no json')).toBe(400)
    expect(await status('/v1/refunds', 'x'.repeat(70_000))).toBe(413)
    expect(demo.journal.executions).toBe(0)
  })
})
