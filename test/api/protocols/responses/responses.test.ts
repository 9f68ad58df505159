/** The Responses API, judged by OpenAI's own clients: text, streams, calls, questions, endings and refusals. */
import type { OpenAI } from 'openai6'
import { beforeAll, describe, expect, test } from 'vitest'
import { adminKey, openHarness } from '../../../support/harness.ts'
import { makeFixtures, objectSchema } from '../../../support/fixtures.ts'
import { majors, openClient } from '../../../support/openai-clients.ts'
import { forFile } from '../../../support/for-file.ts'

const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))
const plain = await fixtures.agent({ name: 'plain' })
await fixtures.agent({ name: 'gated', gate: { mode: 'ALWAYS' } })

const locate = {
  type: 'function' as const,
  name: 'locate',
  description: 'Finds the user.',
  parameters: objectSchema({ room: { type: 'string' } }, ['room']),
  strict: false,
}
const use = 'call locate {"room": "a"}\nthen\nsay found'
const numbersOf = (events: { sequence_number: number }[]) => events.map((event) => event.sequence_number)
const collect = async <Event>(stream: AsyncIterable<Event>) => {
  const events: Event[] = []
  for await (const event of stream) events.push(event)
  return events
}

describe.each(majors)('openai %i', (major) => {
  let client: OpenAI
  beforeAll(async () => {
    client = await openClient(major, h.url, adminKey)
  })

  test('text, by name and by id, and the response is read again', async () => {
    for (const model of ['plain', plain]) {
      const made = await client.responses.create({ model, input: 'say hello there' })
      expect(made).toMatchObject({ status: 'completed', output_text: 'hello there' })
      const again = await client.responses.retrieve(made.id)
      expect(again).toMatchObject({ id: made.id, output: made.output, usage: made.usage })
    }
  })

  test('a stream, whose replay has the same numbers and goes on after any of them', async () => {
    const input = 'slow 5ms\nsay one two three four five six seven eight'
    const live = await collect(await client.responses.create({ model: 'plain', input, stream: true }))
    const text = (events: typeof live) =>
      events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('')
    expect(text(live)).toBe('one two three four five six seven eight')
    const numbers = numbersOf(live)
    expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b))
    const last = live.at(-1)!
    expect(last.type).toBe('response.completed')
    const { id } = (live[0] as { response: { id: string } }).response
    for (const [i, { sequence_number }] of live.entries()) {
      const rest = await collect(
        await client.responses.retrieve(id, { stream: true, starting_after: sequence_number }),
      )
      expect(text(live.slice(0, i + 1)) + text(rest), `after ${sequence_number}`).toBe(text(live))
      expect(rest.every((event) => event.sequence_number > sequence_number)).toBe(true)
      if (i < live.length - 1) expect(rest.at(-1)).toMatchObject({ type: 'response.completed' })
    }
  })

  test('a call that runs here is shown as a call of a remote server', async () => {
    const made = await client.responses.create({
      model: 'plain',
      input: 'call look {"word": "a"}\nthen\nsay ok',
    })
    expect(made.output).toMatchObject([
      { type: 'mcp_call', name: 'look', arguments: '{"word":"a"}', error: null },
      { type: 'message' },
    ])
    expect(made.output_text).toBe('ok')
  })

  test('a client tool pauses, also streamed, is answered, and a repeat changes nothing', async () => {
    const stream = client.responses.stream({ model: 'plain', input: use, tools: [locate] })
    const first = await stream.finalResponse()
    expect(first).toMatchObject({ status: 'completed' })
    const call = first.output.find((item) => item.type === 'function_call')!
    expect(call).toMatchObject({ name: 'locate', arguments: '{"room":"a"}' })
    const input = [{ type: 'function_call_output' as const, call_id: call.call_id, output: 'kitchen' }]
    const next = { model: 'plain', previous_response_id: first.id, input }
    const second = await client.responses.create(next)
    expect(second).toMatchObject({ output_text: 'found', previous_response_id: first.id })
    expect((await client.responses.create(next)).id).toBe(second.id)
    expect((await client.responses.create({ model: 'plain', input })).id).toBe(second.id)
    const other = client.responses.create({ ...next, input: [{ ...input[0]!, output: 'attic' }] })
    await expect(other).rejects.toMatchObject({ status: 409, param: 'input[0].output' })
    const third = await client.responses.create({
      model: 'plain',
      previous_response_id: second.id,
      input: 'say on',
    })
    expect(third.output_text).toBe('on')
  })

  test.each([true, false])('a question to a key that decides, approved: %s', async (approve) => {
    const before = fixtures.upstream.seen.length
    const first = await client.responses.create({
      model: 'gated',
      input: 'call act {"word": "a"}\nthen\nsay ok',
    })
    const question = first.output.find((item) => item.type === 'mcp_approval_request')!
    expect(question).toMatchObject({ name: 'act', arguments: '{"word":"a"}' })
    const verdict = { type: 'mcp_approval_response' as const, approval_request_id: question.id, approve }
    const next = { model: 'gated', previous_response_id: first.id, input: [verdict] }
    const second = await client.responses.create(next)
    expect((await client.responses.create(next)).id).toBe(second.id)
    expect(second.output).toMatchObject([{ type: 'mcp_call', name: 'act' }, { type: 'message' }])
    expect(fixtures.upstream.seen.length - before).toBe(approve ? 1 : 0)
  })

  test('a background run is in progress, cancelled, and stays so', async () => {
    const input = 'slow 5s before\nsay never'
    const made = await client.responses.create({ model: 'plain', input, background: true })
    expect(['queued', 'in_progress']).toContain(made.status)
    expect(await client.responses.cancel(made.id)).toMatchObject({ status: 'cancelled' })
    expect(await client.responses.retrieve(made.id)).toMatchObject({ status: 'cancelled' })
  })

  test('a failed run is a failed response', async () => {
    const refused = await client.responses.create({ model: 'plain', input: 'fail 400' })
    expect(refused).toMatchObject({ status: 'failed', error: { code: 'invalid_prompt' } })
    const failed = await client.responses.create({ model: 'plain', input: 'fail 401' })
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'server_error' } })
  })

  test('models are agents', async () => {
    const names = (await client.models.list()).data.map(({ id }) => id)
    expect(names).toEqual(expect.arrayContaining(['plain', 'gated']))
    expect(await client.models.retrieve('plain')).toMatchObject({ id: 'plain' })
  })
})

test('a key that may not decide waits for a person, and sees the call as it ran', async () => {
  const { secret } = await h.mutate(
    'createApiKey',
    { name: 'program', role: 'DEVELOPER', votes: false },
    'secret',
  )
  const client = await openClient(6, h.url, secret)
  const events = await client.responses.create({
    model: 'gated',
    input: 'call act {"word": "a"}\nthen\nsay ok',
    stream: true,
  })
  const seen: string[] = []
  let decided: Promise<unknown> | null = null
  const list = 'query { approvals(filter: { statuses: [PENDING] }) { nodes { id } } }'
  for await (const event of events) {
    seen.push(event.type)
    if (event.type !== 'response.in_progress') continue
    const { id } = event.response
    const generationId = `gen_${id.split('_')[1]!}`
    decided = h.until(generationId, ['AWAITING_APPROVAL']).then(async () => {
      const approvalId = (await h.gql(list)).data['approvals'].nodes[0].id
      return h.mutate(
        'decideApproval',
        { approvalId, verdict: 'APPROVE', arguments: { word: 'b' } },
        '__typename',
      )
    })
  }
  expect(await decided).toMatchObject({ __typename: 'ApprovalPayload' })
  expect(seen.at(-1)).toBe('response.completed')
  expect(seen).not.toContain('response.mcp_approval_request')
})

test('verdicts of questions before are repeated beside the one that is asked', async () => {
  const client = await openClient(6, h.url, adminKey)
  const before = fixtures.upstream.seen.length
  let next = await client.responses.create({
    model: 'gated',
    input: 'call act {"word": "a"}\nthen\ncall act {"word": "b"}\nthen\nsay ok',
  })
  const input: { type: 'mcp_approval_response'; approval_request_id: string; approve: boolean }[] = []
  for (let i = 0; i < 2; i++) {
    const { id } = next.output.find((item) => item.type === 'mcp_approval_request')!
    input.push({ type: 'mcp_approval_response', approval_request_id: id, approve: true })
    next = await client.responses.create({ model: 'gated', previous_response_id: next.id, input })
  }
  expect(next).toMatchObject({ status: 'completed', output_text: 'ok' })
  expect(fixtures.upstream.seen.length - before).toBe(2)
})

test('calls of the client by the hundred have events of their own, and are answered at once', async () => {
  const client = await openClient(6, h.url, adminKey)
  const lines = Array.from({ length: 260 }, (_, i) => `call locate {"room": "${i}"}`)
  const input = [...lines, 'then', 'say found'].join('\n')
  const events = await collect(
    await client.responses.create({ model: 'plain', input, tools: [locate], stream: true }),
  )
  const numbers = numbersOf(events)
  expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b))
  const { response } = events.at(-1) as { response: OpenAI.Responses.Response }
  const rest = await collect(
    await client.responses.retrieve(response.id, { stream: true, starting_after: numbers.at(-3)! }),
  )
  expect(numbersOf(rest)).toEqual(numbers.slice(-2))
  const outputs = response.output.flatMap((item) =>
    item.type === 'function_call'
      ? [{ type: 'function_call_output' as const, call_id: item.call_id, output: 'kitchen' }]
      : [],
  )
  expect(outputs).toHaveLength(lines.length)
  const done = await client.responses.create({ model: 'plain', input: outputs })
  expect(done.output_text).toBe('found')
})

test('a message of the user before answers is refused, since the run takes answers only', async () => {
  const client = await openClient(6, h.url, adminKey)
  const first = await client.responses.create({ model: 'plain', input: use, tools: [locate] })
  const call = first.output.find((item) => item.type === 'function_call')!
  const output = { type: 'function_call_output' as const, call_id: call.call_id, output: 'kitchen' }
  const next = { model: 'plain', previous_response_id: first.id }
  const both = client.responses.create({ ...next, input: [{ role: 'user', content: 'say on' }, output] })
  await expect(both).rejects.toMatchObject({ status: 400, param: 'input' })
  // As a client sends it that has an id, and repeats what it got.
  const said = { role: 'assistant' as const, content: 'I look.' }
  const done = await client.responses.create({ ...next, input: [call, said, output] })
  expect(done.output_text).toBe('found')
})

test('who sends the whole conversation cannot pass the question at its end', async () => {
  const client = await openClient(6, h.url, adminKey)
  const input: OpenAI.Responses.ResponseInput = []
  const say = async (content: string) => {
    input.push({ role: 'user', content })
    const made = await client.responses.create({ model: 'passing', input })
    input.push(...(made.output as OpenAI.Responses.ResponseInput))
    return made
  }
  await fixtures.agent({ name: 'passing', gate: { mode: 'ALWAYS' } })
  const first = await say('call look {"word": "passing"}\nthen\nsay looked')
  const question = first.output.find((item) => item.type === 'mcp_approval_request')!
  const verdict = { type: 'mcp_approval_response' as const, approval_request_id: question.id, approve: true }
  input.push(verdict)
  const done = await client.responses.create({ model: 'passing', input })
  expect(done.output_text).toBe('looked')
  input.push(...(done.output as OpenAI.Responses.ResponseInput))
  await say('call act {"word": "passing"}\nthen\nsay acted')
  await expect(say('say on')).rejects.toMatchObject({ status: 409 })
})

test('what was said in runs that are not there any more is the history of a new run', async () => {
  const client = await openClient(6, h.url, adminKey)
  const id = `msg_${'0'.repeat(24)}_1_1`
  const content = [{ type: 'output_text' as const, text: 'Hello.', annotations: [] }]
  const said = {
    type: 'message' as const,
    id,
    role: 'assistant' as const,
    status: 'completed' as const,
    content,
  }
  const around = (item: OpenAI.Responses.ResponseInputItem) => [
    { role: 'user' as const, content: 'I am Ada.' },
    item,
    { role: 'user' as const, content: 'say on' },
  ]
  const made = await client.responses.create({ model: 'plain', input: around(said) })
  const { data } = await h.gql(
    'query($id: ID!) { generation(id: $id) { input { messages { role content } } } }',
    { id: `gen_${made.id.split('_')[1]}` },
  )
  expect(data['generation'].input.messages.map((one: { content: string }) => one.content)).toEqual([
    'I am Ada.',
    'Hello.',
    'say on',
  ])
  const only = client.responses.create({ model: 'plain', input: around({ type: 'item_reference', id }) })
  await expect(only).rejects.toMatchObject({ status: 404, message: expect.stringContaining(id) })
})

test('an idempotency key makes a repeat find the same run', async () => {
  const client = await openClient(6, h.url, adminKey)
  const headers = { 'Idempotency-Key': 'once' }
  const body = { model: 'plain', input: 'say once' }
  const first = await client.responses.create(body, { headers })
  expect((await client.responses.create(body, { headers })).id).toBe(first.id)
  const other = client.responses.create({ ...body, input: 'say twice' }, { headers })
  await expect(other).rejects.toMatchObject({ status: 409, code: 'idempotency_conflict' })
})

test('a file that was uploaded here is attached to the message, one of nobody is refused', async () => {
  const client = await openClient(6, h.url, adminKey)
  const announced = { filename: 'a.txt', contentType: 'text/plain' }
  const { file, uploadUrl } = await h.mutate('presignUpload', announced, 'file { id } uploadUrl')
  await fetch(uploadUrl, { method: 'PUT', body: 'a note', headers: { 'content-type': 'text/plain' } })
  const withFile = (file_id: string) =>
    client.responses.create({
      model: 'plain',
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'say read' },
            { type: 'input_file', file_id },
          ],
        },
      ],
    })
  const made = await withFile(file.id)
  expect(made.output_text).toBe('read')
  const id = `gen_${made.id.split('_')[1]!}`
  const query =
    'query($id: ID!) { generation(id: $id) { input { messages { attachments { file { id } } } } } }'
  const { messages } = (await h.gql(query, { id })).data['generation'].input
  expect(messages[0]).toEqual({ attachments: [{ file: { id: file.id } }] })
  await expect(withFile(`file_${'a'.repeat(24)}`)).rejects.toMatchObject({ status: 400 })
})

test('requests of one moment with the same idempotency key start one run, which calls its tool once', async () => {
  const client = await openClient(6, h.url, adminKey)
  const headers = { 'Idempotency-Key': 'at once' }
  const body = { model: 'plain', input: 'call act {"word": "a"}\nthen\nsay once' }
  const before = fixtures.upstream.seen.length
  const made = await Promise.all([1, 2, 3, 4].map(() => client.responses.create(body, { headers })))
  expect(new Set(made.map(({ id }) => id)).size).toBe(1)
  expect(made.every((one) => one.output_text === 'once')).toBe(true)
  expect(fixtures.upstream.seen.length - before).toBe(1)
})

test('two clients that answer the same call differently: one holds, the other is told', async () => {
  const client = await openClient(6, h.url, adminKey)
  const first = await client.responses.create({ model: 'plain', input: use, tools: [locate] })
  const call = first.output.find((item) => item.type === 'function_call')!
  const answer = (output: string) =>
    client.responses.create({
      model: 'plain',
      previous_response_id: first.id,
      input: [{ type: 'function_call_output', call_id: call.call_id, output }],
    })
  const outcomes = await Promise.allSettled([answer('attic'), answer('cellar')])
  expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
})

const post = (body: unknown, key = adminKey) =>
  fetch(`${h.url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })

const run = { model: 'plain', input: 'say x' }
test.each([
  ['no JSON', '{', 400, 'body'],
  ['a list', '[]', 400, 'body'],
  ['no model', { input: 'x' }, 400, 'model'],
  ['an unknown model', { ...run, model: 'nobody' }, 404, null],
  [
    'a tool of another server',
    { ...run, tools: [{ type: 'mcp', server_label: 'x' }] },
    400,
    'tools[0].server_label',
  ],
  [
    'a tool of OpenAI that works on files',
    { ...run, tools: [{ type: 'file_search' }] },
    400,
    'tools[0].type',
  ],
  [
    'a choice of a tool that is not served',
    { ...run, tool_choice: { type: 'web_search' } },
    400,
    'tool_choice',
  ],
  ['another share of likely words', { ...run, top_p: 0.5 }, 400, 'top_p'],
  ['a conversation', { ...run, conversation: 'c' }, 400, 'conversation'],
  ['a member with no name', { ...run, 'a b': 1 }, 400, 'body'],
  ['a prompt of OpenAI', { ...run, prompt: { id: 'p' } }, 400, 'prompt'],
  ['a limit of calls', { ...run, max_tool_calls: 1 }, 400, 'max_tool_calls'],
  ['an input of numbers', { ...run, input: [1] }, 400, 'input[0]'],
  [
    'a remote picture',
    {
      ...run,
      input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'http://127.0.0.1/a' }] }],
    },
    400,
    'input[0].content[0].image_url',
  ],
  [
    'an answer to nothing',
    { ...run, input: [{ type: 'function_call_output', call_id: 'x', output: '' }] },
    400,
    'input[0].call_id',
  ],
  ['an unknown response', { ...run, previous_response_id: 'resp_x' }, 404, null],
])('refuses %s', async (_what, body, status, param) => {
  const response = await post(body)
  expect(response.status).toBe(status)
  const { error } = (await response.json()) as { error: Record<string, unknown> }
  expect(error).toMatchObject({
    message: expect.any(String),
    type: 'invalid_request_error',
    code: expect.any(String),
  })
  if (param !== null) expect(error['param']).toBe(param)
})

const namespace = { type: 'namespace', name: 'mcp', tools: [] }
const thoughts = { type: 'reasoning', id: 'rs_1', summary: [] }
test.each([
  // https://github.com/openai/codex and LlamaIndex send these by default.
  ['store: false', { store: false }, 'store'],
  ['an include', { include: ['reasoning.encrypted_content'] }, 'include'],
  ['reasoning', { reasoning: { effort: 'medium', summary: 'auto' } }, 'reasoning'],
  ['metadata', { metadata: { a: 'b' } }, 'metadata'],
  ['unknown members', { client_metadata: {}, surprise: 1 }, 'client_metadata, surprise'],
  ['tools that run elsewhere', { tools: [locate, { type: 'web_search' }, namespace] }, 'tools[1], tools[2]'],
  ['the tools of the agent', { tools: [{ type: 'mcp', server_label: 'gatehouse' }] }, null],
  ['thoughts of another model', { input: [thoughts, { role: 'user', content: 'say x' }] }, 'input[0]'],
  ['fields that say nothing', { store: true, include: [], metadata: {}, reasoning: null }, null],
  [
    'more than are named',
    Object.fromEntries(Array.from({ length: 25 }, (_, i) => [`f${i}`, i])),
    'f0, f1, f2',
  ],
])('ignores and names %s', async (_what, more, named) => {
  for (const stream of [false, true]) {
    const response = await post({ ...run, ...more, stream })
    expect(await response.text()).toContain('"text":"x"')
    const told = response.headers.get('gatehouse-ignored')
    if (named === null) expect(told).toBeNull()
    else expect(told?.slice(0, named.length)).toBe(named)
    expect(told?.split(', ').length ?? 0).toBeLessThanOrEqual(20)
  }
})

test('a key of another project finds neither the response, the call nor the agent', async () => {
  const { project } = await h.mutate('createProject', { name: 'other' }, 'project { id }')
  const { secret } = await h.mutate(
    'createApiKey',
    { name: 'o', role: 'ADMIN', projectId: project.id },
    'secret',
  )
  const mine = await openClient(6, h.url, adminKey)
  const theirs = await openClient(6, h.url, secret)
  const made = await mine.responses.create({ model: 'plain', input: use, tools: [locate] })
  const call = made.output.find((item) => item.type === 'function_call')!
  const missing = { status: 404 }
  await expect(theirs.responses.retrieve(made.id)).rejects.toMatchObject(missing)
  await expect(theirs.responses.cancel(made.id)).rejects.toMatchObject(missing)
  await expect(theirs.responses.create({ model: plain, input: 'say x' })).rejects.toMatchObject(missing)
  await fixtures.agent({ name: 'unused' })
  await expect(
    theirs.responses.create({
      model: 'plain',
      input: [{ type: 'function_call_output', call_id: call.call_id, output: 'x' }],
    }),
  ).rejects.toMatchObject(missing)
  expect((await post(run, 'gh_wrong')).status).toBe(401)
})
