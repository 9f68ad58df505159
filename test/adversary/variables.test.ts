/** One POST of variables, or of literals, must not stall the process, with and without a key. */
import { describe, expect, test } from 'vitest'
import { adminKey, openHarness } from '../support/harness.ts'
import { allowedStall, repeatedStall } from '../support/stall.ts'
import { openAcknowledged } from '../api/graphql/raw-socket.ts'
import { forFile } from '../support/for-file.ts'

async function post(
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
): Promise<[number, any]> {
  const response = await fetch(`${h.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${adminKey}`, ...headers },
    body,
  })
  const text = await response.text()
  return [response.status, JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text)]
}

const nodes = 'query($ids: [ID!]!) { nodes(ids: $ids) { id } }'
const list = (item: string, count: number) => `[${Array.from({ length: count }, () => item).join(',')}]`
/** As bytes: joining and encoding it while a stall is measured would be work of the test, not of the server. */
const bodyOf = (query: string, variables: string) =>
  new TextEncoder().encode(`{"query":${JSON.stringify(query)},"variables":${variables}}`)

const h = await forFile(openHarness({ production: true }))
// Compilation at the first use is not measured: neither of the path of JSON, nor of refusals, nor of large bodies.
await h.gql('{ viewer { id } }')
await post(bodyOf('{ viewer { id } }', '{}'), { authorization: 'Bearer gh_wrong' })
await post(bodyOf('{ viewer { id } }', `{"a":"${'x'.repeat(1_000_000)}"}`))

const deciding =
  'mutation($i: DecideApprovalsInput!) { decideApprovals(input: $i) { __typename ... on Error { code } } }'
const callTool =
  'mutation($i: CallToolInput!) { callTool(input: $i) { __typename ... on Error { code message } } }'
const creating =
  'mutation($i: CreateAgentInput!) { createAgent(input: $i) { __typename ... on Error { code message } } }'

describe('variables', () => {
  const bombs: [string, Uint8Array<ArrayBuffer>, RegExp][] = [
    ['340,000 wrong items', bodyOf(nodes, `{"ids":${list('{}', 340_000)}}`), /more than 100000 values/],
    ['45,000 wrong items', bodyOf(nodes, `{"ids":${list('{}', 45_000)}}`), /at most 1000 entries/],
    ['90,000 right items', bodyOf(nodes, `{"ids":${list('"x"', 90_000)}}`), /at most 1000 entries/],
    ['900 wrong items', bodyOf(nodes, `{"ids":${list('{}', 900)}}`), /must be a ID/],
    [
      'many lists that are each short',
      bodyOf(
        deciding,
        `{"i":{"decisions":${list(`{"approvalId":"a","verdict":"APPROVE","grant":{"toolIds":${list('"x"', 200)}}}`, 400)}}}`,
      ),
      /entries|Field/,
    ],
    [
      '50,000 unknown fields',
      bodyOf(
        deciding,
        `{"i":{${Array.from({ length: 50_000 }, (_, i) => `"approvalId${i}":1`).join(',')},"decisions":[]}}`,
      ),
      /Field .*approvalId0.* is not defined/,
    ],
    ['a wrong value of 1 MB', bodyOf(nodes, `{"ids":[{"a":"${'x'.repeat(1_000_000)}"}]}`), /must be a ID/],
    [
      'JSON of 90,000 numbers where JSON belongs',
      bodyOf(callTool, `{"i":{"toolId":"tool_x","arguments":{"a":${list('0', 90_000)}}}}`),
      /INVALID|NOT_FOUND/,
    ],
  ]
  test.each(bombs)('%s get a typed error and do not stall the process', async (_what, body, words) => {
    let answer: any
    const stall = await repeatedStall(async () => ([, answer] = await post(body)))
    expect(JSON.stringify(answer)).toMatch(words)
    expect(answer.errors?.[0].extensions.issues?.length ?? 0).toBeLessThanOrEqual(20)
    expect(stall).toBeLessThan(allowedStall)
  })

  test('the error names the path of the list that is too long', async () => {
    const [status, answer] = await post(bodyOf(nodes, `{"ids":${list('"x"', 1001)}}`))
    expect(status).toBe(200)
    expect(answer.errors[0].extensions).toEqual({
      code: 'INVALID',
      issues: [{ path: ['ids'], message: 'must have at most 1000 entries' }],
    })
  })

  test('the lists that operations accept are within the limit of the guard', async () => {
    const [, answer] = await post(
      bodyOf(creating, `{"i":{"name":"many","toolIds":${list('"tool_x"', 1000)}}}`),
    )
    expect(answer.errors).toBeUndefined()
  })

  test('without a key nothing of a large body is read, and the response is 401 or 413', async () => {
    const body = bodyOf(nodes, `{"ids":${list('{}', 340_000)}}`)
    let statuses: number[] = []
    const stall = await repeatedStall(async () => {
      statuses = []
      for (const authorization of ['Bearer gh_wrong', ''])
        statuses.push((await post(body, { authorization }))[0])
      const bare = { method: 'POST', headers: { 'content-type': 'application/json' }, body }
      statuses.push((await fetch(`${h.url}/graphql`, bare)).status)
      statuses.push((await fetch(`${h.url}/mcp`, bare)).status)
    })
    expect(statuses).toEqual([401, 401, 413, 401])
    expect(stall).toBeLessThan(allowedStall)
  })

  test('a stream of events and a socket refuse the same', async () => {
    const [, answer] = await post(bodyOf(nodes, `{"ids":${list('{}', 45_000)}}`), {
      accept: 'text/event-stream',
    })
    expect(answer.errors[0].message).toMatch(/at most 1000 entries/)
    const socket = await openAcknowledged(h.url, adminKey)
    const stall = await repeatedStall(async () => {
      socket.send({
        id: '1',
        type: 'subscribe',
        payload: { query: nodes, variables: { ids: Array.from({ length: 80_000 }, () => ({})) } },
      })
      expect(JSON.stringify(await socket.next())).toMatch(/at most 1000 entries/)
    })
    expect(stall).toBeLessThan(allowedStall)
    socket.ws.close()
  })
})

describe('literals', () => {
  test('one variable in many places of a JSON literal is not walked without end', async () => {
    const fields = Array.from({ length: 400 }, (_, i) => `a${i}: $x`).join(' ')
    const query = `mutation($x: JSON) { callTool(input: {toolId: "tool_x", arguments: {${fields}}}) { __typename ... on Error { code message } } }`
    const body = bodyOf(query, `{"x":${list('0', 90_000)}}`)
    let answer: any
    const stall = await repeatedStall(async () => ([, answer] = await post(body)))
    expect(JSON.stringify(answer)).toMatch(/variables inside literals|invalid value/)
    expect(stall).toBeLessThan(allowedStall)
  })

  test('a small variable inside a literal is still accepted', async () => {
    const query = `mutation($x: JSON) { callTool(input: {toolId: "tool_x", arguments: {a: $x, b: [$x]}}) { __typename ... on Error { code } } }`
    const [, answer] = await post(bodyOf(query, '{"x":{"deep":[1,2,3]}}'))
    expect(answer.data.callTool).toEqual({ __typename: 'NotFoundError', code: 'NOT_FOUND' })
  })

  test.each([
    ['many equal fields', `{ ${'__typename '.repeat(1990)} }`],
    [
      'many fragments of many fields',
      `{ ${'...F '.repeat(300)} } fragment F on Query { ${'viewer { id } '.repeat(200)} }`,
    ],
    ['a long word', `{ ${'a'.repeat(1_000_000)} }`],
    ['a long text', `{ node(id: "${'a'.repeat(1_000_000)}") { id } }`],
    ['a long comment', `{ __typename } #${'a'.repeat(1_000_000)}`],
    ['many commas', `{ __typename ${','.repeat(1_000_000)} }`],
  ])('a document with %s stalls nobody', async (_what, query) => {
    const body = JSON.stringify({ query })
    const stall = await repeatedStall(() => post(body))
    expect(stall).toBeLessThan(allowedStall)
  })
})
