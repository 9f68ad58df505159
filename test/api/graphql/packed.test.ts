/** Answers of GraphQL over the wire: compressed for clients that accept it, on both paths, and never a stream. */
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { adminKey, openHarness } from '../../support/harness.ts'
import { forFile } from '../../support/for-file.ts'

const long = '{ agents(first: 1) { nodes { name instructions } } }'

const h = await forFile(openHarness({ corsOrigins: ['https://app.example', 'https://b.example'] }))
await h.mutate('createAgent', { name: 'long', instructions: 'tell '.repeat(4000) }, 'agent { id }')

/** The bytes as they are on the wire. */
function raw(headers: Record<string, string>, query = long) {
  const all = { 'content-type': 'application/json', authorization: `Bearer ${adminKey}`, ...headers }
  return new Promise<{ headers: IncomingHttpHeaders; bytes: Buffer }>((resolve, reject) => {
    const request = httpRequest(`${h.url}/graphql`, { method: 'POST', headers: all }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => resolve({ headers: response.headers, bytes: Buffer.concat(chunks) }))
    })
    request.on('error', reject)
    request.end(JSON.stringify({ query }))
  })
}

/** The answer without what its caller may still ask for, which each request lowers. */
const sameCost = (bytes: Buffer) => bytes.toString().replace(/"currentlyAvailable":\d+/, '')

const paths = [
  ['without web requests', {}],
  ['of Yoga', { accept: 'application/json;q=1' }],
  ['of Yoga for another origin', { origin: 'https://app.example' }],
] as [string, Record<string, string>][]

test.each(paths)(
  'a long answer on the path %s is gzip for who accepts it, and the same text',
  async (_name, more) => {
    const plain = await raw(more)
    const small = await raw({ ...more, 'accept-encoding': 'br;q=1, gzip;q=0.8' })
    expect(plain.headers['content-encoding']).toBeUndefined()
    expect(small.headers['content-encoding']).toBe('gzip')
    expect(small.headers['content-length']).toBe(String(small.bytes.length))
    expect(sameCost(gunzipSync(small.bytes))).toBe(sameCost(plain.bytes))
    expect(small.bytes.length).toBeLessThan(plain.bytes.length / 10)
    for (const { headers } of [plain, small]) expect(headers['vary']).toMatch(/accept-encoding/)
    expect(small.headers['access-control-allow-origin']).toBe(more['origin'])
    if (more['origin']) expect(small.headers['vary']).toMatch(/origin/i)
  },
)

test.each(paths)(
  'a short answer, and one whose client refuses gzip, stay as they are on the path %s',
  async (_name, more) => {
    const short = await raw({ ...more, 'accept-encoding': 'gzip' }, '{ viewer { id } }')
    const refused = await raw({ ...more, 'accept-encoding': 'gzip;q=0, br' })
    for (const { headers, bytes } of [short, refused]) {
      expect(headers['content-encoding']).toBeUndefined()
      expect(JSON.parse(bytes.toString())).toHaveProperty('data')
    }
  },
)

test('an event stream is never held back to be compressed', async () => {
  const response = await fetch(`${h.url}/graphql`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'text/event-stream',
      'accept-encoding': 'gzip',
      authorization: `Bearer ${adminKey}`,
    },
    body: JSON.stringify({ query: 'subscription { projectEvents(after: "0") { cursor } }' }),
  })
  expect(response.headers.get('content-encoding')).toBe('none')
  const reader = response.body!.getReader()
  expect((await reader.read()).value!.length).toBeGreaterThan(0)
  await reader.cancel()
})
