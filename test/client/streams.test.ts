/** Streams of the client: every event once, in order, whatever happens to the connections and however slowly they are read. */
import { sql } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { followProject, isLastEvent } from '../../client/core.ts'
import * as documents from '../../client/documents.ts'
import { EventStream } from '../../client/follow.ts'
import { CursorExpiredError, UnauthenticatedError, type ProjectEvent } from '../../client/index.ts'
import { serverOf } from '../../client/server.ts'
import { socketTransport } from '../../client/socket.ts'
import { startCuttable } from '../support/cuttable.ts'
import { adminKey, openHarness } from '../support/harness.ts'
import { makeFixtures } from '../support/fixtures.ts'
import { startFreezable } from './freezable.ts'
import { clientOf, durable, logOf, transports, watchedCore } from './clients.ts'
import { randomSchedule } from '../support/random.ts'
import { forFile } from '../support/for-file.ts'

const random = randomSchedule()

const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))
const agentId = await fixtures.agent()

/** What is followed on this server. */
const topics = () => h.app.services.broadcaster.topicCount()

test('over a hundred streams use another socket, and none of them is refused', async () => {
  const retries: unknown[] = []
  const client = clientOf(h, WebSocket, { onRetry: (reason) => retries.push(reason) })
  const before = h.app.sockets!.count()
  const streams = Array.from({ length: 130 }, () => client.projectEvents())
  await expect.poll(() => h.app.services.broadcaster.topicCount()).toBe(1)
  const first = Promise.all(streams.map((stream) => stream.next()))
  // Until each has begun to follow.
  const news = setInterval(() => void fixtures.agent().catch(() => {}), 200)
  const events = await first.finally(() => clearInterval(news))
  expect(events.every(({ done }) => !done)).toBe(true)
  expect(retries).toEqual([])
  expect(h.app.sockets!.count() - before).toBe(2)
  await Promise.all(streams.map((stream) => stream.return!()))
  await expect.poll(() => h.app.sockets!.count()).toBe(before)
  client.close()
})

const longPrompt = `slow 15ms\n${Array.from({ length: 12 }, (_, i) => `call look {"word":"w${i}"}\nthen`).join('\n')}
say ${'one word after the other '.repeat(8)}`

describe.each(transports)('over %s', (_name, webSocket) => {
  test('a generation is followed to its end while its connections are cut again and again', async () => {
    const proxy = await startCuttable(h.url)
    let losses = 0
    const client = clientOf(proxy, webSocket, { onRetry: () => losses++ })
    // What has ended comes in one piece, which is cut once.
    const generationId = await fixtures.start(agentId, longPrompt.replace('slow 15ms', 'slow 75ms'))
    let heard = 0
    const cutting = async function* () {
      for await (const event of client.generationEvents(generationId)) {
        yield event
        // At any place of what follows.
        if (++heard % 9 === 0) setTimeout(() => proxy.cut(), random() * 30)
      }
    }
    const events = await durable(cutting())
    expect(events.map(({ cursor }) => cursor)).toEqual(await logOf(h, generationId))
    expect(events.at(-1)?.type).toBe('GENERATION_COMPLETED')
    expect(losses).toBeGreaterThan(2)
    client.close()
    await proxy.close()
  })

  test('a reader that is slower than its small buffer gets every event', async () => {
    const client = clientOf(h, webSocket)
    const generationId = await fixtures.start(agentId, longPrompt)
    await h.until(generationId, ['COMPLETED'])
    const cursors: string[] = []
    for await (const event of client.generationEvents(generationId, { buffer: 3 })) {
      cursors.push(event.cursor)
      // Long enough for whatever is under way to arrive.
      await h.gql('{ viewer { id } }')
    }
    const log = await logOf(h, generationId)
    expect(log.length).toBeGreaterThan(30)
    expect(cursors).toEqual(log)
    client.close()
  })

  test('a stream that was quiet when its connection broke misses nothing of what came meanwhile', async () => {
    const proxy = await startCuttable(h.url)
    let lost = () => {}
    const isLost = new Promise<void>((resolve) => (lost = resolve))
    let requests = 0
    const counted: typeof fetch = (...given) => {
      requests++
      return fetch(...given)
    }
    const options = { url: proxy.url, key: adminKey, webSocket, fetch: counted, onRetry: () => lost() }
    const core = watchedCore(options)
    const stream = followProject(core, { types: ['AGENT_CREATED'] })
    const first = stream.next()
    await core.told(1)
    // The stream itself has told where it is: nothing else was asked.
    expect(requests).toBe(webSocket ? 0 : 1)
    const back = proxy.leave()
    await Promise.all([fixtures.agent(), fixtures.agent()])
    await isLost
    await fixtures.agent()
    back()
    const heard = [await first, await stream.next(), await stream.next()]
    expect(heard.map(({ value }) => value?.type)).toEqual(Array(3).fill('AGENT_CREATED'))
    expect(new Set(heard.map(({ value }) => value?.cursor)).size).toBe(3)
    await stream.return!()
    core.transport.close()
    await proxy.close()
  })

  test('a key that may follow events and read no project follows what comes', async () => {
    const policy = {
      statement: [
        { effect: 'Allow', action: ['events:Subscribe', 'generations:ReachOthers'], resource: ['*'] },
      ],
    }
    const { secret } = await h.mutate('createApiKey', { name: 'feed only', policy }, 'secret')
    const client = clientOf(h, webSocket, { key: secret })
    await expect.poll(topics).toBe(0)
    const stream = client.projectEvents({ types: ['AGENT_CREATED'] })
    const first = stream.next()
    await expect.poll(topics).toBe(1)
    await fixtures.agent()
    expect((await first).value).toMatchObject({ type: 'AGENT_CREATED' })
    await stream.return!()
    client.close()
  })

  test('a project is followed behind a cursor, from one client to the next', async () => {
    const client = clientOf(h, webSocket)
    const { viewer } = await client.query<{ viewer: { project: { feedCursor: string } } }>(
      '{ viewer { project { feedCursor } } }',
    )
    const after = viewer.project.feedCursor
    const generationId = await fixtures.start(agentId, 'call look {"word":"x"}\nthen\nsay done')
    const read = async (from: string, enough: (event: ProjectEvent) => boolean) => {
      const found: ProjectEvent[] = []
      for await (const event of client.projectEvents({ after: from })) {
        found.push(event)
        if (enough(event)) break
      }
      return found
    }
    const all = await read(after, ({ type }) => type === 'GENERATION_COMPLETED')
    const first = await read(after, ({ type }) => type === 'TOOL_CALL_STARTED')
    const rest = await read(first.at(-1)!.cursor, ({ type }) => type === 'GENERATION_COMPLETED')
    expect([...first, ...rest].map(({ cursor }) => cursor)).toEqual(all.map(({ cursor }) => cursor))
    expect(all.length).toBe((await logOf(h, generationId)).length)
    client.close()
  })

  test('a stream ends with UnauthenticatedError when its key is revoked', async () => {
    const made = await h.mutate('createApiKey', { name: 'short', role: 'ADMIN' }, 'secret apiKey { id }')
    const client = clientOf(h, webSocket, { key: made['secret'] })
    const events = client.projectEvents({ after: '0' })
    expect((await events.next()).done).toBe(false)
    await h.mutate('revokeApiKey', { id: made['apiKey'].id }, 'apiKey { id }')
    await expect(
      (async () => {
        for await (const _event of events);
      })(),
    ).rejects.toBeInstanceOf(UnauthenticatedError)
    client.close()
  })

  test('a key that a function renews goes on where the old one ended', async () => {
    const keys = await Promise.all(
      ['old', 'new'].map((name) => h.mutate('createApiKey', { name, role: 'ADMIN' }, 'secret apiKey { id }')),
    )
    let current = 0
    const client = clientOf(h, webSocket, { key: async () => keys[current]!['secret'] })
    const generationId = await fixtures.start(agentId, 'call ask {"word":"x"}\nthen\nsay done')
    const events = client.generationEvents(generationId)
    const found: string[] = []
    for await (const event of events) {
      if (event.type !== 'TEXT_DELTA') found.push(event.cursor)
      if (event.type !== 'REQUIRES_ACTION') continue
      current = 1
      await h.mutate('revokeApiKey', { id: keys[0]!['apiKey'].id }, 'apiKey { id }')
      await fixtures.answer(generationId)
    }
    expect(found).toEqual(await logOf(h, generationId))
    client.close()
  })

  test('a cursor that the log does not hold throws, or begins anew where the caller says', async () => {
    const client = clientOf(h, webSocket)
    const generationId = await fixtures.start(agentId, 'call look {"word":"x"}\nthen\nsay done')
    await h.until(generationId, ['COMPLETED'])
    const log = await logOf(h, generationId)
    await h.app.services.db.execute(sql`delete from events where generation_id = ${generationId} and seq = 2`)
    const after = log[1]!
    const error = await durable(client.generationEvents(generationId, { after })).catch((e: unknown) => e)
    expect(error).toBeInstanceOf(CursorExpiredError)
    expect((error as CursorExpiredError).oldestCursor).not.toBeNull()
    const again = await durable(client.generationEvents(generationId, { after, onCursorExpired: 'oldest' }))
    expect(again.map(({ cursor }) => cursor)).toEqual(log.filter((cursor) => cursor !== after))
    client.close()
  })

  test('a signal ends a stream that waits, and breaking off ends its subscription', async () => {
    const client = clientOf(h, webSocket)
    const stop = new AbortController()
    const events = client.projectEvents({ signal: stop.signal })
    const next = events.next()
    stop.abort(new Error('enough'))
    await expect(next).rejects.toThrow('enough')
    expect(await events.next()).toEqual({ done: true, value: undefined })
    for await (const _event of client.projectEvents({ after: '0' })) break
    client.close()
  })

  test('a generation that has ended is complete behind its last event', async () => {
    const client = clientOf(h, webSocket)
    const generationId = await fixtures.start(agentId, 'say done')
    await h.until(generationId, ['COMPLETED'])
    const after = (await logOf(h, generationId)).at(-1)!
    expect(await durable(client.generationEvents(generationId, { after }))).toEqual([])
    client.close()
  })

  test('what the key may not follow is refused at once', async () => {
    const client = clientOf(h, webSocket)
    await expect(durable(client.generationEvents('gen_01234567890123456789012345'))).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
    client.close()
  })
})

test('what a slow reader has not read is not kept: it is asked for again', async () => {
  let ended = 0
  class Counting extends WebSocket {
    override send(data: unknown): void {
      if (String(data).includes('"complete"')) ended++
      super.send(data as string)
    }
  }
  const client = clientOf(h, Counting)
  const generationId = await fixtures.start(agentId, longPrompt)
  await h.until(generationId, ['COMPLETED'])
  const log = await logOf(h, generationId)
  const events = client.generationEvents(generationId, { buffer: 5 })
  for (const [i, cursor] of log.entries()) {
    expect((await events.next()).value?.cursor).toBe(cursor)
    // As slow as it takes the server to send more than the buffer holds: each time the client ends the subscription.
    if (i % 10 === 0 && i < log.length - 10) await expect.poll(() => ended).toBeGreaterThan(i / 10)
  }
  expect(ended).toBeGreaterThan(3)
  client.close()
})

test('a connection that is open and silent, as after a sleep, is given up and opened anew', async () => {
  const proxy = await startFreezable(h.url)
  const server = serverOf({ url: proxy.url, key: adminKey, webSocket: WebSocket })
  const transport = socketTransport(server, { pingMs: 50, pongMs: 1000 })
  const generationId = await fixtures.start(agentId, 'call ask {"word":"x"}\nthen\nsay done')
  const stream = { query: documents.generationEvents, variables: { generationId }, isLast: isLastEvent }
  const events = new EventStream(server, transport, stream, {})
  const cursors: string[] = []
  for await (const event of events) {
    cursors.push(event.cursor)
    if (event.type !== 'REQUIRES_ACTION') continue
    proxy.freeze()
    await fixtures.answer(generationId)
  }
  expect(cursors).toEqual(await logOf(h, generationId))
  expect(proxy.connections()).toBeGreaterThan(1)
  transport.close()
  await proxy.close()
})
