/** The dashboard's files over HTTP: headers, codings, caching, deep links, and what stays with other routes. */
import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request as ask } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, expect, test } from 'vitest'
import { makeWeb } from '../../../src/api/http/web.ts'

afterAll(async () => {
  await new Promise((resolve) => server.close(resolve))
  rmSync(folder, { recursive: true })
})

/** A request without what fetch adds and decodes by itself. */
function raw(path: string, headers: Record<string, string> = {}, method = 'GET') {
  return new Promise<{ status: number; headers: Record<string, unknown>; bytes: Buffer }>(
    (resolve, reject) => {
      const asked = ask({ host: '127.0.0.1', port, path, headers, method }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () =>
          resolve({ status: response.statusCode!, headers: response.headers, bytes: Buffer.concat(chunks) }),
        )
      })
      asked.on('error', reject)
      asked.end()
    },
  )
}

const page = { accept: 'text/html,application/xhtml+xml' }

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-web-'))
mkdirSync(join(folder, 'assets'))
writeFileSync(join(folder, 'index.html'), '<!doctype html><title>page</title>')
writeFileSync(join(folder, 'assets/app-abc.js'), 'export const a = 1')
writeFileSync(join(folder, 'assets/app-abc.js.gz'), gzipSync('export const a = 1'))
writeFileSync(join(folder, 'assets/notes.txt'), 'not served')
const web = makeWeb(folder)!
const server = createServer((request, response) => {
  const path = request.url!.split('?')[0]!
  if (web.serves(path, request)) void web.serve(request, response, async () => null)
  else response.writeHead(404).end('none')
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const port = (server.address() as AddressInfo).port

test('the page allows no inline code, no other origin and no frame, and is asked for anew each time', async () => {
  const { status, headers, bytes } = await raw('/', page)
  expect(status).toBe(200)
  expect(bytes.toString()).toContain('<title>page</title>')
  const policy = String(headers['content-security-policy'])
  expect(policy).toContain("default-src 'none'")
  expect(policy).toContain("script-src 'self'; style-src 'self'")
  expect(policy).toContain("frame-ancestors 'none'")
  expect(policy).toContain("require-trusted-types-for 'script'; trusted-types 'none'")
  expect(policy).not.toContain('unsafe')
  expect(headers).toMatchObject({
    'cache-control': 'no-cache',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
  })
})

test('an asset may be kept for ever, and comes in the smallest coding that the client accepts', async () => {
  const packed = await raw('/assets/app-abc.js', { 'accept-encoding': 'br, gzip' })
  expect(packed.headers).toMatchObject({
    'cache-control': 'public, max-age=31536000, immutable',
    'content-encoding': 'gzip',
    'content-type': 'text/javascript; charset=utf-8',
    vary: 'accept-encoding',
  })
  const plain = await raw('/assets/app-abc.js', { 'accept-encoding': 'gzip;q=0' })
  expect(plain.headers['content-encoding']).toBeUndefined()
  expect(plain.bytes.toString()).toBe('export const a = 1')
  expect(plain.headers['etag']).not.toBe(packed.headers['etag'])
})

test('what the client has is not sent again, and HEAD has headers only', async () => {
  const first = await raw('/', page)
  const again = await raw('/', { ...page, 'if-none-match': `"other", ${String(first.headers['etag'])}` })
  expect(again).toMatchObject({ status: 304, bytes: Buffer.alloc(0) })
  const head = await raw('/', page, 'HEAD')
  expect(head).toMatchObject({ status: 200, bytes: Buffer.alloc(0) })
  expect(head.headers['content-length']).toBe(first.headers['content-length'])
})

test('a deep link opens the page in a browser, and is not found for a program', async () => {
  expect((await raw('/approvals/apr_1', page)).status).toBe(200)
  expect((await raw('/approvals/apr_1', { accept: 'application/json' })).status).toBe(404)
  expect((await raw('/assets/none.js', page)).status).toBe(404)
  expect((await raw('/index.html', page)).status).toBe(404)
})

test('files of other types and paths outside of the folder are not served', async () => {
  for (const path of [
    '/assets/notes.txt',
    '/assets/app-abc.js.gz',
    '/../web.test.ts',
    '/assets/..%2f..%2fetc',
  ])
    expect((await raw(path)).status, path).toBe(404)
})

test('other methods than GET and HEAD are refused', async () => {
  const { status, headers } = await raw('/', page, 'POST')
  expect(status).toBe(405)
  expect(headers['allow']).toBe('GET, HEAD')
})

test('without a build there is no dashboard', () => {
  expect(makeWeb(join(folder, 'none'))).toBeNull()
})
