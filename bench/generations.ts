/** Measures generations that pause for a client tool and resume: how many per second, and the time until they wait. */
import { createClient } from 'graphql-ws'
import { WebSocket } from 'ws'
import { key, openServer, type BenchServer } from './server.ts'
import { inLanes, ms, percentile, show } from './table.ts'

const prompt = 'call ask {"word":"x"}\nthen\nsay done'
const start = `mutation($i: StartGenerationInput!) { startGeneration(input: $i) {
  ... on StartGenerationPayload { generation { id } } ... on Error { message } } }`
const submit = `mutation($i: SubmitToolOutputsInput!) { submitToolOutputs(input: $i) {
  ... on SubmitToolOutputsPayload { outcomes { status } } ... on Error { message } } }`
const watch = `subscription($p: [EventType!]) { projectEvents(types: $p) { type
  ... on RequiresActionEvent { generationId toolCalls { id } } ... on GenerationCompletedEvent { generationId } } }`

/** One subscriber gets the events of all generations, as a dashboard or a client that runs tools does. */
function listen(services: BenchServer) {
  const waiting = new Map<string, (toolCallId: string) => void>()
  const early = new Map<string, string>()
  const client = createClient({
    url: `${services.app.url.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: `Bearer ${key}` },
  })
  const variables = { p: ['REQUIRES_ACTION', 'GENERATION_COMPLETED'] }
  const next = (result: { data?: Record<string, any> | null }) => {
    const event = result.data?.['projectEvents']
    const place = `${event.generationId}:${event.type}`
    const id = event.toolCalls?.[0]?.id ?? ''
    const wake = waiting.get(place)
    if (wake) wake(id)
    else early.set(place, id)
  }
  client.subscribe({ query: watch, variables }, { next, error: console.error, complete: () => {} })
  return {
    event: (generationId: string, type: string) =>
      new Promise<string>((resolve) => {
        const place = `${generationId}:${type}`
        const known = early.get(place)
        early.delete(place)
        if (known !== undefined) resolve(known)
        else waiting.set(place, (id) => (waiting.delete(place), resolve(id)))
      }),
    close: () => client.dispose(),
  }
}

export async function measureGenerations(): Promise<void> {
  const rows = []
  for (const kind of ['postgres', 'pglite'] as const) {
    const services = await openServer(kind)
    const inputSchema = { type: 'object', properties: { word: { type: 'string' } } }
    const made = await services.gql(
      'mutation($i: CreateToolInput!) { createTool(input: $i) { ... on CreateToolPayload { tool { id } } } }',
      { i: { name: 'ask', config: { client: { inputSchema } } } },
    )
    const agent = await services.gql(
      'mutation($i: CreateAgentInput!) { createAgent(input: $i) { ... on CreateAgentPayload { agent { id } } } }',
      { i: { name: 'bench', toolIds: [made['createTool'].tool.id] } },
    )
    const agentId = agent['createAgent'].agent.id as string
    const news = listen(services)
    await new Promise((resolve) => setTimeout(resolve, 200))
    const waits: number[] = []
    const one = async () => {
      const began = performance.now()
      const { startGeneration } = await services.gql(start, { i: { agentId, prompt } })
      const generationId = startGeneration.generation.id as string
      const toolCallId = await news.event(generationId, 'REQUIRES_ACTION')
      waits.push(performance.now() - began)
      await services.gql(submit, { i: { generationId, outputs: [{ toolCallId, output: 'ok' }] } })
      await news.event(generationId, 'GENERATION_COMPLETED')
    }
    await inLanes(200, 16, one)
    for (const concurrency of [1, 32]) {
      waits.length = 0
      const total = concurrency === 1 ? 300 : kind === 'postgres' ? 3000 : 1000
      const before = process.cpuUsage()
      const seconds = await inLanes(total, concurrency, one)
      const cpu = process.cpuUsage(before)
      rows.push({
        database: kind,
        'at once': concurrency,
        'generations/s': Math.round(total / seconds),
        'to requires_action p50 ms': ms(percentile(waits, 0.5)),
        'p99 ms': ms(percentile(waits, 0.99)),
        'CPU ms each (client and server)': ms((cpu.user + cpu.system) / 1000 / total),
      })
    }
    await news.close()
    await services.close()
  }
  show('Pause-and-resume generations (create, pause, submit, complete), rehearsal model', rows)
}
