/** Invalid inputs of every mutation: each error names the path and never the value, and nothing is written in part. */
import { sql, type SQL } from 'drizzle-orm'
import { afterEach, describe, expect, test } from 'vitest'
import { query } from '../../../src/store/db/database.ts'
import { openHarness } from '../../support/harness.ts'
import { startLoopback } from '../../support/loopback.ts'
import { extrasOf, furnish } from './furnished-project.ts'
import {
  argumentsWith,
  documentOf,
  minimalArguments,
  placesOf,
  rootFields,
  type RootField,
} from './minimal-input.ts'
import { forFile } from '../../support/for-file.ts'

let countRows: SQL | undefined

// A test that fails leaves rows behind; the others still pass.
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') before = await rows()
})

const mutations = rootFields.filter((root) => root.kind === 'mutation')
/** Only an operator's key may; without a supervisor nothing is killed. */
const isOfOperators = ({ name }: RootField) => name === 'createProject' || name === 'killServer'
/** Mutations that remove what other tests need. */
const isFinal = (root: RootField) =>
  isOfOperators(root) || /^(delete|revoke|cancel|submit|decide|resolve|pause|resume)/.test(root.name)
const byName = (name: string) => mutations.find((root) => root.name === name)!
const own = (project = home) => ({ ids: project.ids, extras: extrasOf(project) })

/**
 * Tables to which workers and timers write at any time: the webhooks that other tests create have deliveries that fail,
 * and the use of a key is written some seconds after its request.
 */
const ofWorkers = ['webhook_deliveries', 'key_uses']

const upstream = await forFile(startLoopback((_request, response) => void response.end('{}')))
const h = await forFile(openHarness())
const home = await furnish(h, 'home', upstream.url)
let before = await rows()

/** The number of rows of every table but those of workers: a refused mutation must not leave one. */
async function rows(): Promise<string> {
  const { db } = h.app.services
  countRows ??= sql.join(
    (
      await query<{ name: string }>(
        db,
        sql`select table_name as name from information_schema.tables where table_schema = 'public' order by 1`,
      )
    )
      .filter(({ name }) => !ofWorkers.includes(name))
      .map(({ name }) => sql`select ${name}::text as name, count(*)::int as n from ${sql.identifier(name)}`),
    sql` union all `,
  )
  const counts = await query<{ name: string; n: number }>(db, countRows)
  return counts.map(({ name, n }) => `${name}: ${n}`).join('\n')
}

interface Answered {
  code: string
  paths: string[]
  text: string
}

/** The outcome of a mutation, whether a union member or a refusal of the whole operation. */
async function send(root: RootField, variables: object, nested = '', key = home.key): Promise<Answered> {
  const response = await fetch(`${h.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    // Too deep for JSON.stringify, so it is inserted as text.
    body: JSON.stringify({ query: documentOf(root), variables }).replace('"NESTED"', nested),
  })
  const { data, errors } = (await response.json()) as any
  const text = JSON.stringify({ data, errors })
  if (errors) {
    const { code, issues = [] } = errors[0]!.extensions as any
    return { code, paths: issues.map((issue: any) => issue.path.join('.')), text }
  }
  const { __typename: type, code, issues = [], outcomes = [] } = data[root.name]
  const refused = outcomes.find((outcome: any) => outcome.status === 'REFUSED')
  const shown = code ?? (refused ? refused.error.code : type)
  return { code: shown, paths: issues.map((issue: any) => issue.path.join('.')), text }
}

/** Invalid values of each scalar; their text must not be repeated. */
const wrong: Record<string, unknown[]> = {
  ID: [{ a: 'ECHOED' }, ['ECHOED', 'x'], true, 1.5],
  String: [{ a: 'ECHOED' }, 424242, true],
  Int: ['ECHOED', 1.5, 2 ** 40, { a: 1 }],
  Float: ['ECHOED', { a: 1 }],
  Boolean: ['ECHOED', 424242],
  DateTime: ['ECHOED', 424242.5, {}],
  JSONObject: ['ECHOED', 424242, ['ECHOED']],
  JSONSchema: ['ECHOED', 424242, ['ECHOED']],
}

const places = (scalars: string[]) =>
  mutations.flatMap((root) =>
    placesOf(root, scalars).map((path) => [`${root.name}(${path.join('.')})`, root, path] as const),
  )

test('the smallest input of every mutation is valid, so that only the fault is refused below', async () => {
  for (const root of mutations) {
    // The server behind the mcp tool has no authorization server: the input is valid, and the login cannot begin.
    const right = ['connectUpstream', 'logInToUpstream'].includes(root.name) ? /^UPSTREAM$/ : /Payload$/
    if (!isFinal(root))
      expect((await send(root, minimalArguments(root, own()))).code, root.name).toMatch(right)
  }
  // The started generation ends before rows are counted.
  const started = await h.gql('{ generations(first: 10) { nodes { id status } } }', {}, home.key)
  for (const { id, status } of started.data['generations'].nodes)
    if (status !== 'REQUIRES_ACTION') await h.until(id, ['COMPLETED', 'REQUIRES_ACTION', 'FAILED'])
  const removals = async () =>
    (await h.gql('{ dataRemovals { nodes { finishedAt } } }', {}, home.key)).data['dataRemovals'].nodes
  await expect.poll(removals).not.toContainEqual({ finishedAt: null })
  before = await rows()
})

describe.each(Object.keys(wrong))('a value that is no %s', (scalar) => {
  const found = places([scalar])
  test.skipIf(found.length === 0).each(found)('is refused in %s', async (_name, root, path) => {
    for (const value of wrong[scalar]!) {
      const { code, paths, text } = await send(root, argumentsWith(root, own(), [...path], value))
      expect([code, paths[0]], text).toEqual(['INVALID', expect.stringContaining(String(path[1] ?? path[0]))])
      expect(text).not.toMatch(/ECHOED|424242/)
    }
    expect(await rows()).toBe(before)
  })
})

describe('an id that nothing has', () => {
  test.each(places(['ID']))('is refused with its path in %s', async (_name, root, path) => {
    // In submitToolOutputs these are for the next step only, and are validated when it begins.
    if (root.name === 'submitToolOutputs' && path.includes('activeToolIds')) return
    for (const id of ['tool_000000000000000000000000', 'nothing']) {
      const { code } = await send(root, argumentsWith(root, own(), path, id))
      // A filter with it matches nothing.
      const told = path.includes('filter') ? /Payload$/ : /^(NOT_FOUND|INVALID)$/
      expect(code, `${root.name} ${id}`).toMatch(told)
    }
    expect(await rows()).toBe(before)
  })
})

describe('JSON that is too deep or too large', () => {
  const deep = (levels: number) => '{"properties":'.repeat(levels) + '{}' + '}'.repeat(levels)
  const large = JSON.stringify({ a: 'ECHOED'.repeat(150_000) })

  test.each(places(['JSON', 'JSONObject', 'JSONSchema']))('is refused in %s', async (_name, root, path) => {
    const variables = argumentsWith(root, own(), path, 'NESTED') as any
    if (path.includes('policy')) delete variables.input.role
    const name = String(path.at(-1))
    // A body beyond 500 levels is not parsed at all.
    const told = { [deep(150)]: name, [deep(5000)]: 'body', [deep(50_000)]: 'body', [large]: name }
    for (const [nested, place] of Object.entries(told)) {
      // An output may have a mebibyte.
      if (name === 'output' && nested === large) continue
      const { code, paths, text } = await send(root, variables, nested)
      expect(code, text.slice(0, 500)).toBe('INVALID')
      if (root.name !== 'submitToolOutputs' || place === 'body') expect(paths[0]).toContain(place)
      expect(text).not.toContain('ECHOED')
      expect(text.length).toBeLessThan(20_000)
    }
    expect(await rows()).toBe(before)
  })
})

describe('a text that is too long', () => {
  const long = 'ECHOED'.repeat(100_000)
  test.each(places(['String']))('is refused in %s', async (_name, root, path) => {
    const { code, paths, text } = await send(root, argumentsWith(root, own(), path, long))
    expect(code, text.slice(0, 500)).toMatch(/^(INVALID|DeletionPayload|DeletionPayload)$/)
    if (code === 'INVALID') expect(paths[0]).toContain(String(path[1]))
    expect(text).not.toContain('ECHOEDECHOED')
    expect(await rows()).toBe(before)
  })
})

const object = { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: false }
const client = (inputSchema: object) => ({ client: { inputSchema } })
const http = (more: object) => ({
  http: { url: 'http://127.0.0.1:9/{a}', method: 'GET', inputSchema: object, ...more },
})

describe('a tool is checked before it is saved', () => {
  const at = (...rest: string[]) => ['input', ...rest].join('.')
  test.each([
    [
      'a schema that does not compile',
      { config: client({ type: 'objekt' }) },
      at('config', 'client', 'inputSchema', 'type'),
    ],
    [
      'a schema with a reference to nowhere',
      { config: client({ $ref: '#/$defs/none' }) },
      at('config', 'client', 'inputSchema'),
    ],
    [
      'a schema with a reference to another server',
      { config: client({ $ref: 'https://x.example/s' }) },
      at('config', 'client', 'inputSchema', '$ref'),
    ],
    [
      'a pattern that is no regular expression',
      { config: client({ properties: { a: { pattern: '(' } } }) },
      at('config', 'client', 'inputSchema'),
    ],
    [
      'an unknown draft',
      { config: client({ $schema: 'https://example.org/none' }) },
      at('config', 'client', 'inputSchema', '$schema'),
    ],
    [
      'arguments that are no object',
      { config: client({ type: 'array' }) },
      at('config', 'client', 'inputSchema', 'type'),
    ],
    [
      'an output schema that does not compile',
      { config: client(object), outputSchema: { type: 7 } },
      at('outputSchema', 'type'),
    ],
    [
      'a preset of a wrong type',
      { config: client(object), presetParameters: { a: 7 } },
      at('presetParameters', 'a'),
    ],
    ['an address that is none', { config: http({ url: 'nonsense' }) }, at('config', 'http', 'url')],
    [
      'an address of another protocol',
      { config: http({ url: 'file:///etc/passwd' }) },
      at('config', 'http', 'url'),
    ],
    [
      'a password in the address',
      { config: http({ url: 'http://u:p@127.0.0.1/' }) },
      at('config', 'http', 'url'),
    ],
    [
      'a placeholder that is no argument',
      { config: http({ url: 'http://127.0.0.1/{b}' }) },
      at('config', 'http', 'url'),
    ],
    [
      'a header that is none',
      { config: http({ headers: { 'bad name': 'x' } }) },
      at('config', 'http', 'headers', 'bad name'),
    ],
    [
      'a header with a line break',
      { config: http({ headers: { x: 'a\r\nb' } }) },
      at('config', 'http', 'headers', 'x'),
    ],
    [
      'a header that is no text',
      { config: http({ headers: { x: 7 } }) },
      at('config', 'http', 'headers', 'x'),
    ],
    [
      'a secret that does not exist',
      { config: http({ headers: { x: '{{secret:NONE}}' } }) },
      at('config', 'http', 'headers', 'x'),
    ],
    ['a time of zero', { config: client(object), timeoutMs: 0 }, at('timeoutMs')],
    ['an empty name', { name: '', config: client(object) }, at('name')],
    ['a name with a space', { name: 'a b', config: client(object) }, at('name')],
    ['a name that begins with a digit', { name: '1a', config: client(object) }, at('name')],
    ['a name of 65 letters', { name: 'a'.repeat(65), config: client(object) }, at('name')],
  ])('%s', async (_what, input, path) => {
    const { code, paths, text } = await send(byName('createTool'), { input: { name: 'fresh', ...input } })
    expect(code, text).toBe('INVALID')
    expect(
      paths.some((found) => found.startsWith(path)),
      paths.join(),
    ).toBe(true)
    expect(await rows()).toBe(before)
  })

  test('no kind, two kinds and a kind that is null are refused', async () => {
    const both = { ...client(object), ...http({}) }
    for (const config of [{}, both, { client: null }, { client: { inputSchema: {} }, http: null }]) {
      const { code, paths } = await send(byName('createTool'), { input: { name: 'fresh', config } })
      expect([code, paths[0]]).toEqual(['INVALID', expect.stringContaining('input.config')])
    }
    expect(await rows()).toBe(before)
  })

  test('another kind is refused at an update, and so is an old version', async () => {
    const id = home.ids['tool_']
    const kind = await send(byName('updateTool'), { input: { id, config: client(object) } })
    expect([kind.code, kind.paths]).toEqual(['INVALID', ['input.config']])
    const version = await send(byName('updateTool'), { input: { id, title: 't', expectedVersion: 999 } })
    expect(version.code).toBe('CONFLICT')
    expect(await rows()).toBe(before)
  })
})

describe('a name that is taken', () => {
  test.each([
    ['createTool', () => ({ name: 'home_http', config: client(object) })],
    ['createAgent', () => ({ name: 'home agent' })],
    ['updateTool', () => ({ id: home.ids['tool_'], name: 'home_client' })],
  ])('is refused by %s', async (name, input) => {
    expect((await send(byName(name), { input: input() })).code).toBe('NAME_TAKEN')
    expect(await rows()).toBe(before)
  })
})

describe('an agent or a run is checked before it is saved', () => {
  const faults: [string, object, string][] = [
    ['tools that it does not have', { activeToolIds: ['tool_x'] }, 'input.activeToolIds.0'],
    ['a rule without a step', { stepRules: [{}] }, 'input.stepRules.0'],
    ['a rule with a step and a range', { stepRules: [{ step: 1, toStep: 2 }] }, 'input.stepRules.0'],
    [
      'a range that ends before it begins',
      { stepRules: [{ fromStep: 3, toStep: 2 }] },
      'input.stepRules.0.toStep',
    ],
    ['a step of zero', { stepRules: [{ step: 0 }] }, 'input.stepRules.0.step'],
    ['a choice of an unknown tool', { toolChoice: { tool: 'nothing' } }, 'input.toolChoice'],
    ['a choice without an end', { toolChoice: { mode: 'REQUIRED' } }, 'input.toolChoice.mode'],
    ['an end at an unknown tool', { stopConditions: [{ hasToolCall: 'nothing' }] }, 'input.stopConditions'],
    ['no steps', { maxSteps: 0 }, 'input.maxSteps'],
    ['too many steps', { maxSteps: 101 }, 'input.maxSteps'],
    ['a temperature beyond two', { temperature: 2.1 }, 'input.temperature'],
    ['a model without a provider', { model: 'gpt' }, 'input.model'],
    ['an output schema that does not compile', { outputSchema: { type: 'x' } }, 'input.outputSchema.type'],
    ['a budget of nothing', { budget: { tokensPerDay: 0 } }, 'input.budget.tokensPerDay'],
    ['a wait that is too short', { clientTimeoutMs: 1 }, 'input.clientTimeoutMs'],
  ]
  test.each(faults)('%s', async (_what, settings, path) => {
    for (const [name, base] of [
      ['createAgent', { name: 'fresh' }],
      ['updateAgent', { id: home.ids['agt_'] }],
      ['startGeneration', { agentId: home.ids['agt_'], prompt: 'x' }],
    ] as const) {
      const { code, paths, text } = await send(byName(name), { input: { ...base, ...settings } })
      expect([name, code], text).toEqual([name, 'INVALID'])
      expect(
        paths.some((found) => found.startsWith(path)),
        `${name} ${paths.join()}`,
      ).toBe(true)
    }
    expect(await rows()).toBe(before)
  })

  test('no mode and no tool, and both, are refused as a choice', async () => {
    for (const toolChoice of [{}, { mode: 'AUTO', tool: 'home_http' }, { mode: null }]) {
      const { code, paths } = await send(byName('createAgent'), { input: { name: 'fresh', toolChoice } })
      expect([code, paths[0]]).toEqual(['INVALID', expect.stringContaining('input.toolChoice')])
    }
  })

  test.each([
    ['neither prompt nor messages', {}],
    ['both', { prompt: 'x', messages: [{ role: 'USER', content: 'x' }] }],
    ['an empty prompt', { prompt: '' }],
    ['no messages', { messages: [] }],
    ['messages that end with the model', { messages: [{ role: 'ASSISTANT', content: 'x' }] }],
    ['an empty idempotencyKey', { prompt: 'x', idempotencyKey: '' }],
  ])('a run with %s is refused', async (_what, input) => {
    const { code } = await send(byName('startGeneration'), { input: { agentId: home.ids['agt_'], ...input } })
    expect(code).toBe('INVALID')
    expect(await rows()).toBe(before)
  })
})

describe('other inputs', () => {
  test.each([
    ['createApiKey', { name: 'k', role: 'VIEWER', expiresAt: '2020-01-01T00:00:00Z' }, 'input.expiresAt'],
    ['createApiKey', { name: '', role: 'VIEWER' }, 'input.name'],
    ['createApiKey', { name: 'k', policy: { statement: 'all' } }, 'input.policy.statement'],
    ['setSecret', { name: 'not legal', value: 'x' }, 'input.name'],
    ['setSecret', { name: 'S', value: '' }, 'input.value'],
    ['setProvider', { name: 'builtin', kind: 'OPENAI', defaultModel: 'm' }, 'input.name'],
    ['setProvider', { name: 'p', kind: 'COMPATIBLE', defaultModel: 'm' }, 'input.baseUrl'],
    ['setProvider', { name: 'p', kind: 'OPENAI', defaultModel: 'm', baseUrl: 'ftp://x' }, 'input.baseUrl'],
    ['setProvider', { name: 'p', kind: 'OPENAI', defaultModel: 'm', secretName: 'NONE' }, 'input.secretName'],
    [
      'setProvider',
      { name: 'p', kind: 'OPENAI', defaultModel: 'm', contextWindow: 1 },
      'input.contextWindow',
    ],
  ])('%s with %j', async (name, input, path) => {
    const { code, paths, text } = await send(byName(name), { input })
    expect([code, paths[0]], text).toEqual(['INVALID', path])
    expect(await rows()).toBe(before)
  })

  test('arguments that do not match the schema are refused with their paths, and nothing is sent', async () => {
    const asked = upstream.seen.length
    const input = { toolId: home.ids['tool_'], arguments: { a: 7 } }
    expect(await send(byName('callTool'), { input })).toMatchObject({
      code: 'INVALID',
      paths: ['input.arguments.a'],
    })
    const action = { ...input, arguments: { a: 'x' }, action: 'run' }
    expect(await send(byName('callTool'), { input: action })).toMatchObject({
      code: 'INVALID',
      paths: ['input.action'],
    })
    expect(upstream.seen.length).toBe(asked)
    expect(await rows()).toBe(before)
  })

  test('an unknown field, a missing one and a null for a non-null type are refused without a suggestion', async () => {
    for (const input of [
      { nmae: 'ECHOED', value: 'v' },
      { name: 'S' },
      { name: null, value: 'v' },
      null,
      [],
      'ECHOED',
    ]) {
      const { code, paths, text } = await send(byName('setSecret'), { input })
      expect([code, paths[0]], text).toEqual(['INVALID', expect.stringMatching(/^input/)])
      expect(text).not.toMatch(/ECHOED|Did you mean/)
    }
    expect(await rows()).toBe(before)
  })
})

describe('the smallest input of what takes a thing away is right, too', () => {
  const final = mutations.filter((root) => isFinal(root) && !isOfOperators(root))
  test.each(final.map((root) => [root.name, root] as const))('%s', async (name, root) => {
    const project = await furnish(h, `end_${name}`, upstream.url)
    const { code, text } = await send(root, minimalArguments(root, own(project)), '', project.key)
    expect(code, text).toMatch(/Payload$/)
  })
})
