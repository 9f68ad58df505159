/** The unit of the measurements: a generation that pauses for a client tool and is resumed by its output. */
import { createClient } from 'graphql-ws'
import { WebSocket } from 'ws'
import { key, type BenchServer } from './server.ts'
import { pause } from './statistics.ts'

const prompt = 'call ask {"word":"x"}\nthen\nsay done'
const start = `mutation($i: StartGenerationInput!) { startGeneration(input: $i) {
  ... on GenerationPayload { generation { id } } ... on Error { message } } }`
const submit = `mutation($i: SubmitToolOutputsInput!) { submitToolOutputs(input: $i) {
  ... on SubmitToolOutputsPayload { outcomes { status } } ... on Error { message } } }`
const watch = `subscription($p: [EventType!]) { projectEvents(types: $p) { type
  ... on RequiresActionEvent { generationId toolCalls { id } } ... on GenerationCompletedEvent { generationId } } }`

/** One subscriber gets the events of all generations, as a dashboard or a client that runs tools does. */
function listen(server: BenchServer) {
  const waiting = new Map<string, (toolCallId: string) => void>()
  const early = new Map<string, string>()
  const client = createClient({
    url: `${server.url.replace('http', 'ws')}/graphql`,
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

export interface Units {
  /** One unit from start to end. */
  one(): Promise<void>
  /** Starts one and leaves it waiting. */
  startOne(): Promise<void>
  /** Milliseconds from the request to REQUIRES_ACTION, of each unit since the array was emptied. */
  waits: number[]
  /** Milliseconds from the submission to GENERATION_COMPLETED, in the same way. */
  ends: number[]
  close(): Promise<void>
}

/** Creates tool and agent on a server and subscribes to its events. */
export async function unitsOn(server: BenchServer, model?: string): Promise<Units> {
  return unitsOf(server, await createAgent(server, model))
}

/** Creates an agent with a client tool, and returns its id. */
export async function createAgent(server: BenchServer, model = 'builtin/rehearsal'): Promise<string> {
  const inputSchema = { type: 'object', properties: { word: { type: 'string' } } }
  const made = await server.gql(
    'mutation($i: CreateToolInput!) { createTool(input: $i) { ... on ToolPayload { tool { id } } } }',
    { i: { name: 'ask', config: { client: { inputSchema } } } },
  )
  const agent = await server.gql(
    'mutation($i: CreateAgentInput!) { createAgent(input: $i) { ... on AgentPayload { agent { id } } } }',
    { i: { name: 'bench', model, toolIds: [made['createTool'].tool.id] } },
  )
  return agent['createAgent'].agent.id as string
}

/** Units of an agent that another replica may have created. */
export async function unitsOf(server: BenchServer, agentId: string): Promise<Units> {
  const news = listen(server)
  await pause(200)
  const waits: number[] = []
  const ends: number[] = []
  const begin = async () => {
    const began = performance.now()
    const { startGeneration } = await server.gql(start, { i: { agentId, prompt } })
    const generationId = startGeneration.generation.id as string
    const toolCallId = await news.event(generationId, 'REQUIRES_ACTION')
    waits.push(performance.now() - began)
    return { generationId, toolCallId }
  }
  return {
    waits,
    ends,
    startOne: async () => void (await begin()),
    async one() {
      const { generationId, toolCallId } = await begin()
      const began = performance.now()
      await server.gql(submit, { i: { generationId, outputs: [{ toolCallId, output: 'ok' }] } })
      await news.event(generationId, 'GENERATION_COMPLETED')
      ends.push(performance.now() - began)
    },
    close: async () => void (await news.close()),
  }
}
