/** An agent with a large catalog: its model gets a search, what that finds, and nothing else, with the rights and gates of before. */
import { afterEach, describe, expect, test } from 'vitest'
import { addProvider, startStrictProvider } from '../support/strict-provider.ts'
import { openHarness } from '../support/harness.ts'
import { makeFixtures, objectSchema } from '../support/fixtures.ts'
import { forFile } from '../support/for-file.ts'
import { largeCatalog, serveCatalog } from '../support/large-catalog.ts'
import { sentNames, sentTools } from '../support/tool-refusals.ts'
import type { Wire } from '../support/wire-frames.ts'

const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))
const provider = await forFile(startStrictProvider())
const server = await forFile(serveCatalog(largeCatalog()))
for (const kind of ['openai', 'anthropic', 'google', 'compatible'] as const)
  await addProvider(h, provider, kind, kind)
afterEach(() => expect(provider.clear()).toBe(0))

async function make(name: string, config: object, more: object = {}): Promise<string> {
  return (await h.mutate('createTool', { name, config, ...more }, 'tool { id }'))['tool'].id
}
const word = objectSchema({ word: { type: 'string' } }, ['word'])
const post = (path: string) => ({
  http: { url: `${fixtures.upstream.url}/${path}`, method: 'POST', inputSchema: word },
})
const big = await make('big', { mcp: { url: server.url } })
await h.mutate('refreshUpstream', { toolId: big }, 'tool { id }')
const transfer = await make('transferMoney', post('transfer'), {
  description: 'Pays an invoice.',
  gate: { autoApprove: false },
})
const listing = 'big_mongodb-list-collections'

let count = 0
async function agent(more: object = {}, kind: Wire = 'compatible'): Promise<string> {
  const input = { model: `${kind}/m`, toolIds: [big, transfer], toolLoading: 'SEARCH', ...more }
  return fixtures.agent({ name: `clerk ${++count}`, ...input })
}
const fields = `steps { toolSize { tools bytes tokens } toolCalls { name } }
  toolCalls { name status errorCode arguments rawArguments content structuredContent tool { id } } error { code message }`
const done = ['COMPLETED', 'FAILED']
async function run(agentId: string, more: object = {}, key?: string) {
  const input = { agentId, prompt: 'Go.', ...more }
  const { generation, ...refused } = await h.mutate('startGeneration', input, 'generation { id }', key)
  if (!generation) throw new Error(JSON.stringify(refused))
  return h.until(generation.id, done, fields)
}
const search = (query: string, more: object = {}) => ({
  calls: [{ name: 'search_tools', arguments: JSON.stringify({ query, ...more }) }],
})
const call = (name: string, args: object = {}) => ({ calls: [{ name, arguments: JSON.stringify(args) }] })
/** The requests since there were so many, as the names of their tools. */
const since = (before: number) =>
  provider.journal.slice(before).map(({ wire, body }) => sentNames(wire, body))
const bytesOf = (tools: unknown) => Buffer.byteLength(JSON.stringify(tools))

describe.each(['openai', 'anthropic', 'google', 'compatible'] as const)('%s', (kind) => {
  test('what a search finds is in the next request, and stays; the others never are', async () => {
    provider.script(
      search('collections of a database', { limit: 1 }),
      call(listing, { connectionId: 'a', database: 'b' }),
      search('scrape a url', { limit: 1 }),
      { text: 'done' },
    )
    const before = provider.journal.length
    const end = await run(await agent({}, kind))
    expect(end).toMatchObject({ status: 'COMPLETED', output: { text: 'done' } })
    const scrape = 'big_firecrawl-firecrawl_scrape'
    expect(since(before)).toEqual([
      ['search_tools'],
      ['search_tools', listing],
      ['search_tools', listing],
      ['search_tools', scrape, listing],
    ])
    expect(end['toolCalls'].map(({ name, status }: any) => [name, status])).toEqual([
      ['search_tools', 'SUCCEEDED'],
      [listing, 'SUCCEEDED'],
      ['search_tools', 'SUCCEEDED'],
    ])
    expect(end['toolCalls'][0]).toMatchObject({
      tool: null,
      structuredContent: { tools: [{ name: listing, description: expect.any(String) }] },
    })
    const sizes = end['steps'].map((step: any) => step.toolSize)
    expect(sizes.map(({ tools }: any) => tools)).toEqual([1, 2, 2, 3])
    expect(sizes[0].bytes).toBeLessThan(1500)
    expect(sizes[0].tokens).toBeGreaterThan(50)
  })

  test('the request with all of them has more than a hundred times the bytes of the first one with a search', async () => {
    provider.refuse(() => null)
    const before = provider.journal.length
    provider.script({ text: 'all' }, { text: 'search' })
    await run(await agent({ toolLoading: 'ALL' }, kind))
    await run(await agent({}, kind))
    const [all, first] = provider.journal
      .slice(before)
      .map(({ wire, body }) => bytesOf(sentTools(wire, body)))
    expect(all! / first!).toBeGreaterThan(100)
  })
})

test('few enough tools are all sent, and a threshold of 0 searches among one', async () => {
  provider.script({ text: 'a' }, { text: 'b' }, { text: 'c' })
  const before = provider.journal.length
  const toolIds = [fixtures.tools.look, fixtures.tools.act]
  await run(await agent({ toolIds }))
  await run(await agent({ toolIds, toolLoadingThreshold: 1 }))
  await run(await agent({ toolIds: [fixtures.tools.look] }), { toolLoadingThreshold: 0 })
  expect(since(before)).toEqual([['look', 'act'], ['search_tools'], ['search_tools']])
})

test('a tool that was not loaded is the agent’s tool: its arguments are checked, and it runs', async () => {
  provider.script(call('act', { wrong: 1 }), call('act', { word: 'x' }), call('nothing'), { text: 'done' })
  const paid = fixtures.upstream.seen.length
  const before = provider.journal.length
  const end = await run(await agent({ toolIds: [big, fixtures.tools.act] }))
  expect(end['toolCalls']).toMatchObject([
    { name: 'act', status: 'INVALID', errorCode: 'invalid_arguments' },
    { name: 'act', status: 'SUCCEEDED' },
    { name: 'nothing', status: 'ERRORED', errorCode: 'unknown_tool' },
  ])
  expect(end['toolCalls'][2].content[0].text).toContain('Available: search_tools, ')
  expect(fixtures.upstream.seen).toHaveLength(paid + 1)
  // What was called is in the requests from then on.
  expect(since(before)[1]).toEqual(['search_tools', 'act'])
})

test('a found tool stops at its gate, and runs once when a person agrees', async () => {
  provider.script(search('pay invoice'), call('transferMoney', { word: 'x' }), { text: 'paid' })
  const paid = fixtures.upstream.seen.length
  const id = await fixtures.start(await agent(), 'Pay.')
  const waiting = await h.until(id, ['AWAITING_APPROVAL'], 'requiredAction { approvals { id } }')
  expect(fixtures.upstream.seen).toHaveLength(paid)
  const input = { approvalId: waiting['requiredAction'].approvals[0].id, verdict: 'APPROVE' }
  await h.mutate('decideApproval', input, 'approval { status }')
  expect(await h.until(id, done)).toMatchObject({ status: 'COMPLETED', output: { text: 'paid' } })
  expect(fixtures.upstream.seen).toHaveLength(paid + 1)
})

test('a search finds nothing that the requester may not call, or that the step rules hide', async () => {
  const statement = [
    { effect: 'Allow', action: ['generations:Start', 'tools:Call'], resource: ['*'] },
    { effect: 'Deny', action: ['tools:Call'], resource: [`tool/${transfer}`] },
  ]
  const { secret } = await h.mutate('createApiKey', { name: 'k', policy: { statement } }, 'secret')
  const found = (end: Record<string, any>) =>
    end['toolCalls'].map((one: any) => one.structuredContent.tools.map(({ name }: any) => name))
  provider.script(search('transferMoney'), { text: 'none' })
  expect(found(await run(await agent(), {}, secret))).toEqual([[]])
  provider.script(search('transferMoney'), { text: 'there' })
  expect(found(await run(await agent()))).toEqual([['transferMoney']])
  const stepRules = [{ step: 1, activeToolIds: [big] }]
  provider.script(search('transferMoney'), search('transferMoney'), { text: 'later' })
  expect(found(await run(await agent({ stepRules })))).toEqual([[], ['transferMoney']])
})

test('a tool that is forced, or that ends the run, is loaded', async () => {
  provider.script(call('act', { word: 'x' }))
  const before = provider.journal.length
  const toolIds = [big, fixtures.tools.act, fixtures.tools.look]
  await run(await agent({ toolIds, toolChoice: { tool: 'act' }, stopConditions: [{ hasToolCall: 'act' }] }))
  expect(since(before)).toEqual([['search_tools', 'act']])
  expect(provider.journal.at(-1)!.body['tool_choice']).toEqual({
    type: 'function',
    function: { name: 'act' },
  })
})

test('a tool that a rule forces is loaded in its step, before it was found', async () => {
  provider.script(search('scrape a url', { limit: 1 }), call('look', { word: 'x' }), { text: 'done' })
  const before = provider.journal.length
  const stepRules = [{ step: 2, toolChoice: { tool: 'look' } }]
  await run(await agent({ toolIds: [big, fixtures.tools.look], stepRules }))
  const scrape = 'big_firecrawl-firecrawl_scrape'
  expect(since(before)).toEqual([
    ['search_tools'],
    ['search_tools', 'look', scrape],
    ['search_tools', 'look', scrape],
  ])
  expect(provider.journal[before + 1]!.body['tool_choice'].function.name).toBe('look')
})

test('client tools of a run are always sent, and are not counted', async () => {
  provider.script({ text: 'a' }, { text: 'b' })
  const before = provider.journal.length
  const clientTools = [{ name: 'locate' }]
  await run(await agent(), { clientTools })
  await run(await agent({ toolIds: [fixtures.tools.look], toolLoadingThreshold: 1 }), { clientTools })
  expect(since(before)).toEqual([
    ['search_tools', 'locate'],
    ['look', 'locate'],
  ])
})

test('a tool that is named search_tools keeps its name', async () => {
  const own = await make('search_tools', post('own'))
  provider.script(
    call('search_tools_', { query: 'search_tools', limit: 1 }),
    call('search_tools', { word: 'x' }),
    { text: 'done' },
  )
  const before = provider.journal.length
  const end = await run(await agent({ toolIds: [big, own] }))
  expect(since(before)[1]).toEqual(['search_tools_', 'search_tools'])
  expect(end['toolCalls'][1]).toMatchObject({ name: 'search_tools', status: 'SUCCEEDED', tool: { id: own } })
})

test('a structured answer has its own tool beside the search', async () => {
  provider.script(search('collections of a database', { limit: 1 }), call('final_answer', { word: 'x' }))
  const before = provider.journal.length
  const end = await h.until(
    await fixtures.start(await agent({ outputSchema: word }), 'Go.'),
    done,
    'output { object }',
  )
  expect(end).toMatchObject({ status: 'COMPLETED', output: { object: { word: 'x' } } })
  expect(since(before)[1]).toEqual(['search_tools', listing, 'final_answer'])
})

test('a child run searches for itself, and finds its own tools', async () => {
  const child = await agent({ name: 'pagechild' })
  const parent = await agent({ toolIds: [big], agentIds: [child] })
  provider.script(
    search('pagechild', { limit: 1 }),
    call('pagechild', { message: 'Look.' }),
    search('transferMoney'),
    { text: 'found' },
    { text: 'done' },
  )
  const before = provider.journal.length
  expect(await run(parent)).toMatchObject({ status: 'COMPLETED', output: { text: 'done' } })
  expect(since(before)).toEqual([
    ['search_tools'],
    ['search_tools', 'pagechild'],
    ['search_tools'],
    ['search_tools', 'transferMoney'],
    ['search_tools', 'pagechild'],
  ])
})

test('a later run of the thread, and a retry, have what their history has found', async () => {
  provider.script(search('scrape a url', { limit: 1 }), { text: 'one' }, { text: 'two' }, { text: 'again' })
  const agentId = await agent()
  const first = await run(agentId)
  const { data } = await h.gql('query($id: ID!) { generation(id: $id) { threadId } }', { id: first['id'] })
  const before = provider.journal.length
  await run(agentId, { threadId: data['generation'].threadId })
  await run(agentId, { prompt: undefined, retryOf: { generationId: first['id'], step: 1 } })
  expect(since(before)).toEqual([
    ['search_tools', 'big_firecrawl-firecrawl_scrape'],
    ['search_tools', 'big_firecrawl-firecrawl_scrape'],
  ])
})

test('a provider that refuses a found tool is asked without it, and the run says so', async () => {
  provider.refuse((wire, body) =>
    sentNames(wire, body).includes('act')
      ? { status: 400, message: "Invalid schema for function 'act': schema must have a 'type' key." }
      : null,
  )
  provider.script(search('act', { limit: 1 }), { text: 'without' })
  const agentId = await agent({ toolIds: [fixtures.tools.act, fixtures.tools.look], toolLoadingThreshold: 1 })
  const id = await fixtures.start(agentId, 'Go.')
  const end = await h.until(id, done, 'steps { leftOut { name } }')
  expect(end).toMatchObject({ status: 'COMPLETED', steps: [{ leftOut: [] }, { leftOut: [{ name: 'act' }] }] })
})

test.each([
  ['empty', '', 0],
  ['of punctuation', '!!! --- ???', 0],
  ['of wildcards', '%_\\', 0],
  ['of another script', '検索 поиск بحث', 0],
  ['of 10 kB', `${'x'.repeat(10_000)} scrape`, 1],
  ['with a NUL and half a character', 'scrape\0\ud800', 1],
])('a query that is %s is answered', async (_what, query, least) => {
  provider.script(search(query, { limit: 1 }), { text: 'done' })
  const { toolCalls } = await run(await agent())
  expect(toolCalls).toMatchObject([{ status: 'SUCCEEDED' }])
  const { tools, total, hint } = toolCalls[0].structuredContent
  expect(tools).toHaveLength(least)
  if (least > 0) return
  expect(total).toBe(198)
  expect(hint).toContain('None of the 198 tools matches. Try other words; many names have: big, ')
})

test('tools that a query names are all found, whatever else it has and whatever the limit is', async () => {
  const words =
    'mongodb-list-collections find page create database, FIRECRAWL-firecrawl_scrape `big_brave-brave_news_search` transferMoney'
  provider.script(search(words, { limit: 1 }), { text: 'done' })
  const { toolCalls } = await run(await agent())
  const found = toolCalls[0].structuredContent.tools.map(({ name }: any) => name)
  expect(found.toSorted()).toEqual([
    'big_brave-brave_news_search',
    'big_firecrawl-firecrawl_scrape',
    'big_mongodb-list-collections',
    'transferMoney',
  ])
})

test('what was found stays when its result is left out of a long history', async () => {
  const agentId = await agent({ maxContextMessages: 1 })
  provider.script(search('scrape a url', { limit: 1 }), { text: 'one' }, { text: 'two' }, { text: 'three' })
  const { id } = await run(agentId)
  const { data } = await h.gql('query($id: ID!) { generation(id: $id) { threadId } }', { id })
  const { threadId } = data['generation']
  await run(agentId, { threadId })
  const before = provider.journal.length
  await run(agentId, { threadId })
  expect(JSON.stringify(provider.journal.at(-1)!.body['messages'])).not.toContain('scrape a url')
  expect(since(before)).toEqual([['search_tools', 'big_firecrawl-firecrawl_scrape']])
})

test('arguments that are none of a search are refused by their path, and searches count as steps', async () => {
  provider.script(call('search_tools', { query: 7, limit: 99 }), search('x'), { text: 'over' })
  const end = await run(await agent({ maxSteps: 2 }))
  expect(end).toMatchObject({ status: 'COMPLETED', stopReason: 'MAX_STEPS' })
  expect(end['toolCalls'][0]).toMatchObject({ status: 'INVALID', errorCode: 'invalid_arguments' })
  expect(end['toolCalls'][0].content[0].text).toMatch(/arguments\.query must be string.*arguments\.limit/)
})

test('an agent says what its tools take, with all and with the first request', async () => {
  const id = await agent()
  const { data, errors } = await h.gql(
    `query($id: ID!) { agent(id: $id) { toolLoading toolLoadingThreshold
      toolSize { all { tools bytes tokens } first { tools bytes } } } }`,
    { id },
  )
  expect(errors).toBeUndefined()
  const { all, first } = data['agent'].toolSize
  expect(data['agent']).toMatchObject({ toolLoading: 'SEARCH', toolLoadingThreshold: 20 })
  expect([all.tools, first.tools]).toEqual([198, 1])
  expect(all.bytes).toBeGreaterThan(300_000)
  expect(all.bytes / first.bytes).toBeGreaterThan(100)
  const refused = await h.mutate('updateAgent', { id, toolLoadingThreshold: 1001 }, 'agent { id }')
  expect(JSON.stringify(refused)).toContain('toolLoadingThreshold')
})
