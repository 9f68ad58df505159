/** Which addresses and URLs are let out, as data. Nothing is connected to: the resolver is ours and there is no socket. */
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { createEgress } from '../../../src/domain/egress/index.ts'
import { isPublicAddress } from '../../../src/domain/egress/policy.ts'

const privateAddresses = [
  '0.0.0.0',
  '0.1.2.3',
  '10.0.0.1',
  '10.255.255.255',
  '100.64.0.1',
  '100.127.255.254',
  '127.0.0.1',
  '127.255.255.254',
  '168.63.129.16',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.1',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.1.1',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.7',
  '203.0.113.9',
  '224.0.0.1',
  '239.255.255.250',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::127.0.0.1',
  '::ffff:127.0.0.1',
  '::ffff:8.8.8.8',
  '::ffff:7f00:1',
  '::8.8.8.8',
  '64:ff9b::7f00:1',
  '64:ff9b::8.8.8.8',
  '64:ff9b:1::1',
  '100::1',
  '2001::1',
  '2001:0:4136:e378::1',
  '2001:2::1',
  '2001:10::1',
  '2001:20::1',
  '2001:db8::1',
  '2002:7f00:1::1',
  '2002:808:808::1',
  '3fff::1',
  '5f00::1',
  'fc00::1',
  'fd00:ec2::254',
  'fe80::1',
  'fe80::1%eth0',
  '2606:4700::1%eth0',
  'fec0::1',
  'ff02::1',
  'FE80::1',
  '127.1',
  '0x7f.0.0.1',
  '0177.0.0.1',
  '2130706433',
  '08.8.8.8',
  '8.8.8',
  '',
  'localhost',
  '8.8.8.8 ',
  '8.8.8.8/32',
]
const publicAddresses = [
  '8.8.8.8',
  '1.1.1.1',
  '100.63.255.255',
  '100.128.0.1',
  '172.15.0.1',
  '172.32.0.1',
  '192.0.1.1',
  '198.17.0.1',
  '198.20.0.1',
  '223.255.255.255',
  '2606:4700:4700::1111',
  '2a00:1450::1',
  '2001:4860:4860::8888',
]

/** Every spelling of a loopback or private literal that a URL can hold. */
const privateUrls = [
  'http://127.0.0.1/',
  'http://127.1/',
  'http://127.0.1/',
  'http://2130706433/',
  'http://0x7f000001/',
  'http://0x7f.1/',
  'http://0177.0.0.1/',
  'http://017700000001/',
  'http://0/',
  'http://0.0.0.0/',
  'http://127.0.0.1./',
  'http://0X7F.0.0.1/',
  'http://%31%32%37.0.0.1/',
  'http://１２７.0.0.1/',
  'http://127。0。0。1/',
  'http://①②⑦.0.0.1/',
  'http://10.1/',
  'http://192.168.257/',
  'http://3232235777/',
  'http://169.254.169.254/latest/meta-data/',
  'http://0251.0376.0251.0376/',
  'http://[::1]/',
  'http://[::]/',
  'http://[0:0:0:0:0:0:0:1]/',
  'http://[::ffff:127.0.0.1]/',
  'http://[::FFFF:7F00:1]/',
  'http://[::127.0.0.1]/',
  'http://[64:ff9b::127.0.0.1]/',
  'http://[64:ff9b:1::a00:1]/',
  'http://[2002:7f00:1::]/',
  'http://[2001:0:53aa:64c::1]/',
  'http://[fd00::1]/',
  'http://[FE80::1]/',
  'http://[ff02::1]/',
  'http://[2001:db8::1]/',
  'http://localhost/',
  'http://LOCALHOST/',
  'http://localhost./',
  'http://api.localhost/',
  'https://Api.LocalHost.:8443/x',
]
const badUrls = [
  'ftp://example.com/',
  'file:///etc/passwd',
  'gopher://example.com/',
  'data:text/plain,x',
  'javascript:1',
  'ws://example.com/',
  'http://user@example.com/',
  'http://user:pw@example.com/',
  'http://:pw@example.com/',
  'http://',
  'example.com',
  '/relative',
  '',
  'http://[fe80::1%25eth0]/',
  'http://[::1%lo]/',
  'http://127.0.0.256/',
  'http://1.2.3.4.5/',
  'http://exa mple.com/',
  'http://example.com:99999/',
]

describe('addresses', () => {
  it.each(privateAddresses)('never lets %j pass as public', (address) => {
    expect(isPublicAddress(address)).toBe(false)
  })
  it.each(publicAddresses)('lets %s pass as public', (address) => {
    expect(isPublicAddress(address)).toBe(true)
  })
  it('refuses every IPv4 address inside IPv6, whatever the prefix', () => {
    const prefixes = fc.constantFrom('::', '::ffff:', '64:ff9b::', '64:ff9b:1::', '::ffff:0:')
    fc.assert(fc.property(prefixes, fc.ipV4(), (prefix, v4) => !isPublicAddress(prefix + v4)))
  })
})

describe('an address with a line break', () => {
  it.each(['\r\n', '\n', '\r', '\t', '\u0000', '\u007f'])(
    'is refused wherever it has one: %j',
    async (control) => {
      const egress = createEgress({ allowPrivate: true, allowList: [] })
      const urls = [
        `${control}http://api.example.com/`,
        `http://api.exa${control}mple.com/`,
        `http://api.example.com/a${control}b`,
        `http://api.example.com/?a=${control}Host: other`,
        `http://api.example.com/${control}`,
      ]
      for (const url of urls) {
        expect(egress.checkUrl(url)).toContain('line breaks')
        const outcome = await egress.request({ method: 'GET', url, timeoutMs: 1000, maxBytes: 10 })
        expect(outcome).toMatchObject({ ok: false, error: { code: 'BAD_URL', sent: false } })
        await expect(egress.fetch(url)).rejects.toMatchObject({ code: 'BAD_URL' })
      }
      await egress.close()
    },
  )
})

describe('checkUrl', () => {
  const asked: string[] = []
  const egress = createEgress(
    { allowPrivate: false, allowList: ['127.0.0.1:4001', '[::1]:4002', 'LocalHost:4003'] },
    { lookup: async (host) => (asked.push(host), ['93.184.215.14']) },
  )
  afterAll(() => egress.close())

  it.each([...privateUrls, ...badUrls])('refuses %s at once, in checkUrl, request and fetch', async (url) => {
    expect(egress.checkUrl(url)).toEqual(expect.any(String))
    const outcome = await egress.request({ method: 'GET', url, timeoutMs: 1000, maxBytes: 10 })
    expect(outcome).toMatchObject({ ok: false, error: { sent: false } })
    await expect(egress.fetch(url)).rejects.toMatchObject({ name: 'EgressError', sent: false })
    expect(asked).toEqual([])
  })
  it('tells a bad URL from a blocked address', async () => {
    const codeOf = async (url: string) => {
      const outcome = await egress.request({ method: 'GET', url, timeoutMs: 1000, maxBytes: 10 })
      return outcome.ok ? null : outcome.error.code
    }
    expect(await codeOf('ftp://example.com/')).toBe('BAD_URL')
    expect(await codeOf('http://0x7f.1/')).toBe('BLOCKED_ADDRESS')
  })
  it('never repeats the URL or its credentials in the refusal', () => {
    for (const url of [...privateUrls, ...badUrls, 'http://user:hunter2@10.0.0.1/'])
      expect(egress.checkUrl(url)).not.toMatch(/hunter2|10\.0\.0\.1|127|metadata/)
  })
  it('accepts public names and literals without asking anybody', () => {
    for (const url of [
      'https://example.com/a?b',
      'http://8.8.8.8:8080/',
      'https://[2606:4700::1]/',
      'HTTPS://EXAMPLE.COM',
    ])
      expect(egress.checkUrl(url)).toBeNull()
    expect(asked).toEqual([])
  })
  it('accepts a listed host only at the listed port', () => {
    expect(egress.checkUrl('http://127.0.0.1:4001/x')).toBeNull()
    expect(egress.checkUrl('http://0x7f.1:4001/x')).toBeNull()
    expect(egress.checkUrl('http://[::1]:4002/x')).toBeNull()
    expect(egress.checkUrl('http://localhost.:4003/x')).toBeNull()
    expect(egress.checkUrl('http://127.0.0.1:4002/x')).not.toBeNull()
    expect(egress.checkUrl('http://127.0.0.2:4001/x')).not.toBeNull()
    expect(egress.checkUrl('http://localhost:4001/x')).not.toBeNull()
  })
  it('refuses every private IPv4 literal in decimal, hex and octal spelling', () => {
    const octet = fc.integer({ min: 0, max: 255 })
    const privateV4 = fc.oneof(
      fc.tuple(fc.constantFrom(10, 127, 0), octet, octet, octet),
      fc.tuple(fc.constant(192), fc.constant(168), octet, octet),
      fc.tuple(fc.constant(169), fc.constant(254), octet, octet),
    )
    fc.assert(
      fc.property(privateV4, ([a, b, c, d]) => {
        const number = ((a * 256 + b) * 256 + c) * 256 + d
        const hosts = [
          `${a}.${b}.${c}.${d}`,
          `${number}`,
          `0x${number.toString(16)}`,
          `0${number.toString(8)}`,
          `${a}.${(b * 256 + c) * 256 + d}`,
          `0x${a.toString(16)}.0${b.toString(8)}.${c * 256 + d}`,
          `[::ffff:${a}.${b}.${c}.${d}]`,
          `[64:ff9b::${a}.${b}.${c}.${d}]`,
        ]
        return hosts.every((host) => egress.checkUrl(`http://${host}/`) !== null)
      }),
    )
  })
})

describe('the allow-list', () => {
  it.each([
    'localhost',
    'localhost:',
    ':80',
    'http://localhost:80',
    'a b:80',
    'host:70000',
    '::1:80',
    'u@host:80',
    '',
  ])('refuses the entry %j at the start', (entry) => {
    expect(() => createEgress({ allowPrivate: false, allowList: [entry] })).toThrow('host:port')
  })
})
