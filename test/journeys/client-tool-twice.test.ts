import { expect, test } from 'vitest'
import { startDemoUpstream } from '../../src/demo/upstream.ts'
import { openHarness } from '../support/harness.ts'
import { forFile } from '../support/for-file.ts'

const upstream = await forFile(startDemoUpstream({ port: 0 }))
const h = await forFile(openHarness())

const object = (properties: object, required: string[]) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})

test('an agent calls an http tool, pauses for a client tool twice, takes the outputs and finishes', async () => {
  const { tool: weather } = await h.mutate(
    'createTool',
    {
      name: 'get_weather',
      presetParameters: { unit: 'celsius' },
      config: {
        http: {
          url: `${upstream.url}/v1/weather/{city}`,
          method: 'GET',
          inputSchema: object({ city: { type: 'string' }, unit: { type: 'string' } }, ['city', 'unit']),
        },
      },
    },
    'tool { id inputSchema ... on HttpTool { url method } }',
  )
  expect(weather.inputSchema).toEqual(object({ city: { type: 'string' } }, ['city']))
  const { tool: file } = await h.mutate(
    'createTool',
    {
      name: 'read_local_file',
      config: { client: { inputSchema: object({ path: { type: 'string' } }, ['path']) } },
    },
    'tool { id }',
  )
  const { agent } = await h.mutate(
    'createAgent',
    { name: 'teller', toolIds: [weather.id, file.id] },
    'agent { id }',
  )
  const prompt = [
    'call get_weather {"city":"São Paulo"}',
    'call read_local_file {"path":"/tmp/a"}',
    'then',
    'call read_local_file {"path":"/tmp/b"}',
  ].join('\n')
  const { generation } = await h.mutate(
    'startGeneration',
    { agentId: agent.id, prompt },
    'generation { id status }',
  )

  for (const [path, output] of [
    ['/tmp/a', 'a,b'],
    ['/tmp/b', 'c,d'],
  ] as const) {
    const waiting = await h.until(generation.id, ['REQUIRES_ACTION'])
    expect(waiting['requiredAction'].toolCalls).toEqual([
      { id: expect.stringMatching(/^call_/), name: 'read_local_file', arguments: { path } },
    ])
    const toolCallId = waiting['requiredAction'].toolCalls[0].id
    const submitted = await h.mutate(
      'submitToolOutputs',
      { generationId: generation.id, outputs: [{ toolCallId, output }] },
      'outcomes { toolCallId status } generation { status }',
    )
    expect(submitted['outcomes']).toEqual([{ toolCallId, status: 'ACCEPTED' }])
  }
  const done = await h.until(
    generation.id,
    ['COMPLETED'],
    'model { kind isAi } toolCalls { name status isError content }',
  )
  expect(done['stopReason']).toBe('END_TURN')
  expect(done['output'].text).toContain('c,d')
  expect(done['model']).toEqual({ kind: 'REHEARSAL', isAi: false })
  expect(upstream.journal.entries.map((entry) => `${entry.method} ${entry.url}`)).toEqual([
    'GET /v1/weather/S%C3%A3o%20Paulo?unit=celsius',
  ])

  const events = await h.collect(
    'subscription($id: ID!) { generationEvents(generationId: $id) { type cursor } }',
    { id: generation.id },
  )
  expect(events.map((event) => event.type)).toEqual([
    'GENERATION_QUEUED',
    'GENERATION_STARTED',
    'MESSAGE_COMMITTED',
    'TOOL_CALL_PROPOSED',
    'TOOL_CALL_STARTED',
    'TOOL_CALL_PROPOSED',
    'REQUIRES_ACTION',
    'TOOL_CALL_SETTLED',
    'TOOL_CALL_SETTLED',
    'GENERATION_RESUMED',
    'MESSAGE_COMMITTED',
    'TOOL_CALL_PROPOSED',
    'REQUIRES_ACTION',
    'TOOL_CALL_SETTLED',
    'GENERATION_RESUMED',
    'MESSAGE_COMMITTED',
    'GENERATION_COMPLETED',
  ])
  const middle = events[6].cursor
  const rest = await h.collect(
    'subscription($id: ID!, $after: String) { generationEvents(generationId: $id, after: $after) { cursor } }',
    {
      id: generation.id,
      after: middle,
    },
  )
  expect(rest.map((event) => event.cursor)).toEqual(events.slice(7).map((event) => event.cursor))
  const polled = await h.gql(
    'query($id: ID!, $after: String) { generation(id: $id) { events(after: $after, first: 100) { nodes { cursor } pageInfo { hasNextPage } } } }',
    {
      id: generation.id,
      after: middle,
    },
  )
  expect(polled.data['generation'].events.nodes.map((event: { cursor: string }) => event.cursor)).toEqual(
    rest.map((event) => event.cursor),
  )
})
