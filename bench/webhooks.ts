/** Measures how fast a backlog of events is delivered to one webhook, on PostgreSQL. The receiver is this process. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import postgres from 'postgres'
import { report, type Row } from './report.ts'
import { cpuDuring, openServer, type BenchServer } from './server.ts'

const events = 10_000

/** Counts requests; `next` resolves when so many more have arrived. */
async function openReceiver() {
  let left = 0
  let resolveNext = () => {}
  let firstAt = 0
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(204).end()
      if (firstAt === 0) firstAt = performance.now()
      if (--left === 0) resolveNext()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    host,
    /** Seconds from the first of `count` requests to the last. */
    next: (count: number) =>
      new Promise<number>((resolve) => {
        left = count
        firstAt = 0
        resolveNext = () => resolve((performance.now() - firstAt) / 1000)
      }),
    close: () => server.closeAllConnections(),
  }
}

/** Writes events of the first project, and waits until all have their positions. */
async function writeEvents(url: string): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  await sql`insert into events (project_id, type, data, commit_order)
    select p.id, 'AGENT_CREATED', jsonb_build_object('agentId', 'agt_' || n, 'name', 'n' || n, 'version', 1), n
    from (select id from projects limit 1) as p, generate_series(1, ${events}::int) as n`
  await sql`vacuum analyze events`
  let count = 1
  while (count > 0) {
    const [row] = await sql`select (number_waiting_events(true, 2000)->>'count')::int as count`
    count = row!['count'] as number
  }
  await sql.end()
}

const create = `mutation($i: CreateWebhookInput!) { createWebhook(input: $i) {
  ... on WebhookPayload { webhook { id } } ... on Error { message } } }`

async function measureOne(
  server: BenchServer,
  receiver: Awaited<ReturnType<typeof openReceiver>>,
  name: string,
  more: object,
): Promise<Row> {
  const done = receiver.next(events)
  let seconds = 0
  const cpuMs = await cpuDuring(server, async () => {
    const i = { url: `http://${receiver.host}/`, after: '0', types: ['AGENT_CREATED'], ...more }
    const { createWebhook } = await server.gql(create, { i })
    seconds = await done
    await server.gql('mutation($i: DeleteWebhookInput!) { deleteWebhook(input: $i) { __typename } }', {
      i: { webhookId: createWebhook.webhook.id },
    })
  })
  return { case: name, figures: { 'events/s': events / seconds, 'CPU us/event': (cpuMs / events) * 1000 } }
}

export async function measureWebhooks(): Promise<void> {
  const receiver = await openReceiver()
  const server = await openServer('postgres', { upstream: receiver.host })
  await writeEvents(server.databaseUrl!)
  const rows = []
  // The first one finds cold code and empty caches.
  await measureOne(server, receiver, 'warm', {})
  for (const [name, more] of [
    ['eight at a time', {}],
    ['in order', { ordered: true }],
  ] as const)
    rows.push(await measureOne(server, receiver, name, more))
  await server.close()
  receiver.close()
  report('webhooks', `A backlog of ${events} events to one webhook`, rows)
}
