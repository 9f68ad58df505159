/** When a failed delivery is sent again, and what a signature is made of. */
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { askedDelayMs, probeDelayMs, retryDelayMs } from '../../../../src/domain/followers/webhooks/send.ts'
import {
  faultOfSecret,
  newSecret,
  signedHeaders,
} from '../../../../src/domain/followers/webhooks/signature.ts'

const even = () => 0.5
const minute = 60_000

test('retries follow after 5 s, 1, 5 and 30 minutes, 2 and 12 hours, then none', () => {
  const delays = [1, 2, 3, 4, 5, 6, 7].map((failures) => retryDelayMs(failures, null, even))
  expect(delays).toEqual([5000, minute, 5 * minute, 30 * minute, 120 * minute, 720 * minute, null])
  expect(retryDelayMs(2, null, () => 0)).toBe(0.9 * minute)
  expect(retryDelayMs(2, null, () => 1)).toBeCloseTo(1.1 * minute)
})

test('what the receiver asked for is the least, and at most a day', () => {
  expect(retryDelayMs(1, 60_000, even)).toBe(60_000)
  expect(retryDelayMs(2, 1000, even)).toBe(minute)
  expect(askedDelayMs('120', 0)).toBe(120_000)
  expect(askedDelayMs('99999999', 0)).toBe(24 * 60 * minute)
  const now = Date.parse('2026-11-22T10:00:00Z')
  expect(askedDelayMs('Sun, 22 Nov 2026 10:01:00 GMT', now)).toBe(minute)
  expect(askedDelayMs('Sun, 22 Nov 2026 09:00:00 GMT', now)).toBe(0)
  for (const header of [null, 'soon', '', '-5x']) expect(askedDelayMs(header, now)).toBeNull()
})

test('an endpoint that is down is tried at least every five and a half minutes', () => {
  expect(probeDelayMs(3, even)).toBe(5000)
  expect(probeDelayMs(4, even)).toBe(10_000)
  expect(probeDelayMs(100, () => 1)).toBeCloseTo(5.5 * minute)
})

test('the official library accepts either secret while both sign, and refuses another body, id or time', () => {
  const [first, second] = [newSecret(), newSecret()]
  const body = '{"type":"x","data":{"ä":"ö"}}'
  const headers = signedHeaders([first, second], 'evt_a_1', body, Date.now())
  for (const secret of [first, second]) expect(new Webhook(secret).verify(body, headers)).toBeTruthy()
  const judge = new Webhook(first)
  expect(() => new Webhook(newSecret()).verify(body, headers)).toThrow(/signature/i)
  expect(() => judge.verify(`${body} `, headers)).toThrow(/signature/i)
  expect(() => judge.verify(body, { ...headers, 'webhook-id': 'evt_a_2' })).toThrow(/signature/i)
  const old = signedHeaders([first], 'evt_a_1', body, Date.now() - 10 * minute)
  expect(() => judge.verify(body, old)).toThrow(/old/i)
})

test('a secret of the caller has the form that libraries expect', () => {
  expect(faultOfSecret(newSecret())).toBeNull()
  for (const secret of [
    '',
    'whsec_',
    'whsec_abc',
    newSecret().slice(6),
    `whsec_${Buffer.alloc(65).toString('base64')}`,
  ])
    expect(faultOfSecret(secret)).toMatch(/whsec_/)
  // The library cannot read base64url.
  expect(faultOfSecret(`whsec_${Buffer.alloc(32, 255).toString('base64url')}`)).not.toBeNull()
})
