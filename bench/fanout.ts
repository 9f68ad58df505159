/** Measures one event to many subscribers against a raw broadcast of the same bytes in the same run. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocketServer } from 'ws'
import { gather, type Crowd } from './crowd.ts'
import { key, openServer, type BenchServer } from './server.ts'
import { ms, percentile, show } from './table.ts'

const rounds = 20

async function ours(count: number): Promise<number[]> {
  const services = await openServer('postgres')
  const payload = { query: 'subscription { projectEvents(types: [AGENT_CREATED]) { cursor type } }' }
  const crowd = await gather({
    url: `${services.app.url.replace('http', 'ws')}/graphql`,
    count,
    greetings: [
      JSON.stringify({ type: 'connection_init', payload: { authorization: `Bearer ${key}` } }),
      JSON.stringify({ id: '1', type: 'subscribe', payload }),
    ],
  })
  // The last subscriptions must be open before the first event.
  await new Promise((resolve) => setTimeout(resolve, 2000))
  let n = 0
  const times = await repeat(crowd, () => createAgent(services, ++n))
  await crowd.close()
  await services.close()
  return times
}

async function createAgent(services: BenchServer, n: number): Promise<void> {
  const query = 'mutation($i: CreateAgentInput!) { createAgent(input: $i) { __typename } }'
  await services.gql(query, { i: { name: `agent ${n}` } })
}

async function raw(count: number): Promise<number[]> {
  const server = createServer()
  const wss = new WebSocketServer({ server, perMessageDeflate: false })
  // The subscribers close their sockets without a closing handshake.
  wss.on('connection', (socket) => socket.on('error', () => {}))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const crowd = await gather({ url: `ws://127.0.0.1:${port}`, count, greetings: [] })
  const cursor = Buffer.alloc(90).toString('base64url')
  const message = JSON.stringify({
    id: '1',
    type: 'next',
    payload: { data: { projectEvents: { cursor, type: 'AGENT_CREATED' } } },
  })
  const times = await repeat(crowd, async () => {
    for (const client of wss.clients) client.send(message)
  })
  await crowd.close()
  server.close()
  return times
}

async function repeat(crowd: Crowd, send: () => Promise<void>): Promise<number[]> {
  await crowd.round(send)
  const times: number[] = []
  for (let i = 0; i < rounds; i++) times.push(...(await crowd.round(send)))
  return times
}

export async function measureFanout(): Promise<void> {
  const rows = []
  for (const count of [1000, 10_000]) {
    const [ownTimes, rawTimes] = [await ours(count), await raw(count)]
    const [own99, raw99] = [percentile(ownTimes, 0.99), percentile(rawTimes, 0.99)]
    rows.push({
      subscribers: count,
      'ours p50 ms': ms(percentile(ownTimes, 0.5)),
      'ours p99 ms': ms(own99),
      'raw p50 ms': ms(percentile(rawTimes, 0.5)),
      'raw p99 ms': ms(raw99),
      'p99 ratio': Number((own99 / raw99).toFixed(2)),
    })
  }
  show('Fan-out of one event (ours: from the mutation to every subscriber; raw: from the send)', rows)
}
