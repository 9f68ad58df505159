/** What one process owes its subscribers: bounded memory, nobody delayed, nothing left behind, and ten thousand of them. */
import { afterAll, expect, test } from 'vitest'
import { localPubSub, type Hint } from '../../../src/store/pubsub/pubsub.ts'
import {
  feedSource,
  generationSource,
  startBroadcaster,
  type Source,
} from '../../../src/store/events/broadcaster.ts'
import { appendProjectEvents } from '../../../src/store/events/log.ts'
import { numberAll } from '../../../src/store/events/numbering.ts'
import { beginning } from '../../../src/store/events/position.ts'
import { openStream, type StreamItem } from '../../../src/store/events/stream.ts'
import { connect } from '../../../src/store/db/connect.ts'
import { migrate } from '../../../src/store/db/migrate.ts'
import { hasPostgres, memoryDatabase, postgresDatabase } from '../../support/databases.ts'
import { append, makeGenerations, someEvents } from '../../support/log-writer.ts'
import { forFile } from '../../support/for-file.ts'

const projectId = 'proj_live'

const connection = await forFile(connect(await memoryDatabase()))
const pubsub = localPubSub()
const broadcaster = startBroadcaster(connection.db, pubsub)
afterAll(() => broadcaster.close())

function open(id: string, from = broadcaster, db = connection.db) {
  return openStream(from, {
    source: generationSource(db, id),
    after: beginning,
    deltas: true,
    isLast: (type) => type === 'GENERATION_COMPLETED',
  })
}

async function numbersOf(stream: AsyncIterableIterator<StreamItem>): Promise<number[]> {
  const numbers: number[] = []
  for await (const item of stream) if ('event' in item) numbers.push(item.event.seq!)
  return numbers
}

/** The next hint of that kind. */
function hintOf(kind: Hint['kind']): Promise<Hint> {
  return new Promise((resolve) => {
    const stop = pubsub.subscribe((hint) => {
      if (hint.kind !== kind) return
      stop()
      resolve(hint)
    })
  })
}

const upTo = (n: number) => Array.from({ length: n }, (_, i) => i + 1)

test('a subscriber that stands still delays nobody, and gets everything when it goes on', async () => {
  const desk = { db: connection.db, pubsub }
  const [id] = await makeGenerations(connection.db, projectId, 1)
  const still = open(id!)
  await append(desk, projectId, id!, someEvents(1))
  expect(await still.next()).toMatchObject({ value: { event: { seq: 1 } } })
  const quick = numbersOf(open(id!))
  for (let i = 0; i < 300; i++) await append(desk, projectId, id!, someEvents(10))
  await append(desk, projectId, id!, someEvents(1, true))
  expect(await quick).toEqual(upTo(3002))
  expect(await numbersOf(still)).toEqual(upTo(3002).slice(1))
  expect(broadcaster.topicCount()).toBe(0)
})

test.each([
  ['some kinds', ['TOOL_CREATED']],
  ['every kind', null],
])(
  'a subscriber of %s of a feed that falls behind again and again receives each once, in order',
  async (_name, types) => {
    const project = `proj_behind_${types ? 'some' : 'all'}`
    const desk = { db: connection.db, pubsub }
    const [id] = await makeGenerations(connection.db, project, 1)
    const source = feedSource(connection.db, project)
    const stream = openStream(broadcaster, { source, after: beginning, types, deltas: false })
    const told: string[] = []
    const read = async (count: number) => {
      for (let i = 0; i < count; i++) {
        const { value } = await stream.next()
        told.push(`${value.event.type} ${value.event.data['n'] ?? value.event.seq}`)
      }
    }
    const wanted: string[] = []
    for (let round = 0; round < 8; round++) {
      // More than a ring holds, with few of the wanted kind among them; every other time read as it comes.
      const before = wanted.length
      for (let i = 0; i < 30; i++) {
        const seq = await append(desk, project, id!, someEvents(12))
        if (!types) for (let n = 11; n >= 0; n--) wanted.push(`MESSAGE_COMMITTED ${seq - n}`)
        if (i % 10 > 0) continue
        await appendProjectEvents(connection.db, project, [
          { type: 'TOOL_CREATED', data: { n: `${round}/${i}` } },
        ])
        wanted.push(`TOOL_CREATED ${round}/${i}`)
      }
      if (round % 2 > 0) await numberAll(connection.db, pubsub)
      await read(wanted.length - before - (round === 7 ? 0 : 1) + (round > 0 ? 1 : 0))
    }
    expect(told).toEqual(wanted)
    await stream.return!()
  },
)

test('the buffer of a subscriber that does not read is bounded, however many hints are published', async () => {
  const desk = { db: connection.db, pubsub }
  const [id] = await makeGenerations(connection.db, projectId, 1)
  const source = generationSource(connection.db, id!)
  const subscriber = broadcaster.attach(source)
  broadcaster.caughtUp(source, beginning)
  const delta: Hint = {
    kind: 'delta',
    generationId: id!,
    projectId,
    after: 0,
    stepIndex: 1,
    attempt: 1,
    offset: 0,
    text: 'x',
  }
  for (let i = 0; i < 5000; i++) pubsub.publish([delta])
  let waiting = 0
  while (subscriber.shift()) waiting++
  expect(waiting).toBeLessThanOrEqual(256)
  expect(subscriber.behind, 'it knows that it must go back to the table').toBe(true)
  await append(desk, projectId, id!, someEvents(1))
  broadcaster.detach(source, subscriber)
  expect(broadcaster.topicCount()).toBe(0)
})

test('a text on its way never comes before the events that it follows, nor after a newer one', async () => {
  const desk = { db: connection.db, pubsub }
  const [id] = await makeGenerations(connection.db, projectId, 1)
  const order: string[] = []
  const reading = (async () => {
    for await (const item of open(id!))
      order.push('event' in item ? `event ${item.event.seq}` : `text after ${item.delta.after}`)
  })()
  for (let seq = 1; seq <= 40; seq++) {
    await append(desk, projectId, id!, someEvents(1))
    const delta = { kind: 'delta', generationId: id!, projectId, after: seq } as const
    pubsub.publish([{ ...delta, stepIndex: 1, attempt: 1, offset: 0, text: 'x' }])
  }
  await append(desk, projectId, id!, someEvents(1, true))
  await reading
  let newest = 0
  for (const line of order) {
    const number = Number(line.split(' ').at(-1))
    if (line.startsWith('event')) newest = number
    else expect(number, order.join(', ')).toBe(newest)
  }
  expect(order.filter((line) => line.startsWith('text')).length).toBeGreaterThan(0)
})

test('subscribers of a quiet feed are handed a new event: none goes back to the table for it', async () => {
  const desk = { db: connection.db, pubsub }
  const [id] = await makeGenerations(connection.db, 'proj_quiet', 1)
  const [elsewhere] = await makeGenerations(connection.db, 'proj_loud', 1)
  const second = startBroadcaster(connection.db, pubsub, { backstopMs: 5 })
  let reads = 0
  const streams = Array.from({ length: 20 }, (_, i) => {
    const source = feedSource(connection.db, 'proj_quiet')
    // The broadcaster reads by the first one's source.
    const read = async (...args: Parameters<Source['read']>) => {
      const page = await source.read(...args)
      if (i > 0) reads++
      return page
    }
    return openStream(second, { source: { ...source, read }, after: beginning, deltas: false })
  })
  const first = Promise.all(streams.map((stream) => stream.next()))
  await append(desk, 'proj_quiet', id!, someEvents(1))
  await first
  for (let round = 0; round < 5; round++) {
    const next = Promise.all(streams.map((stream) => stream.next()))
    const before = reads
    // The newest position moves on, although nothing happens in this project.
    const numbered = hintOf('numbered')
    await append(desk, 'proj_loud', elsewhere!, someEvents(1))
    await numberAll(connection.db, pubsub)
    expect(await numbered).toMatchObject({ projectId: 'proj_loud' })
    await append(desk, 'proj_quiet', id!, someEvents(1))
    await next
    if (round > 0) expect(reads, `round ${round}`).toBe(before)
  }
  await Promise.all(streams.map((stream) => stream.return!()))
  second.close()
})

test('ending a stream ends a pending wait at once and removes its subscriber', async () => {
  const ids = await makeGenerations(connection.db, projectId, 20)
  const streams = ids.map((id) => open(id))
  const pending = streams.map((stream) => stream.next())
  expect(broadcaster.topicCount()).toBe(20)
  await Promise.all(streams.map((stream) => stream.return!()))
  expect(await Promise.all(pending)).toEqual(ids.map(() => ({ done: true, value: undefined })))
  expect(broadcaster.topicCount()).toBe(0)
  await expect(streams[0]!.throw!(new Error('enough'))).rejects.toThrow('enough')
  expect(await streams[0]!.next()).toEqual({ done: true, value: undefined })
})

test('a stream that can never read its table throws and removes its subscriber', async () => {
  const [id] = await makeGenerations(connection.db, projectId, 1)
  const source = { ...generationSource(connection.db, id!), read: () => Promise.reject(new Error('away')) }
  const stream = openStream(broadcaster, {
    source,
    after: beginning,
    deltas: false,
    patience: { pauseMs: 1, tries: 3 },
  })
  await expect(stream.next()).rejects.toThrow('away')
  expect(broadcaster.topicCount()).toBe(0)
})

test('ten thousand subscribers of a thousand generations each get every event', async () => {
  const made = hasPostgres ? await postgresDatabase() : null
  const own = made ? await connect({ kind: 'postgres', url: made.url, poolSize: 10 }) : connection
  // Connections of its own: on a slow machine ten thousand reads take longer than a statement waits for a connection.
  const writing = made ? await connect({ kind: 'postgres', url: made.url, poolSize: 5 }) : connection
  if (made) await migrate(own)
  const second = startBroadcaster(own.db, pubsub)
  try {
    const desk = { db: writing.db, pubsub }
    const ids = await makeGenerations(own.db, projectId, 1000)
    const began = performance.now()
    const streams = ids.flatMap((id) => Array.from({ length: 10 }, () => open(id, second, own.db)))
    expect(second.topicCount()).toBe(1000)
    const reading = Promise.all(streams.map((stream) => numbersOf(stream)))
    // Some is written while they are still reading the table, some when they listen.
    const write = async () => {
      for (const events of [someEvents(1), someEvents(2), someEvents(1, true)])
        for (const some of Array.from({ length: 20 }, (_, i) => ids.slice(i * 50, i * 50 + 50)))
          await Promise.all(some.map((id) => append(desk, projectId, id, events)))
    }
    const [all] = await Promise.all([reading, write()])
    expect(all.filter((numbers) => numbers.join() !== '1,2,3,4')).toEqual([])
    expect(second.topicCount()).toBe(0)
    console.log(`10,000 subscribers, 40,000 deliveries: ${Math.round(performance.now() - began)} ms`)
  } finally {
    second.close()
    if (made) await Promise.all([own.close(), writing.close()]).then(() => made.drop())
  }
})
