/** The printed schema as a subgraph: both compositions take it, and a gateway asks this server and another subgraph at once. */
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { adminKey, openHarness, type Harness } from '../../support/harness.ts'
import { describeWithPeers, importPeer } from '../../support/peers.ts'

/** Their packages bring types of another realm. */
type Untyped = Record<string, any>

const orders = `extend schema @link(url: "https://specs.apollo.dev/federation/v2.3", import: ["@key"])
type Query { order(id: ID!): Order }
type Order @key(fields: "id") { id: ID! title: String! toolName: String! }`

describeWithPeers('the schema in a supergraph', () => {
  let h: Harness
  let graphql: Untyped
  let sdl: string
  beforeAll(async () => {
    h = await openHarness()
    graphql = await importPeer<Untyped>('graphql')
    sdl = await readFile(resolve(import.meta.dirname, '../../../docs/schema.graphql'), 'utf8')
    const config = { client: { inputSchema: { type: 'object' } } }
    await h.mutate('createTool', { name: 'pay', config }, 'tool { id }')
  })
  afterAll(() => h.stop())

  // Apollo's composition does not know @oneOf, a directive of GraphQL itself, and leaves it out: this server judges it.
  test.each([
    ['@apollo/composition', 'directive @oneOf on INPUT_OBJECT\n'],
    ['@theguild/federation-composition', ''],
  ])('%s composes it, and a gateway runs a query and a mutation over both', async (name, before) => {
    const { composeServices } = await importPeer<Untyped>(name)
    const { errors, supergraphSdl } = composeServices([
      { name: 'gatehouse', url: `${h.url}/graphql`, typeDefs: graphql['parse'](before + sdl) },
      { name: 'orders', url: 'http://orders.example.com', typeDefs: graphql['parse'](orders) },
    ])
    expect(errors ?? []).toEqual([])
    const run = await gatewayOf(supergraphSdl)
    expect(await run('{ order(id: "o1") { title } tools(first: 1) { nodes { name } } }')).toEqual({
      data: { order: { title: 'Order o1' }, tools: { nodes: [{ name: 'pay' }] } },
    })
    const both = '{ client: { inputSchema: {} }, platform: { actions: [] } }'
    const two = await run(`mutation { createTool(input: { name: "x", config: ${both} }) { __typename } }`)
    expect(JSON.stringify(two['errors'])).toContain('exactly one')
    const refused = await run(
      `mutation { createAgent(input: { name: "" }) { __typename ... on Error { code } } }`,
    )
    expect(refused['data'].createAgent).toEqual({ __typename: 'ValidationError', code: 'INVALID' })
  })

  /** A function that runs operations as the gateway plans them. */
  async function gatewayOf(supergraphSdl: string): Promise<(query: string) => Promise<Untyped>> {
    const { ApolloGateway, RemoteGraphQLDataSource } = await importPeer<Untyped>('@apollo/gateway')
    const schema = graphql['buildSchema'](orders.replace(/extend schema.*\n/, '').replace(/@key\(.*?\)/, ''))
    const rootValue = { order: ({ id }: { id: string }) => ({ id, title: `Order ${id}`, toolName: 'pay' }) }
    const local = {
      process: ({ request }: Untyped) =>
        graphql['graphql']({
          schema,
          source: request['query'],
          rootValue,
          variableValues: request['variables'],
        }),
    }
    const willSendRequest = ({ request }: Untyped) =>
      request['http'].headers.set('authorization', `Bearer ${adminKey}`)
    const remote = (url: string) => Object.assign(new RemoteGraphQLDataSource({ url }), { willSendRequest })
    const gateway = new ApolloGateway({
      supergraphSdl,
      buildService: ({ name, url }: { name: string; url: string }) =>
        name === 'orders' ? local : remote(url),
    })
    const { executor, schema: composed } = await gateway.load()
    return async (query) => {
      const document = graphql['parse'](query)
      const request = { query, variables: {} }
      const [operation] = document.definitions
      const more = {
        schema: composed,
        queryHash: query,
        operation,
        operationName: null,
        context: {},
        metrics: {},
      }
      return JSON.parse(
        JSON.stringify(await executor({ document, request, cache: null, logger: console, ...more })),
      )
    }
  }
})
