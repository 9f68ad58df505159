/** A process that stops gives back what it has not begun: calls of a step that wait for a free place, and the rest of a batch. */
import { expect, test } from 'vitest'
import { hasPostgres, postgresDatabase } from '../support/databases.ts'
import { adminKey, openHarness, type Harness } from '../support/harness.ts'
import { startLoopback, type Loopback } from '../support/loopback.ts'
import { objectSchema } from '../support/fixtures.ts'

interface Held extends Loopback {
  /** Resolves when this many requests have arrived. */
  arrived(count: number): Promise<void>
  /** Answers those that wait, and all that follow. */
  open(): void
}

async function holding(): Promise<Held> {
  const waiting: (() => void)[] = []
  let isOpen = false
  const server = await startLoopback((_request, response) => {
    const answer = () => void response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    if (isOpen) answer()
    else waiting.push(answer)
  })
  return {
    ...server,
    async arrived(count) {
      while (server.seen.length < count) await new Promise((resolve) => setImmediate(resolve))
    },
    open() {
      isOpen = true
      waiting.splice(0).forEach((answer) => answer())
    },
  }
}

const payTool = async (h: Harness, url: string): Promise<string> => {
  const config = { http: { url, inputSchema: objectSchema({ n: { type: 'number' } }) } }
  return (await h.mutate('createTool', { name: 'pay', config }, 'tool { id }'))['tool'].id
}

const calls = 20
/** The most calls of one run that are under way. */
const places = 8

test.runIf(hasPostgres)(
  'of a step of twenty calls, those that wait for a place at the signal are run by the next process, each once',
  async () => {
    const { url: databaseUrl, drop } = await postgresDatabase()
    const upstream = await holding()
    const first = await openHarness({ databaseUrl })
    const toolId = await payTool(first, `${upstream.url}/pay`)
    const input = { name: 'payer', model: 'builtin/rehearsal', toolIds: [toolId] }
    const { agent } = await first.mutate('createAgent', input, 'agent { id }')
    const prompt = Array.from({ length: calls }, (_, n) => `call pay {"n":${n}}`).join('\n')
    const asked = { agentId: agent.id, prompt: `${prompt}\nthen\nsay done` }
    const { generation } = await first.mutate('startGeneration', asked, 'generation { id }')
    await upstream.arrived(places)

    const stopped = first.app.stop(10_000)
    upstream.open()
    await stopped
    expect(upstream.seen).toHaveLength(places)

    const second = await openHarness({ databaseUrl })
    const ended = await second.until(generation.id, ['COMPLETED', 'FAILED'], 'toolCalls { status }')
    expect(ended['status']).toBe('COMPLETED')
    expect(ended['toolCalls'].map(({ status }: { status: string }) => status)).toEqual(
      Array.from({ length: calls }, () => 'SUCCEEDED'),
    )
    const bodies = upstream.seen.map(({ body }) => JSON.parse(body).n as number).toSorted((a, b) => a - b)
    expect(bodies, 'each was sent once').toEqual(Array.from({ length: calls }, (_, n) => n))
    await second.stop()
    await upstream.close()
    await drop()
  },
)

test('the rest of a batch of direct calls is refused, and was not run', async () => {
  const upstream = await holding()
  const h = await openHarness()
  const toolId = await payTool(h, `${upstream.url}/pay`)
  const one = (n: number) => `c${n}: callTool(input: { toolId: $id, arguments: { n: ${n} } }) {
    __typename ... on ToolCallPayload { toolCall { status } } ... on Error { code } }`
  const batch = fetch(`${h.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${adminKey}` },
    body: JSON.stringify({
      query: `mutation($id: ID!) { ${one(0)} ${one(1)} ${one(2)} }`,
      variables: { id: toolId },
    }),
  })
  await upstream.arrived(1)
  const stopped = h.app.stop(10_000)
  while (!h.app.services.heartbeat.isClosed()) await new Promise((resolve) => setImmediate(resolve))
  upstream.open()
  const text = await (await batch).text()
  await stopped
  expect(text).toContain('"c0":{"__typename":"ToolCallPayload","toolCall":{"status":"SUCCEEDED"}}')
  expect(text).toContain('"c1":{"__typename":"LimitReachedError","code":"LIMITED"}')
  expect(upstream.seen).toHaveLength(1)
  await upstream.close()
})
