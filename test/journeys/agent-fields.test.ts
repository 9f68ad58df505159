/** Every field of an agent has an effect, and counts keep counting across pauses. */
import { afterEach, expect, test } from 'vitest'
import { openHarness } from '../support/harness.ts'
import { makeFixtures, objectSchema } from '../support/fixtures.ts'
import { addProvider, startStrictProvider } from '../support/strict-provider.ts'
import { forFile } from '../support/for-file.ts'

const provider = await forFile(startStrictProvider())
const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))
await addProvider(h, provider, 'compatible', 'wire')
afterEach(() => expect(provider.clear()).toBe(0))

const json = JSON.stringify
const done = ['COMPLETED', 'FAILED', 'CANCELLED', 'EXPIRED']
const run = async (agentId: string, prompt: string, more = {}, fields = '') =>
  h.until(await fixtures.start(agentId, prompt, more), done, fields)
const sent = () => provider.journal.at(-1)!.body
const toolNames = (body: Record<string, any>) => (body['tools'] ?? []).map((tool: any) => tool.function.name)

test('instructions, temperature, maxOutputTokens and the tools reach the model', async () => {
  const agentId = await fixtures.agent({
    model: 'wire/m',
    instructions: 'Be brief.',
    temperature: 0.25,
    maxOutputTokens: 77,
  })
  provider.script({ text: 'ok' })
  const end = await run(agentId, 'hello', {}, 'model { name kind isAi }')
  expect(end).toMatchObject({
    status: 'COMPLETED',
    model: { name: 'wire/m', kind: 'COMPATIBLE', isAi: true },
  })
  expect(sent()).toMatchObject({ model: 'm', temperature: 0.25, max_tokens: 77 })
  expect(sent()['messages'].map((message: any) => [message.role, message.content])).toEqual([
    ['system', 'Be brief.'],
    ['user', 'hello'],
  ])
  expect(toolNames(sent())).toEqual(['look', 'act', 'ask', 'tell'])
})

test('activeToolIds hides the other tools, and an empty list hides all', async () => {
  const some = await fixtures.agent({ model: 'wire/m', activeToolIds: [fixtures.tools.look] })
  provider.script({ text: 'ok' })
  await run(some, 'hello')
  expect(toolNames(sent())).toEqual(['look'])
  const none = await fixtures.agent({ model: 'wire/m', activeToolIds: [] })
  provider.script({ text: 'ok' })
  await run(none, 'hello')
  expect(toolNames(sent())).toEqual([])
})

test('a call of a tool that is not active is refused, and the model gets the list of active ones', async () => {
  const agentId = await fixtures.agent({ activeToolIds: [fixtures.tools.look] })
  const end = await run(agentId, 'call act {"word":"x"}', {}, 'toolCalls { name status errorCode content }')
  expect(end['toolCalls']).toMatchObject([{ name: 'act', status: 'ERRORED', errorCode: 'unknown_tool' }])
  expect(end['toolCalls'][0].content[0].text).toContain('look')
})

test('toolChoice: required asks for a tool, none forbids them, and a forced tool is forced once', async () => {
  const required = await fixtures.agent({
    model: 'wire/m',
    toolChoice: { mode: 'REQUIRED' },
    stopConditions: [{ hasToolCall: 'look' }],
  })
  provider.script({ calls: [{ name: 'look', arguments: json({ word: 'a' }) }] })
  expect(await run(required, 'hello')).toMatchObject({ stopReason: 'STOP_CONDITION' })
  expect(sent()['tool_choice']).toBe('required')
  const none = await fixtures.agent({ model: 'wire/m', toolChoice: { mode: 'NONE' } })
  provider.script({ text: 'ok' })
  await run(none, 'hello')
  expect(sent()['tool_choice']).toBe('none')
  const forced = await fixtures.agent({ model: 'wire/m', toolChoice: { tool: 'look' } })
  provider.script({ calls: [{ name: 'look', arguments: json({ word: 'a' }) }] }, { text: 'ok' })
  await run(forced, 'hello')
  expect(provider.journal.slice(-2).map((entry) => entry.body['tool_choice'])).toEqual([
    { type: 'function', function: { name: 'look' } },
    'auto',
  ])
})

test('step rules change tool choice and tools in their steps, also after a pause', async () => {
  const agentId = await fixtures.agent({
    model: 'wire/m',
    stepRules: [
      { step: 2, activeToolIds: [fixtures.tools.tell], toolChoice: { tool: 'tell' } },
      { fromStep: 3, toStep: 4, activeToolIds: [] },
    ],
  })
  provider.script({ calls: [{ name: 'ask', arguments: json({ word: 'a' }) }] })
  const id = await fixtures.start(agentId, 'hello')
  await h.until(id, ['REQUIRES_ACTION'])
  expect(toolNames(sent())).toHaveLength(4)
  provider.script({ calls: [{ name: 'tell', arguments: json({ word: 'b' }) }] })
  await fixtures.answer(id)
  await h.until(id, ['REQUIRES_ACTION'])
  expect(toolNames(sent())).toEqual(['tell'])
  expect(sent()['tool_choice']).toEqual({ type: 'function', function: { name: 'tell' } })
  provider.script({ text: 'ok' })
  await fixtures.answer(id)
  await h.until(id, done)
  expect(toolNames(sent())).toEqual([])
})

test('a stop condition ends the loop after the step, whose calls still run', async () => {
  const server = await fixtures.agent({ stopConditions: [{ hasToolCall: 'look' }] })
  const seen = fixtures.upstream.seen.length
  expect(await run(server, 'call look {"word":"w"}\nthen\nsay never')).toMatchObject({
    status: 'COMPLETED',
    stopReason: 'STOP_CONDITION',
    stepCount: 1,
  })
  expect(fixtures.upstream.seen.length).toBe(seen + 1)
})

test('a stop condition still counts after a pause, and the arguments of a client tool are the output', async () => {
  const agentId = await fixtures.agent({ stopConditions: [{ hasToolCall: 'tell' }] })
  const id = await fixtures.start(
    agentId,
    'call ask {"word":"q"}\nthen\ncall tell {"word":"w"}\ncall ask {"word":"z"}',
  )
  await fixtures.answer(id)
  const end = await h.until(id, done, 'toolCalls { name status }')
  expect(end).toMatchObject({
    status: 'COMPLETED',
    stopReason: 'STOP_CONDITION',
    output: { object: { word: 'w' } },
  })
  expect(end['toolCalls'].map((call: any) => call.status)).toEqual(['SUCCEEDED', 'SKIPPED', 'SKIPPED'])
})

test('an invalid call of a stop tool does not stop', async () => {
  const agentId = await fixtures.agent({ stopConditions: [{ hasToolCall: 'look' }] })
  const end = await run(
    agentId,
    'badargs look\nthen\nsay went on',
    {},
    'toolCalls { status errorCode rawArguments }',
  )
  expect(end).toMatchObject({ stopReason: 'END_TURN', output: { text: 'went on' } })
  expect(end['toolCalls']).toMatchObject([{ status: 'INVALID', errorCode: 'invalid_arguments' }])
})

test('maxSteps counts across pauses and ends with one last answer, or at once', async () => {
  const script =
    'call ask {"word":"1"}\nthen\ncall ask {"word":"2"}\nthen\ncall ask {"word":"3"}\nthen\nsay end'
  const agentId = await fixtures.agent({ maxSteps: 2 })
  const id = await fixtures.start(agentId, script)
  await fixtures.answer(id)
  await fixtures.answer(id)
  const end = await h.until(id, done, 'steps { index notice }')
  expect(end).toMatchObject({ status: 'COMPLETED', stopReason: 'MAX_STEPS', truncated: true, stepCount: 3 })
  expect(end['steps'][2].notice).toContain('limit')
  const abrupt = await fixtures.agent({ maxSteps: 1, finalAnswerOnLimit: false })
  const other = await fixtures.start(abrupt, script)
  await fixtures.answer(other)
  expect(await h.until(other, done)).toMatchObject({ stopReason: 'MAX_STEPS', truncated: true, stepCount: 1 })
})

test('outputSchema returns an object, is repaired once, and then fails', async () => {
  const outputSchema = objectSchema({ n: { type: 'integer' } }, ['n'])
  const agentId = await fixtures.agent({ outputSchema })
  expect(await run(agentId, 'json {"n": 3}')).toMatchObject({
    status: 'COMPLETED',
    output: { object: { n: 3 } },
  })
  const wired = await fixtures.agent({ model: 'wire/m', outputSchema })
  provider.script(
    { calls: [{ name: 'final_answer', arguments: json({ n: 'x' }) }] },
    { calls: [{ name: 'final_answer', arguments: json({ n: 4 }) }] },
  )
  expect(await run(wired, 'hello')).toMatchObject({
    status: 'COMPLETED',
    output: { object: { n: 4 } },
    stepCount: 2,
  })
  expect(sent()['tool_choice']).toEqual({ type: 'function', function: { name: 'final_answer' } })
  expect(JSON.stringify(sent()['messages'])).toContain('output.n')
  provider.script({ text: 'no json' }, { text: 'still none' })
  expect(await run(wired, 'hello')).toMatchObject({
    status: 'FAILED',
    error: { code: 'OUTPUT_SCHEMA_VIOLATION' },
  })
})

test('budgets end the generation, for one run and for a day', async () => {
  const once = await fixtures.agent({ budget: { tokensPerGeneration: 100 } })
  expect(await run(once, 'usage 80 40\ncall look {"word":"w"}\nthen\nsay never')).toMatchObject({
    status: 'COMPLETED',
    stopReason: 'BUDGET',
    truncated: true,
    stepCount: 1,
  })
  const daily = await fixtures.agent({ budget: { tokensPerDay: 100 } })
  expect(await run(daily, 'usage 80 40\nsay one')).toMatchObject({ stopReason: 'END_TURN' })
  expect(await run(daily, 'say two')).toMatchObject({ stopReason: 'BUDGET', stepCount: 0 })
})

test('parallelToolCalls: false runs the calls one by one, else they run together', async () => {
  let inFlight = 0
  let most = 0
  const waiting: (() => void)[] = []
  const { startLoopback } = await import('../support/loopback.ts')
  const slow = await startLoopback((_request, response) => {
    most = Math.max(most, ++inFlight)
    const finish = () => {
      inFlight--
      response.writeHead(200, { 'content-type': 'text/plain' }).end('ok')
    }
    // In parallel the first call waits for the second; one by one there is no second.
    waiting.push(finish)
    if (waiting.length === 2 || mode === 'serial') waiting.splice(0).forEach((go) => go())
  })
  let mode = 'together'
  const { tool } = await h.mutate(
    'createTool',
    { name: 'slow', config: { http: { url: slow.url, method: 'POST', inputSchema: objectSchema({}) } } },
    'tool { id }',
  )
  const together = await fixtures.agent({ toolIds: [tool.id] })
  await run(together, 'call slow {}\ncall slow {}')
  expect(most).toBe(2)
  most = 0
  mode = 'serial'
  const serial = await fixtures.agent({ toolIds: [tool.id], parallelToolCalls: false })
  expect(await run(serial, 'call slow {}\ncall slow {}\ncall slow {}')).toMatchObject({ status: 'COMPLETED' })
  expect(most).toBe(1)
  await slow.close()
})

test('maxContextMessages bounds the history that the model sees, in whole turns', async () => {
  const agentId = await fixtures.agent({ model: 'wire/m', maxContextMessages: 3 })
  const messages = Array.from({ length: 9 }, (_, i) => ({
    role: i % 2 === 0 ? 'USER' : 'ASSISTANT',
    content: `message ${i}`,
  }))
  provider.script({ text: 'ok' })
  const id = await fixtures.start(agentId, messages)
  const end = await h.until(id, done, 'steps { elided }')
  const seen = sent()['messages'].map((message: any) =>
    typeof message.content === 'string' ? message.content : message.content[0].text,
  )
  expect(seen).toEqual(['message 0', 'message 8'])
  expect(end['steps'][0].elided.messages).toBe(7)
})

test('after clientTimeoutMs the call ends: the model continues, or the generation expires', async () => {
  const script = 'call ask {"word":"q"}\nthen\nsay went on'
  const patient = await fixtures.agent({ clientTimeoutMs: 1000 })
  expect(await run(patient, script, {}, 'toolCalls { status errorCode }')).toMatchObject({
    status: 'COMPLETED',
    output: { text: 'went on' },
    toolCalls: [{ status: 'ERRORED', errorCode: 'client_timeout' }],
  })
  const strict = await fixtures.agent({ clientTimeoutMs: 1000, onClientTimeout: 'EXPIRE' })
  expect(await run(strict, script, {}, 'toolCalls { status }')).toMatchObject({
    status: 'EXPIRED',
    toolCalls: [{ status: 'CANCELLED' }],
  })
})

test('timeoutMs ends a generation that waits too long', async () => {
  const agentId = await fixtures.agent({ timeoutMs: 1000 })
  expect(await run(agentId, 'call ask {"word":"q"}')).toMatchObject({ status: 'EXPIRED' })
})

test('a named model without a key fails and never falls back; an unset one uses the rehearsal model', async () => {
  const agentId = await fixtures.agent({ model: 'openai/gpt' })
  expect(await run(agentId, 'hello')).toMatchObject({
    status: 'FAILED',
    error: { code: 'MODEL_NOT_CONFIGURED' },
  })
  const unset = await fixtures.agent()
  expect(await run(unset, 'say hi', {}, 'model { kind isAi }')).toMatchObject({
    model: { kind: 'REHEARSAL', isAi: false },
  })
})

test('the settings of startGeneration override the agent for that run only', async () => {
  const agentId = await fixtures.agent({ maxSteps: 9 })
  const end = await run(agentId, 'call look {"word":"w"}\nthen\ncall look {"word":"v"}', {
    maxSteps: 1,
    finalAnswerOnLimit: false,
  })
  expect(end).toMatchObject({ stopReason: 'MAX_STEPS', stepCount: 1 })
  const { data } = await h.gql('query($id: ID!) { agent(id: $id) { maxSteps finalAnswerOnLimit } }', {
    id: agentId,
  })
  expect(data['agent']).toEqual({ maxSteps: 9, finalAnswerOnLimit: true })
})

test('a thread continues from the generations that have ended', async () => {
  const agentId = await fixtures.agent({ model: 'wire/m' })
  provider.script({ text: 'Nice to meet you.' })
  const first = await h.until(await fixtures.start(agentId, 'I am Ada.'), done, 'threadId')
  provider.script({ text: 'Ada.' })
  await run(agentId, 'Who am I?', { threadId: first['threadId'] })
  const said = sent()['messages'].map((message: any) => message.content)
  expect(JSON.stringify(said)).toMatch(/I am Ada.*Nice to meet you.*Who am I/)
})

test('an agent that REQUIRES tools in every step without a stop condition is refused', async () => {
  const refused = await h.mutate(
    'createAgent',
    { name: 'endless', toolChoice: { mode: 'REQUIRED' } },
    'agent { id }',
  )
  expect(refused).toMatchObject({
    __typename: 'ValidationError',
    issues: [{ path: ['input', 'toolChoice', 'mode'] }],
  })
})

test('three steps in a row with nothing but invalid calls fail the generation', async () => {
  const agentId = await fixtures.agent()
  const end = await run(agentId, 'badargs look\nthen\nbadargs look\nthen\nbadargs look\nthen\nsay never')
  expect(end).toMatchObject({ status: 'FAILED', error: { code: 'MODEL_BAD_REQUEST' }, stepCount: 3 })
})

test('a failed attempt is repeated, makes subscribers drop its text, and is accounted for', async () => {
  const agentId = await fixtures.agent()
  const id = await fixtures.start(agentId, 'fail 529\nsay fine')
  expect(await h.until(id, done)).toMatchObject({ status: 'COMPLETED', output: { text: 'fine' } })
  const events = await h.collect(
    'subscription($id: ID!) { generationEvents(generationId: $id) { type ... on StepResetEvent { stepIndex attempt reason } } }',
    { id },
  )
  expect(events).toContainEqual({ type: 'STEP_RESET', stepIndex: 1, attempt: 2, reason: 'MODEL_UNAVAILABLE' })
})

test('a tool call written as text gets one repair, and then fails the generation', async () => {
  const agentId = await fixtures.agent({ model: 'wire/m' })
  const text = json({ name: 'look', arguments: { word: 'w' } })
  provider.script({ text }, { calls: [{ name: 'look', arguments: json({ word: 'w' }) }] }, { text: 'ok' })
  expect(await run(agentId, 'hello')).toMatchObject({
    status: 'COMPLETED',
    output: { text: 'ok' },
    stepCount: 3,
  })
  provider.script({ text }, { text })
  expect(await run(agentId, 'hello')).toMatchObject({
    status: 'FAILED',
    error: { code: 'TEXT_ENCODED_TOOL_CALL' },
  })
})

test('a large result is cut for the model and stored whole', async () => {
  const { startLoopback } = await import('../support/loopback.ts')
  const large = 'é'.repeat(100_000)
  const bulky = await startLoopback((_request, response) =>
    response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' }).end(large),
  )
  const http = { url: bulky.url, method: 'GET', inputSchema: objectSchema({}) }
  const { tool } = await h.mutate('createTool', { name: 'bulky', config: { http } }, 'tool { id }')
  const agentId = await fixtures.agent({ model: 'wire/m', toolIds: [tool.id] })
  provider.script({ calls: [{ name: 'bulky', arguments: '{}' }] }, { text: 'ok' })
  const end = await run(agentId, 'hello', {}, 'toolCalls { content }')
  expect(end['toolCalls'][0].content[0].text).toBe(large)
  const seen = sent()['messages'].find((message: any) => message.role === 'tool').content
  expect(Buffer.byteLength(seen)).toBeLessThanOrEqual(32 * 1024)
  expect(seen).toContain('200000 bytes in total')
  await bulky.close()
})

test('all wrong tool ids, names and rules of an agent are reported at once', async () => {
  const refused = await h.mutate(
    'createAgent',
    { name: 'wrong', toolIds: [fixtures.tools.look, 'tool_nobody'] },
    'agent { id }',
  )
  expect(refused['issues']).toEqual([
    { path: ['input', 'toolIds', '1'], message: 'is not the id of a tool of this project' },
  ])
  const input = {
    name: 'wrong',
    toolIds: [fixtures.tools.look],
    activeToolIds: [fixtures.tools.act],
    stepRules: [{ step: 1, fromStep: 2 }],
  }
  expect((await h.mutate('createAgent', input, 'agent { id }'))['issues'][0].path).toEqual([
    'input',
    'stepRules',
    '0',
  ])
  const names = {
    name: 'wrong',
    toolIds: [fixtures.tools.look],
    toolChoice: { tool: 'nope' },
    stopConditions: [{ hasToolCall: 'no' }],
  }
  expect(
    (await h.mutate('createAgent', names, 'agent { id }'))['issues'].map((issue: any) =>
      issue.path.join('.'),
    ),
  ).toEqual(['input.toolChoice.tool', 'input.stopConditions.0.hasToolCall'])
})
