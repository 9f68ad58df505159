/** A name server that changes its mind: the address that was checked is the one that is connected to. */
import { afterEach, expect, test } from 'vitest'
import { createEgress } from '../../src/domain/egress/index.ts'
import { startNameServer } from '../support/dns-server.ts'
import { startLoopback } from '../support/loopback.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(() => Promise.all(closers.splice(0).map((close) => close())))

async function open(answer: (name: string, n: number) => string[], allowed: string[] = []) {
  const site = await startLoopback(({ url }, response) => {
    if (url === '/away') response.writeHead(307, { location: `http://evil.test:${site.port}/` }).end()
    else response.end('inside')
  })
  const names = await startNameServer(answer)
  const allowList = allowed.map((name) => `${name}:${site.port}`)
  const egress = createEgress({ allowPrivate: false, allowList }, { lookup: names.lookup })
  closers.push(
    () => egress.close(),
    () => names.close(),
    () => site.close(),
  )
  const get = (name: string, path = '/') =>
    egress.request({
      method: 'GET',
      url: `http://${name}:${site.port}${path}`,
      timeoutMs: 5000,
      maxBytes: 100,
      maxRedirects: 3,
    })
  return { site, names, get }
}

test.each([
  ['loopback', ['127.0.0.1']],
  ['a public address and loopback', ['93.184.215.14', '127.0.0.1']],
  ['loopback, mapped', ['0:0:0:0:0:ffff:7f00:1']],
  ['loopback, by NAT64', ['64:ff9b:0:0:0:0:7f00:1']],
  ['loopback, by 6to4', ['2002:7f00:1:0:0:0:0:1']],
  ['a public address of IPv4 and loopback of IPv6', ['93.184.215.14', '0:0:0:0:0:0:0:1']],
])('an alias of %s is refused, before any socket', async (_what, addresses) => {
  const { site, names, get } = await open(() => addresses)
  expect(await get('evil.test')).toMatchObject({ ok: false, error: { code: 'BLOCKED_NAME', sent: false } })
  expect(names.asked).toEqual(['evil.test'])
  expect(site.connections()).toBe(0)
})

test('a connection is to the answer that was checked: the next one is not asked for', async () => {
  const { site, names, get } = await open(
    (_name, n) => (n === 1 ? ['127.0.0.1'] : ['127.0.0.2']),
    ['api.test'],
  )
  expect(await get('api.test')).toMatchObject({ ok: true, status: 200 })
  expect(names.asked).toEqual(['api.test'])
  expect(site.connections()).toBe(1)
})

test('a redirect to another name is checked anew', async () => {
  const { site, names, get } = await open(() => ['127.0.0.1'], ['api.test'])
  expect(await get('api.test', '/away')).toMatchObject({ ok: false })
  expect(names.asked).toEqual(['api.test', 'evil.test'])
  expect(site.connections()).toBe(1)
})
