/** GraphQL over WebSocket, tested with raw frames: close codes, and the isolation of clients from each other. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { adminKey, openHarness } from '../../support/harness.ts'
import { openAcknowledged, openRaw, upgradeStatus } from './raw-socket.ts'
import { forFile } from '../../support/for-file.ts'

const h = await forFile(
  openHarness({ corsOrigins: ['https://app.example'] }, { sockets: { initTimeoutMs: 1500, operations: 3 } }),
)

const init = { type: 'connection_init', payload: { authorization: `Bearer ${adminKey}` } }
const subscribe = (id: string, query: string, variables?: object) => ({
  id,
  type: 'subscribe',
  payload: { query, variables },
})
const feed = 'subscription { projectEvents { type cursor } }'

async function newKey(input: object = {}): Promise<{ id: string; secret: string }> {
  const made = await h.mutate(
    'createApiKey',
    { name: 'socket', role: 'ADMIN', ...input },
    'apiKey { id } secret',
  )
  return { id: made['apiKey'].id, secret: made['secret'] }
}

describe('a socket is closed with the code of the protocol', () => {
  test('4406 when it offers no supported subprotocol', async () => {
    const socket = await openRaw(h.url, { protocol: null })
    expect(await socket.closed).toMatchObject({ code: 4406 })
  })

  test.each([
    ['is not JSON', 'no json'],
    ['is JSON but no object', '"text"'],
    ['has an unknown type', { type: 'start' }],
    ['has no type', {}],
    ['subscribes without an id', { type: 'subscribe', payload: { query: '{ __typename }' } }],
    ['subscribes with an empty id', { id: '', type: 'subscribe', payload: { query: '{ __typename }' } }],
    ['subscribes without a payload', { id: '1', type: 'subscribe' }],
    ['subscribes without a query', { id: '1', type: 'subscribe', payload: {} }],
    [
      'has variables that are a list',
      { id: '1', type: 'subscribe', payload: { query: '{ __typename }', variables: 'x' } },
    ],
  ])('4400 when a message %s', async (_what, message) => {
    const socket = await openAcknowledged(h.url, adminKey)
    socket.send(message)
    expect(await socket.closed).toMatchObject({ code: 4400 })
  })

  test('4401 when it subscribes before it is acknowledged', async () => {
    const socket = await openRaw(h.url)
    socket.send(subscribe('1', '{ __typename }'))
    expect(await socket.closed).toMatchObject({ code: 4401 })
  })

  test('4408 when it sends no connection_init in time', async () => {
    const socket = await openRaw(h.url)
    expect(await socket.closed).toMatchObject({ code: 4408 })
  })

  test('1013 when its key cannot be looked up in time', async () => {
    const small = await openHarness({ databaseUrl: null }, { sockets: { initTimeoutMs: 1000 } })
    let release = () => {}
    const held = new Promise<void>((resolve) => (release = resolve))
    let isHeld = () => {}
    const holding = new Promise<void>((resolve) => (isHeld = resolve))
    // The embedded database does one thing at a time.
    const blocked = small.app.services.db.transaction(() => (isHeld(), held))
    await holding
    const socket = await openRaw(small.url)
    socket.send({ type: 'connection_init', payload: { authorization: `Bearer gh_${'x'.repeat(40)}` } })
    expect(await socket.closed).toMatchObject({ code: 1013 })
    release()
    await blocked
    await small.stop()
  })

  test('and is cut off when its client does not confirm that', async () => {
    const { port } = new URL(h.url)
    const socket = connect(Number(port), '127.0.0.1')
    socket.write(
      'GET /graphql HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n' +
        'Sec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n',
    )
    let said = ''
    socket.on('data', (bytes) => (said += bytes.toString('latin1')))
    await once(socket, 'close')
    expect(said).toMatch(/^HTTP\/1.1 101 /)
  })

  test('4429 when it sends connection_init twice', async () => {
    const socket = await openAcknowledged(h.url, adminKey)
    socket.send(init)
    expect(await socket.closed).toMatchObject({ code: 4429 })
  })

  test('4409 when an id is used twice at the same time', async () => {
    const socket = await openAcknowledged(h.url, adminKey)
    socket.send(subscribe('1', feed))
    socket.send(subscribe('1', feed))
    expect(await socket.closed).toMatchObject({ code: 4409 })
  })

  test('1009 when a message is far larger than what HTTP takes, or large before a key was shown', async () => {
    const socket = await openAcknowledged(h.url, adminKey)
    socket.send(subscribe('1', `{ __typename } # ${'x'.repeat(2 * 1024 * 1024)}`))
    expect(await socket.closed).toMatchObject({ code: 1009 })
    const early = await openRaw(h.url)
    early.send({ ...init, payload: { ...init.payload, padding: 'x'.repeat(256 * 1024) } })
    expect(await early.closed).toMatchObject({ code: 1009 })
  })

  test('4403 when the key is missing, wrong, malformed or revoked', async () => {
    const revoked = await newKey()
    await h.mutate('revokeApiKey', { id: revoked.id }, 'apiKey { id }')
    const payloads = [
      undefined,
      {},
      { authorization: 7 },
      { authorization: adminKey },
      { authorization: `Bearer ${adminKey}x` },
      { authorization: `Bearer ${revoked.secret}` },
    ]
    for (const payload of payloads) {
      const socket = await openRaw(h.url)
      socket.send({ type: 'connection_init', payload })
      expect(await socket.closed).toEqual({ code: 4403, reason: 'Forbidden' })
    }
  })

  test('1001 when the server stops, for every socket, also one that does not respond', async () => {
    const other = await openHarness()
    const [quiet, busy, dead] = await Promise.all([
      openAcknowledged(other.url, adminKey),
      openAcknowledged(other.url, adminKey),
      openAcknowledged(other.url, adminKey),
    ])
    busy.send(subscribe('1', feed))
    dead.ws.pause()
    await Promise.all([other.stop(), quiet.closed, busy.closed])
    expect(await quiet.closed).toMatchObject({ code: 1001 })
    expect(await busy.closed).toMatchObject({ code: 1001 })
    expect(other.app.sockets!.count()).toBe(0)
    dead.ws.terminate()
  })
})

describe('an acknowledged socket', () => {
  test('responds to a ping with a pong and its payload', async () => {
    const socket = await openRaw(h.url)
    socket.send({ type: 'ping', payload: { n: 1 } })
    expect(await socket.next()).toEqual({ type: 'pong', payload: { n: 1 } })
    socket.ws.close()
  })

  test('can be authenticated with the header of the upgrade', async () => {
    const socket = await openRaw(h.url, { headers: { authorization: `Bearer ${adminKey}` } })
    socket.send({ type: 'connection_init' })
    expect(await socket.next()).toEqual({ type: 'connection_ack' })
    socket.ws.close()
  })

  test('runs queries and mutations as well as subscriptions', async () => {
    const socket = await openAcknowledged(h.url, adminKey)
    socket.send(subscribe('q', '{ viewer { name } }'))
    expect(await socket.next((m) => m.id === 'q')).toMatchObject({
      payload: { data: { viewer: { name: 'operator' } } },
    })
    expect(await socket.next((m) => m.id === 'q')).toEqual({ id: 'q', type: 'complete' })
    socket.send(
      subscribe('m', 'mutation($i: CreateProjectInput!) { createProject(input: $i) { __typename } }', {
        i: { name: 'p' },
      }),
    )
    expect(await socket.next((m) => m.id === 'm')).toMatchObject({
      payload: { data: { createProject: { __typename: 'ProjectPayload' } } },
    })
    socket.ws.close()
  })

  test('keeps its other operations when one is invalid in any way', async () => {
    const socket = await openAcknowledged(h.url, adminKey)
    socket.send(subscribe('live', feed))
    expect(await socket.next((m) => m.id === 'live')).toMatchObject({
      payload: { data: { projectEvents: { type: 'STREAM_STARTED' } } },
    })
    const faulty = {
      syntax: ['{ viewer {', {}],
      validation: ['{ nothing }', {}],
      variables: ['query($id: ID!) { tool(id: $id) { id } }', { id: { secret: 'hidden' } }],
      operation: ['fragment F on Query { __typename }', {}],
      depth: [`{ viewer { project { id } } ${'...on Query { viewer { project { id } } }'.repeat(300)} }`, {}],
      subscription: ['subscription { generationEvents(generationId: "gen_none") { cursor } }', {}],
    } as const
    for (const [id, [query, variables]] of Object.entries(faulty)) {
      socket.send(subscribe(id, query, variables))
      const answer = await socket.next((m) => m.id === id)
      const errors = answer.type === 'error' ? answer.payload : answer.payload.errors
      expect(errors[0].message).toEqual(expect.any(String))
      expect(JSON.stringify(answer)).not.toMatch(/hidden|"http"/)
    }
    await h.mutate('createProject', { name: 'elsewhere' }, 'project { id }')
    await newKey()
    expect(await socket.next((m) => m.id === 'live')).toMatchObject({
      payload: { data: { projectEvents: { type: 'API_KEY_CREATED' } } },
    })
    socket.ws.close()
  })

  test('takes what HTTP takes, and ends one operation alone that is larger', async () => {
    const socket = await openAcknowledged(h.url, adminKey)
    socket.send(subscribe('feed', feed))
    const large = (bytes: number) => ({ query: '{ __typename }', variables: { unused: 'x'.repeat(bytes) } })
    socket.send({ id: '1', type: 'subscribe', payload: large(900_000) })
    expect(await socket.next(({ id }) => id === '1')).toMatchObject({ type: 'next', payload: { data: {} } })
    socket.send({ id: '2', type: 'subscribe', payload: large(1_500_000) })
    expect(await socket.next(({ id }) => id === '2')).toMatchObject({
      type: 'error',
      payload: [{ message: 'The operation is larger than 1048576 bytes.', extensions: { code: 'INVALID' } }],
    })
    await socket.next(({ id }) => id === 'feed')
    await newKey()
    expect(await socket.next(({ id }) => id === 'feed')).toMatchObject({ type: 'next' })
    socket.ws.close()
  })

  test('runs a limited number of operations at the same time, and more when some have ended', async () => {
    const socket = await openAcknowledged(h.url, adminKey)
    for (const id of ['1', '2', '3', '4']) socket.send(subscribe(id, feed))
    const refused = await socket.next((m) => m.type === 'error')
    expect(refused).toMatchObject({ id: '4', payload: [{ extensions: { code: 'LIMITED' } }] })
    socket.send({ id: '1', type: 'complete' })
    socket.send(subscribe('5', '{ __typename }'))
    expect(await socket.next((m) => m.id === '5')).toMatchObject({ type: 'next' })
    socket.ws.close()
  })

  test('leaves no stream behind when it completes an operation that has not begun, or disconnects', async () => {
    const socket = await openAcknowledged(h.url, adminKey)
    for (const id of ['1', '2', '3']) {
      socket.send(subscribe(id, feed))
      socket.send({ id, type: 'complete' })
    }
    socket.send(subscribe('4', feed))
    await socket.next((m) => m.id === '4')
    await expect.poll(() => h.app.services.broadcaster.topicCount()).toBe(1)
    socket.ws.terminate()
    await expect.poll(() => h.app.services.broadcaster.topicCount()).toBe(0)
  })
})

describe('the key decides how long a socket lives', () => {
  test('a revoked key closes its open sockets with 4403 and no others', async () => {
    const key = await newKey()
    const socket = await openAcknowledged(h.url, key.secret)
    const other = await openAcknowledged(h.url, adminKey)
    socket.send(subscribe('1', feed))
    await h.mutate('revokeApiKey', { id: key.id }, 'apiKey { id }')
    expect(await socket.closed).toEqual({ code: 4403, reason: 'Forbidden' })
    other.send({ type: 'ping' })
    expect(await other.next()).toEqual({ type: 'pong' })
    other.ws.close()
  })

  test('a key that expires closes its sockets with 4403 at that time', async () => {
    const key = await newKey({ expiresAt: new Date(Date.now() + 1200).toISOString() })
    const socket = await openAcknowledged(h.url, key.secret)
    expect(await socket.closed).toEqual({ code: 4403, reason: 'Forbidden' })
  })

  test('a key that expires in years keeps its socket', async () => {
    const key = await newKey({ expiresAt: '2099-01-01T00:00:00.000Z' })
    const socket = await openAcknowledged(h.url, key.secret)
    socket.send({ type: 'ping' })
    expect(await socket.next()).toEqual({ type: 'pong' })
    socket.ws.close()
  })

  test('a key that sends too many requests is closed with "try again later", not "forbidden"', async () => {
    const slow = await openHarness({ requestsPerMinute: 1 })
    const first = await openAcknowledged(slow.url, adminKey)
    first.send(subscribe('1', '{ __typename }'))
    expect(await first.next()).toMatchObject({
      type: 'error',
      payload: [{ extensions: { code: 'LIMITED' } }],
    })
    const second = await openRaw(slow.url)
    second.send(init)
    expect(await second.closed).toMatchObject({ code: 1013 })
    await slow.stop()
  })
})

describe('the upgrade', () => {
  test('is refused for a foreign origin and for one that is no URL', async () => {
    for (const origin of ['https://evil.example', 'null', 'https://app.example.evil.example'])
      expect(await upgradeStatus(h.url, { origin })).toBe(403)
  })

  test('is accepted for the own origin, for a configured one, and for programs without an origin', async () => {
    for (const headers of [{ origin: h.url }, { origin: 'https://app.example' }, {}])
      expect(await upgradeStatus(h.url, headers as Record<string, string>)).toBe(101)
  })

  test('is accepted for the public URL, also when a proxy passes on another Host', async () => {
    const behind = await openHarness({ publicUrl: 'https://gate.example:8443' })
    const host = new URL(behind.url).host
    expect(await upgradeStatus(behind.url, { origin: 'https://gate.example:8443', host })).toBe(101)
    expect(await upgradeStatus(behind.url, { origin: 'https://gate.example', host })).toBe(403)
    await behind.stop()
  })

  test('is closed when a client sends more messages than it may', async () => {
    const small = await openHarness({}, { sockets: { messages: 5 } })
    const socket = await openAcknowledged(small.url, adminKey)
    for (let i = 0; i < 5; i++) socket.send({ type: 'ping' })
    expect(await socket.closed).toMatchObject({ code: 4429 })
    await small.stop()
  })
})
