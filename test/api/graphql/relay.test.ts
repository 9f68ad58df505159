/** Relay with its compiler: a connection that is paged, a fragment that is fetched again by its id, a mutation, a subscription. */
import { execFile } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { createClient } from 'graphql-ws'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { adminKey, openHarness, type Harness } from '../../support/harness.ts'
import { describeWithPeers, importPeer, peerFile } from '../../support/peers.ts'

/** Relay brings no types for Node. */
type Untyped = Record<string, any>

const authorization = `Bearer ${adminKey}`
const schema = resolve(import.meta.dirname, '../../../docs/schema.graphql')
const source = `import { graphql } from 'relay-runtime'
graphql\`query ToolsQuery($first: Int!) { ...Tools_page @arguments(first: $first) }\`
graphql\`fragment Tools_page on Query @refetchable(queryName: "ToolsPageQuery")
  @argumentDefinitions(first: { type: "Int!" }, after: { type: "String" }) {
  tools(first: $first, after: $after) @connection(key: "Tools_tools") { edges { node { ...Tools_tool } } } }\`
graphql\`fragment Tools_tool on Tool @refetchable(queryName: "ToolsToolQuery") { id name }\`
graphql\`mutation ToolsCreateMutation($input: CreateAgentInput!) { createAgent(input: $input) {
  __typename ... on AgentPayload { agent { id name } } ... on Error { code message } } }\`
graphql\`subscription ToolsEventsSubscription { projectEvents(after: "0") { __typename cursor } }\`
`

describeWithPeers('Relay', () => {
  let h: Harness
  let folder: string
  let relay: Untyped
  let environment: Untyped
  const closers: (() => unknown)[] = []
  const artifact = (name: string) =>
    createRequire(join(folder, 'x.js'))(`./made/${name}.graphql.js`) as Untyped

  beforeAll(async () => {
    h = await openHarness()
    const config = { client: { inputSchema: { type: 'object' } } }
    for (const name of ['one', 'two', 'three']) await h.mutate('createTool', { name, config }, 'tool { id }')
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-relay-'))
    await mkdir(join(folder, 'src'))
    await mkdir(join(folder, 'made'))
    await writeFile(join(folder, 'src/Tools.js'), source)
    const settings = {
      src: './src',
      schema: './schema.graphql',
      language: 'javascript',
      artifactDirectory: './made',
      eagerEsModules: false,
    }
    await writeFile(join(folder, 'relay.config.json'), JSON.stringify(settings))
    await writeFile(join(folder, 'package.json'), '{}')
    await copyFile(schema, join(folder, 'schema.graphql'))
    const compiler = peerFile('node_modules/relay-compiler/cli.js')
    await promisify(execFile)(process.execPath, [compiler], { cwd: folder })
    relay = await importPeer<Untyped>('relay-runtime')
    environment = environmentOf()
  })
  afterAll(async () => {
    for (const close of closers) await close()
    await h.stop()
    await rm(folder, { recursive: true })
  })

  function environmentOf(): Untyped {
    const { Environment, Network, Observable, RecordSource, Store } = relay
    const sockets = createClient({
      url: `${h.url.replace('http', 'ws')}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { authorization },
    })
    closers.push(() => sockets.dispose())
    const ask = async ({ text: query }: { text: string }, variables: object) => {
      const headers = { authorization, 'content-type': 'application/json' }
      const body = JSON.stringify({ query, variables })
      return (await fetch(`${h.url}/graphql`, { method: 'POST', headers, body })).json()
    }
    const listen = ({ text: query }: { text: string }, variables: Record<string, unknown>) =>
      Observable.create((sink: any) => sockets.subscribe({ query, variables }, sink))
    return new Environment({ network: Network.create(ask, listen), store: new Store(new RecordSource()) })
  }

  const fetched = (name: string, variables: object) =>
    relay['fetchQuery'](environment, artifact(name), variables).toPromise()

  /** The names of the tools in a selection of fragments. */
  function namesIn(page: Untyped): string[] {
    const { edges } = environment['lookup'](relay['getSelector'](artifact('Tools_page'), page)).data.tools
    return edges.map(({ node }: Untyped) => nameOf(node))
  }
  const nameOf = (tool: Untyped): string =>
    environment['lookup'](relay['getSelector'](artifact('Tools_tool'), tool)).data.name

  test('pages of a connection are one list, and a fragment is fetched again by its id', async () => {
    const operation = relay['createOperationDescriptor'](relay['getRequest'](artifact('ToolsQuery')), {
      first: 2,
    })
    const kept = environment['retain'](operation)
    closers.push(() => kept.dispose())
    const page = await fetched('ToolsQuery', { first: 2 })
    const names = namesIn(page)
    expect(names).toHaveLength(2)
    const { pageInfo } = (await h.gql('{ tools(first: 2) { pageInfo { endCursor } } }')).data['tools']
    await fetched('ToolsPageQuery', { first: 2, after: pageInfo.endCursor })
    expect(namesIn(page).slice(0, 2)).toEqual(names)
    expect(namesIn(page).toSorted()).toEqual(['one', 'three', 'two'])

    const { id } = (await h.gql('{ tools(first: 1) { nodes { id } } }')).data['tools'].nodes[0]
    await h.mutate('updateTool', { id, name: 'renamed' }, 'tool { id }')
    const { node } = await fetched('ToolsToolQuery', { id })
    expect(nameOf(node)).toBe('renamed')
    expect(namesIn(page)).toContain('renamed')
  })

  test('a refusal of a mutation is data, and events come over WebSocket', async () => {
    const answer = await new Promise<Untyped>((onCompleted, onError) =>
      relay['commitMutation'](environment, {
        mutation: artifact('ToolsCreateMutation'),
        variables: { input: { name: '' } },
        onCompleted,
        onError,
      }),
    )
    expect(answer['createAgent']).toMatchObject({ __typename: 'ValidationError', code: 'INVALID' })
    const event = await new Promise<Untyped>((onNext, onError) => {
      const subscription = artifact('ToolsEventsSubscription')
      const { dispose } = relay['requestSubscription'](environment, {
        subscription,
        variables: {},
        onNext,
        onError,
      })
      closers.push(dispose)
    })
    expect(event['projectEvents'].__typename).toMatch(/Event$/)
  })
})
