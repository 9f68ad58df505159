/** Clients of GraphQL from npm with their defaults: Apollo, and urql with its normalized cache. */
import { createClient } from 'graphql-ws'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { WebSocket } from 'ws'
import possibleTypes from '../../../client/possible-types.json' with { type: 'json' }
import { adminKey, openHarness, type Harness } from '../../support/harness.ts'
import { describeWithPeers, importPeer } from '../../support/peers.ts'

/** Their packages bring types of another realm. */
type Untyped = Record<string, any>

const authorization = `Bearer ${adminKey}`
const createAgent = `mutation($input: CreateAgentInput!) { createAgent(input: $input) {
  __typename
  ... on AgentPayload { agent { id name } }
  ... on Error { code message }
} }`
const gates = `{ tools(first: 5) { nodes { id name gate { source quorum } } } }`

describeWithPeers('clients from npm', () => {
  let h: Harness
  beforeAll(async () => {
    h = await openHarness()
    const gate = { quorum: 1 }
    const config = { client: { inputSchema: { type: 'object' } } }
    await h.mutate('createTool', { name: 'pay', config, gate }, 'tool { id }')
  })
  afterAll(() => h.stop())

  async function apollo(more: (client: Untyped) => Promise<Untyped> = async () => ({})) {
    const core = await importPeer<Untyped>('@apollo/client/core')
    const sent: Untyped[] = []
    const http = new core['HttpLink']({
      uri: `${h.url}/graphql`,
      headers: { authorization },
      fetch: (url: string, init: RequestInit) => {
        sent.push(JSON.parse(String(init.body)) as Untyped)
        return fetch(url, init)
      },
    })
    const { link = http } = await more({ ...core, http })
    const cache = new core['InMemoryCache']({ possibleTypes })
    const client = new core['ApolloClient']({ link, cache })
    return { gql: core['gql'] as (text: string) => unknown, client, sent }
  }

  test('Apollo has code and message of every refusal, with the possible types of the package', async () => {
    const { gql, client } = await apollo()
    const variables = { input: { name: '' } }
    const { data } = await client.mutate({ mutation: gql(createAgent), variables })
    expect(data.createAgent).toEqual({
      __typename: 'ValidationError',
      code: 'INVALID',
      message: expect.stringContaining('name'),
    })
    const query = gql(gates)
    await client.query({ query })
    expect(client.readQuery({ query }).tools.nodes[0].gate).toMatchObject({ quorum: 1 })
    client.stop()
  })

  test('Apollo that sends hashes of documents is told once that it must not', async () => {
    const { gql, client, sent } = await apollo(async ({ http }) => {
      const { PersistedQueryLink } = await importPeer<Untyped>('@apollo/client/link/persisted-queries')
      const { createHash } = await import('node:crypto')
      const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
      return { link: new PersistedQueryLink({ sha256 }).concat(http) }
    })
    const names: string[] = []
    for (const text of ['{ viewer { id name } }', '{ viewer { id kind } }'])
      names.push(...Object.keys((await client.query({ query: gql(text) })).data.viewer))
    expect(names).toEqual(['__typename', 'id', 'name', '__typename', 'id', 'kind'])
    expect(sent.map(({ query }) => query !== undefined)).toEqual([false, true, true])
    client.stop()
  })

  test('Apollo that subscribes over HTTP is told how, and over WebSocket has every event', async () => {
    const subscription = `subscription { projectEvents(after: "0") { __typename cursor } }`
    const overHttp = await apollo()
    const fault = await first(overHttp, subscription).catch((error: unknown) => error as Error)
    expect(JSON.stringify(fault, Object.getOwnPropertyNames(fault))).toMatch(/GraphQLWsLink/)
    overHttp.client.stop()
    const sockets = createClient({
      url: `${h.url.replace('http', 'ws')}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { authorization },
    })
    const overSocket = await apollo(async () => {
      const { GraphQLWsLink } = await importPeer<Untyped>('@apollo/client/link/subscriptions')
      return { link: new GraphQLWsLink(sockets) }
    })
    const { data } = await first(overSocket, subscription)
    expect(data.projectEvents.__typename).toMatch(/Event$/)
    overSocket.client.stop()
    await sockets.dispose()
  })

  test('urql keeps gates where they are, without a warning, when types without an id have no key', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const { Client, fetchExchange } = await importPeer<Untyped>('@urql/core')
    const { cacheExchange } = await importPeer<Untyped>('@urql/exchange-graphcache')
    const introspected = await h.gql(
      '{ __schema { queryType { name } types { kind name fields { name } possibleTypes { name } } } }',
    )
    const types = introspected.data['__schema'].types as { name: string; fields: { name: string }[] | null }[]
    const keyless = types.filter(({ fields }) => fields && !fields.some(({ name }) => name === 'id'))
    const keys = Object.fromEntries(keyless.map(({ name }) => [name, () => null]))
    const client = new Client({
      url: `${h.url}/graphql`,
      fetchOptions: { headers: { authorization } },
      exchanges: [cacheExchange({ keys }), fetchExchange],
    })
    for (const requestPolicy of ['network-only', 'cache-only']) {
      const { data } = await client.query(gates, {}, { requestPolicy }).toPromise()
      expect(data.tools.nodes[0].gate).toMatchObject({ quorum: 1 })
    }
    expect(warn.mock.calls).toEqual([])
    warn.mockRestore()
  })
})

/** The first result of a subscription, or its error. */
function first({ gql, client }: { gql: (text: string) => unknown; client: Untyped }, text: string) {
  return new Promise<Untyped>((resolve, reject) => {
    const subscription = client['subscribe']({ query: gql(text) }).subscribe({
      next: (result: Untyped) => {
        subscription?.unsubscribe()
        if (result['error']) reject(result['error'] as Error)
        else resolve(result)
      },
      error: reject,
    })
  })
}
