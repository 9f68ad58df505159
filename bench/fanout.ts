/** Measures one event to many subscribers against a raw broadcast of the same bytes in the same run. */
import { gather, type Crowd } from './crowd.ts'
import { startPeer } from './peer.ts'
import { report } from './report.ts'
import { cpuDuring, key, openServer, type BenchServer, type Usage } from './server.ts'
import { median, pause, percentile } from './statistics.ts'

const rounds = 20

interface Delivered {
  /** Of each round: the milliseconds after which half of the subscribers, and 99 %, had the event. */
  rounds: { p50: number; p99: number }[]
  /** CPU microseconds of the server for one delivery. */
  cpuUs: number
  /** Resident memory of the server for one subscriber, in bytes. */
  rssEach: number
}

async function ours(count: number): Promise<Delivered> {
  const server = await openServer('postgres', { connections: 20_000 })
  // From a place that is named no start of the stream is told, which would count as an event.
  const { viewer } = await server.gql('{ viewer { project { feedCursor } } }', {})
  const query =
    'subscription($after: String) { projectEvents(after: $after, types: [AGENT_CREATED]) { cursor type } }'
  const payload = { query, variables: { after: viewer.project.feedCursor } }
  const greetings = [
    JSON.stringify({ type: 'connection_init', payload: { authorization: `Bearer ${key}` } }),
    JSON.stringify({ id: '1', type: 'subscribe', payload }),
  ]
  const before = await server.usage()
  const crowd = await gather({ url: `${server.url.replace('http', 'ws')}/graphql`, count, greetings })
  // The last subscriptions must be open before the first event.
  await pause(2000)
  let n = 0
  const delivered = await deliver(server, before, crowd, count, () => createAgent(server, ++n))
  await crowd.close()
  await server.close()
  return delivered
}

async function createAgent(server: BenchServer, n: number): Promise<void> {
  const query = 'mutation($i: CreateAgentInput!) { createAgent(input: $i) { __typename } }'
  await server.gql(query, { i: { name: `agent ${n}` } })
}

async function raw(count: number): Promise<Delivered> {
  const peer = await startPeer('raw-broadcast')
  const before = await peer.usage()
  const crowd = await gather({ url: peer.url.replace('http', 'ws'), count, greetings: [] })
  const cursor = Buffer.alloc(90).toString('base64url')
  const data = { projectEvents: { cursor, type: 'AGENT_CREATED' } }
  const message = JSON.stringify({ id: '1', type: 'next', payload: { data } })
  const delivered = await deliver(peer, before, crowd, count, () => peer.act(message))
  await crowd.close()
  await peer.close()
  return delivered
}

async function deliver(
  server: { usage(): Promise<Usage> },
  before: Usage,
  crowd: Crowd,
  count: number,
  send: () => Promise<void>,
): Promise<Delivered> {
  await crowd.round(send)
  const { rss } = await server.usage()
  const measured: Delivered['rounds'] = []
  const cpu = await cpuDuring(server, async () => {
    for (let i = 0; i < rounds; i++) {
      const times = await crowd.round(send)
      measured.push({ p50: percentile(times, 0.5), p99: percentile(times, 0.99) })
    }
  })
  return { rounds: measured, cpuUs: (cpu * 1000) / (rounds * count), rssEach: (rss - before.rss) / count }
}

/** The round in the middle: other load on the machine makes some rounds slow. */
function usual({ rounds: measured }: Delivered, share: 'p50' | 'p99'): number {
  return median(measured.map((round) => round[share]))
}

export async function measureFanout(): Promise<void> {
  const rows = []
  for (const count of [1000, 10_000]) {
    const [own, bare] = [await ours(count), await raw(count)]
    rows.push({
      case: `${count} subscribers`,
      figures: {
        'ours p50 ms': usual(own, 'p50'),
        'ours p99 ms': usual(own, 'p99'),
        'raw p50 ms': usual(bare, 'p50'),
        'raw p99 ms': usual(bare, 'p99'),
        'ratio p99': usual(own, 'p99') / usual(bare, 'p99'),
        'ours CPU us': own.cpuUs,
        'raw CPU us': bare.cpuUs,
        'ratio CPU': own.cpuUs / bare.cpuUs,
        'ours KB each': own.rssEach / 1000,
        'raw KB each': bare.rssEach / 1000,
      },
    })
  }
  report(
    'fanout',
    'One event to all subscribers, the usual round (ours: from the mutation; raw: from the send)',
    rows,
  )
}
