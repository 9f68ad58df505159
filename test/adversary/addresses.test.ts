/** Requests without a valid key are limited by IP address; forwarding headers count only from configured proxies. */
import { describe, expect, test } from 'vitest'
import { createBuckets, perMinute } from '../../src/core/buckets.ts'
import { clientAddress, countedAddress, networksOf } from '../../src/core/addresses.ts'
import { adminKey, openHarness } from '../support/harness.ts'
import { openRaw } from '../api/graphql/raw-socket.ts'
import { forFile } from '../support/for-file.ts'

let clock = { now: () => 1_700_000_000_000 }
const open = (more: object = {}) => openHarness({ anonymousPerMinute: 5, ...more }, { clock })
const h = await forFile(open({ trustedProxies: ['127.0.0.0/8', '::1'] }))

let last = 0
/** An IP address that no other request has used. */
const fresh = () => `198.51.100.${++last}`

function sendRequest(path: string, key: string | null, from: string, at = h): Promise<Response> {
  return fetch(at.url + path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-forwarded-for': from,
      ...(key ? { authorization: `Bearer ${key}` } : {}),
    },
    body: '{"query":"{ viewer { id } }"}',
  })
}

async function statuses(
  count: number,
  path: string,
  key: string | null,
  from: string,
  at = h,
): Promise<number[]> {
  const found = []
  for (let i = 0; i < count; i++) found.push((await sendRequest(path, key, from, at)).status)
  return found
}

describe('requests without a valid key', () => {
  test('/metrics is refused after the fifth, and /readyz tells a probe beyond its limit what was true last', async () => {
    const from = fresh()
    expect(await statuses(6, '/metrics', null, from)).toEqual([200, 200, 200, 200, 200, 429])
    expect(await statuses(3, '/readyz', null, from)).toEqual([200, 200, 200])
    expect(await statuses(1, '/metrics', null, fresh())).toEqual([200])
  })

  test.each([
    ['/graphql', null],
    ['/graphql', 'gh_wrong'],
    ['/mcp', null],
    ['/mcp', 'gh_wrong'],
    ['/mcp/agt_x', 'gh_wrong'],
    ['/api/v1/files/presign-upload', 'gh_wrong'],
  ])('%s with %s is refused after the fifth, with the time to wait', async (path, key) => {
    const from = fresh()
    expect(await statuses(5, path, key, from)).toEqual([401, 401, 401, 401, 401])
    const refused = await sendRequest(path, key, from)
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await statuses(1, path, key, fresh())).toEqual([401])
  })

  test('links with an invalid signature and unknown paths count as well', async () => {
    for (const path of ['/api/v1/files/file_x/content?signature=x', '/nothing', '/oauth/callback']) {
      const from = fresh()
      const get = () => fetch(h.url + path, { headers: { 'x-forwarded-for': from } })
      for (let i = 0; i < 5; i++) expect((await get()).status, path).not.toBe(429)
      expect((await get()).status, path).toBe(429)
    }
  })

  test('every wrong key counts, whatever its value', async () => {
    const from = fresh()
    const found = []
    for (let i = 0; i < 7; i++) found.push((await sendRequest('/graphql', `gh_guess_${i}`, from)).status)
    expect(found).toEqual([401, 401, 401, 401, 401, 429, 429])
  })

  test('a key that was valid recently is served, although its address guesses keys', async () => {
    const from = fresh()
    expect((await sendRequest('/graphql', adminKey, fresh())).status).toBe(200)
    await statuses(6, '/graphql', 'gh_wrong', from)
    expect(await statuses(8, '/graphql', adminKey, from)).toEqual(Array(8).fill(200))
  })

  test('a valid key costs the address nothing', async () => {
    const from = fresh()
    await statuses(20, '/graphql', adminKey, from)
    expect(await statuses(5, '/graphql', null, from)).toEqual([401, 401, 401, 401, 401])
  })

  test('tokens are refilled with time', async () => {
    const from = fresh()
    await statuses(6, '/graphql', null, from)
    const now = clock.now()
    clock.now = () => now + 12_000
    expect(await statuses(2, '/graphql', null, from)).toEqual([401, 429])
  })

  test('a socket that connects with guessed keys is closed with a time to retry', async () => {
    const at = await open()
    const codes = []
    for (let i = 0; i < 6; i++) {
      const socket = await openRaw(at.url)
      socket.send({ type: 'connection_init', payload: { authorization: `Bearer gh_guess_${i}` } })
      codes.push((await socket.closed).code)
    }
    expect(codes).toEqual([4403, 4403, 4403, 4403, 4403, 1013])
    await at.stop()
  })
})

describe('addresses', () => {
  const trusted = networksOf(['10.0.0.0/8', '127.0.0.1', 'fd00::/8'])!

  test('an untrusted client cannot choose its address: without configured proxies the header is ignored', async () => {
    const bare = await open()
    for (let i = 0; i < 5; i++) await sendRequest('/graphql', null, fresh(), bare)
    expect((await sendRequest('/graphql', null, fresh(), bare)).status).toBe(429)
    await bare.stop()
  })

  test.each([
    ['203.0.113.9', '198.51.100.1', '203.0.113.9'],
    ['10.0.0.1', undefined, '10.0.0.1'],
    ['10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['::ffff:10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['10.0.0.1', '1.1.1.1, 198.51.100.1, 10.0.0.2', '198.51.100.1'],
    ['10.0.0.1', '1.1.1.1, nonsense, 10.0.0.2', '10.0.0.2'],
    ['10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['10.0.0.1', '198.51.100.1:5123', '198.51.100.1'],
    ['fd00::1', '[2001:db8::7]:80', '2001:db8::7'],
    ['10.0.0.1', '', '10.0.0.1'],
  ])('over %s with "%s" the client is %s', (connection, header, expected) => {
    expect(clientAddress(connection, header, trusted)).toBe(expected)
  })

  test.each([
    ['198.51.100.1', '198.51.100.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2:ffff::', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ])('%s is counted as %s', (address, counted) => {
    expect(countedAddress(address)).toBe(counted)
  })

  test.each(['10.0.0.0/33', 'nonsense', '10.0.0.0/8/8', '10.0.0.0/', 'fd00::/129', '10.0.0.0/-1'])(
    '%s is no network',
    (name) => expect(networksOf([name])).toBeNull(),
  )

  test('the table of addresses is bounded, and drops the least recently used', () => {
    const buckets = createBuckets(100)
    const rule = perMinute(1)
    for (let i = 0; i < 100_000; i++) buckets.take(`a${i}`, rule, 1, 0)
    expect(buckets.size()).toBe(100)
    expect(buckets.take('a99999', rule, 1, 0)).toBe(60_000)
    expect(buckets.take('a0', rule, 1, 0)).toBe(0)
  })
})
