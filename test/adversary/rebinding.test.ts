/** A name server that changes its mind: the address that was checked is the one that is connected to. */
import { afterEach, expect, test } from 'vitest'
import { createEgress } from '../../src/domain/egress/index.ts'
import { startLoopback } from '../support/loopback.ts'
import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'
import { isIPv6 } from 'node:net'

/** A name server on loopback whose answers change from question to question, and the look-up of names that asks it. */
interface NameServer {
  /** The names asked for, once for each question. */
  asked: string[]
  /** Every address of a name, of both families. */
  lookup(host: string): Promise<string[]>
  close(): Promise<void>
}

/** `answer` returns the addresses of a name at its n-th look-up, from 1; all are behind an alias and may not be kept (TTL 0). */
async function startNameServer(answer: (name: string, n: number) => string[]): Promise<NameServer> {
  const socket = createSocket('udp4')
  const asked: string[] = []
  let current: string[] = []
  socket.on('message', (question, from) => {
    const end = question.indexOf(0, 12) + 1
    const family = question.readUInt16BE(end)
    const addresses = current.filter((one) => isIPv6(one) === (family === 28))
    const alias = record(Buffer.from([0xc0, 12]), 5, Buffer.from([5, ...Buffer.from('alias'), 0xc0, 12]))
    // The alias stands where the data of the first record begins.
    const aliasAt = end + 4 + 12
    const name = Buffer.from([0xc0 | (aliasAt >> 8), aliasAt & 255])
    const records = [alias, ...addresses.map((one) => record(name, family, bytesOf(one)))]
    const header = Buffer.from(question.subarray(0, 12))
    header.writeUInt16BE(0x8180, 2)
    header.writeUInt16BE(records.length, 6)
    header.writeUInt32BE(0, 8)
    socket.send(Buffer.concat([header, question.subarray(12, end + 4), ...records]), from.port, from.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const resolver = new Resolver()
  resolver.setServers([`127.0.0.1:${socket.address().port}`])
  return {
    asked,
    async lookup(host) {
      asked.push(host)
      current = answer(host, asked.filter((one) => one === host).length)
      const found = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
      return found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
    },
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  }
}

function record(name: Buffer, type: number, data: Buffer): Buffer {
  const head = Buffer.alloc(10)
  head.writeUInt16BE(type, 0)
  head.writeUInt16BE(1, 2)
  head.writeUInt16BE(data.length, 8)
  return Buffer.concat([name, head, data])
}

/** The bytes of an address; of IPv6 written out in eight groups. */
function bytesOf(address: string): Buffer {
  if (!isIPv6(address)) return Buffer.from(address.split('.').map(Number))
  return Buffer.from(
    address
      .split(':')
      .map((group) => group.padStart(4, '0'))
      .join(''),
    'hex',
  )
}

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
