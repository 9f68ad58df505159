/** Introspection and responses are bounded, and clients that do not read do not fill the memory. */
import type { ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { getIntrospectionQuery } from 'graphql'
import { describe, expect, test } from 'vitest'
import { listen, defaultServerLimits, type HttpServer, type Routes } from '../../src/api/http/server.ts'
import type { ReaderLimits } from '../../src/api/http/slow-readers.ts'
import { openAcknowledged } from '../api/graphql/raw-socket.ts'
import { adminKey, openHarness } from '../support/harness.ts'
import { allowedStall, longestStall } from '../support/stall.ts'
import { forFile } from '../support/for-file.ts'

const h = await forFile(openHarness({ production: true, maxAnswerBytes: 64 * 1024 }))
const inputSchema = { type: 'object', description: 'x'.repeat(20_000) }
for (let i = 0; i < 6; i++)
  await h.mutate('createTool', { name: `t${i}`, config: { client: { inputSchema } } }, 'tool { id }')

const fullQuery = getIntrospectionQuery({ inputValueDeprecation: true, oneOf: true, specifiedByUrl: true })

describe('introspection', () => {
  test('in production it requires a key, in whatever form', async () => {
    for (const query of [
      fullQuery,
      '{ __type(name: "Query") { name } }',
      '{ ...F } fragment F on Query { ... { a: __schema { queryType { name } } } }',
    ]) {
      expect(await h.gql(query, {}, '')).toMatchObject({
        status: 401,
        errors: [{ extensions: { code: 'UNAUTHENTICATED' } }],
      })
    }
    expect((await h.gql(fullQuery)).errors).toBeUndefined()
  })

  test('outside production it works without a key', async () => {
    const open = await openHarness({})
    expect((await open.gql('{ __schema { queryType { name } } }', {}, '')).errors).toBeUndefined()
    await open.stop()
  })

  const nested = 'types { fields { type { fields { args { type { name } } type { ofType { name } } } } } }'
  const many = (text: string, count: number) =>
    Array.from({ length: count }, (_, i) => `a${i}: ${text}`).join(' ')
  test.each([
    [
      'two of __schema',
      '{ a: __schema { queryType { name } } b: __schema { queryType { name } } }',
      /__schema 2 times/,
    ],
    ['eleven of __type', `{ ${many('__type(name: "Query") { name }', 11)} }`, /__type 11 times/],
    [
      'the same description over and over',
      `{ __schema { types { fields { ${many('description', 10)} type { fields { ${many('description', 15)} args { name description } } ofType { fields { description name } } } } } } }`,
      /asks the schema for/,
    ],
    [
      'ten large types',
      `{ ${many('__type(name: "Query") { fields { name description args { name description type { name ofType { name } } } type { fields { name description args { name description } } } } }', 10)} }`,
      null,
    ],
    ['lists in lists', `{ __schema { ${nested} } }`, null],
  ])('%s is judged by what it costs', async (_what, query, refused) => {
    let result: any
    const stall = await longestStall(async () => (result = await h.gql(query)))
    if (refused) expect(result.errors[0].message).toMatch(refused)
    else expect(result.errors).toBeUndefined()
    expect(stall).toBeLessThan(allowedStall)
  })

  test('a name that the response would repeat with every field is refused', async () => {
    const alias = 'a'.repeat(100_000)
    for (const query of [`{ tools { nodes { ${alias}: id } } }`, `{ __schema { types { ${alias}: name } } }`])
      expect((await h.gql(query)).errors![0]!.message).toMatch(/alias of more than 128 characters/)
  })
})

describe('responses', () => {
  const all = '{ tools(first: 6) { nodes { name inputSchema } } }'

  test('a response beyond the budget is an error in its place, over HTTP, sockets and streams', async () => {
    const code = { extensions: { code: 'RESPONSE_TOO_LARGE' } }
    const overHttp = await h.gql(all)
    expect(overHttp).toMatchObject({ errors: [code] })
    expect(overHttp.errors).toHaveLength(1)
    expect(overHttp.data).toBeUndefined()
    const socket = await openAcknowledged(h.url, adminKey)
    socket.send({ id: '1', type: 'subscribe', payload: { query: all } })
    expect((await socket.next()).payload.errors).toMatchObject([code])
    socket.ws.close()
  })

  test('a page within the budget is returned', async () => {
    const result = await h.gql('{ tools(first: 2) { nodes { name inputSchema } } }')
    expect(result.errors).toBeUndefined()
    expect(result.data['tools'].nodes).toHaveLength(2)
  })

  test('a mutation that took effect says so although its response is too large', async () => {
    const larger = { type: 'object', description: 'x'.repeat(40_000) }
    const query =
      'mutation($i: CreateToolInput!) { createTool(input: $i) { ... on ToolPayload { tool { a: inputSchema b: inputSchema } } } }'
    const result = await h.gql(query, { i: { name: 'large', config: { client: { inputSchema: larger } } } })
    expect(result.errors).toMatchObject([{ message: expect.stringContaining('has been done') }])
    expect((await h.gql('{ tools { nodes { name } } }')).data['tools'].nodes).toContainEqual({
      name: 'large',
    })
  })
})

describe('clients that do not read', () => {
  const bytes = Buffer.alloc(16 * 1024 * 1024, 'x')
  const routes: Routes = {
    mcp: null,
    known: [
      {
        serves: () => true,
        serve: (_request, response) => {
          answers.push(response)
          response.end(bytes)
        },
      },
    ],
    open: [],
    upgrade: null,
    hostFault: () => null,
    takeAnonymous: () => 0,
    connectionName: () => null,
    ready: async () => true,
    release: () => ({}),
    allowOrigin: () => false,
    web: null,
  }
  let answers: ServerResponse[]
  const clients: Socket[] = []
  const ask = (server: HttpServer) => {
    const socket = connect(server.port, '127.0.0.1').pause()
    socket.on('error', () => {}).write('GET /graphql HTTP/1.1\r\nHost: localhost\r\n\r\n')
    clients.push(socket)
  }
  const start = (limits: Partial<ReaderLimits>) => {
    answers = []
    const readers = { ...defaultServerLimits.readers, pollMs: 20, ...limits }
    return listen(routes, '127.0.0.1', 0, { ...defaultServerLimits, readers })
  }

  test('have a deadline for each response', async () => {
    const server = await start({ unreadMs: 200 })
    ask(server)
    await expect.poll(() => answers[0]?.destroyed).toBe(true)
    const [client] = clients.splice(0)
    await new Promise((resolve) => client!.once('close', resolve).resume())
    expect(client!.bytesRead).toBeLessThan(bytes.length)
    await server.close(0)
  })

  test('sixty of them together hold no more than the bound, and other clients are served', async () => {
    const maxUnreadBytes = 40 * 1024 * 1024
    const server = await start({ maxUnreadBytes })
    for (let i = 0; i < 60; i++) ask(server)
    await expect.poll(() => answers.length).toBe(60)
    const kept = () =>
      answers.filter((one) => !one.destroyed).reduce((sum, { writableLength }) => sum + writableLength, 0)
    await expect.poll(kept).toBeLessThanOrEqual(maxUnreadBytes)
    expect(answers.filter((one) => one.destroyed).length).toBeGreaterThan(50)
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
    clients.forEach((socket) => socket.destroy())
    await server.close(0)
  })
})
