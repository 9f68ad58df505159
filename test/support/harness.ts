/** A running Gatehouse for a test, used over HTTP, sockets and SSE as clients do. */
import { payloadOf } from './ask.ts'
import { createClient, type Client } from 'graphql-ws'
import { WebSocket } from 'ws'
import { createApp, type App, type AppParts } from '../../src/app.ts'
import { loadConfig, type Config } from '../../src/config.ts'
import { hasPostgres, memoryDatabase, postgresDatabase } from './databases.ts'
import { fewConnections } from './postgres-server.ts'

export const adminKey = 'gh_test_operator_0123456789012345678901234567890123'

export interface Harness {
  app: App
  url: string
  /** Runs an operation with the operator's key, or another one; returns the whole result. */
  gql<Data = Record<string, any>>(
    query: string,
    variables?: object,
    key?: string,
  ): Promise<GraphQLResult<Data>>
  /** Runs a mutation `name(input)` and returns its union member; `fields` is what to select of the payload. */
  mutate(name: string, input: object, fields: string, key?: string): Promise<Record<string, any>>
  /** A graphql-ws client with the key; closed with the harness. */
  client(key?: string, options?: object): Client
  /** Collects the results of a subscription until `enough` returns true or the subscription completes. */
  collect(query: string, variables: object, enough?: (events: any[]) => boolean, key?: string): Promise<any[]>
  /** Waits, by its events, until a generation has one of these statuses; returns it. */
  until(generationId: string, states: string[], fields?: string): Promise<Record<string, any>>
  stop(): Promise<void>
}

export interface GraphQLResult<Data> {
  status: number
  data: Data
  errors?: { message: string; path?: string[]; extensions?: Record<string, any> }[]
}

/**
 * Starts one on a database of its own, without the demo, on a free port: on PostgreSQL where it is reachable, which takes a
 * quarter of the time of an embedded one; with `databaseUrl: null` on an embedded one. Close it with `stop`.
 */
export async function openHarness(config: Partial<Config> = {}, parts: AppParts = {}): Promise<Harness> {
  const isOpen = config.databaseUrl !== undefined || parts.database !== undefined
  const own = !isOpen && hasPostgres ? await postgresDatabase() : null
  const database = parts.database ?? (own || config.databaseUrl ? undefined : await memoryDatabase())
  const base = loadConfig({
    GATEHOUSE_PORT: '0',
    GATEHOUSE_LOG_LEVEL: process.env['TEST_LOG'] ?? 'silent',
    GATEHOUSE_ADMIN_KEY: adminKey,
  })
  const app = await createApp(
    {
      ...base,
      demo: false,
      graphiql: false,
      // The upstreams of tests listen on loopback.
      egressAllowPrivate: true,
      // Nothing listens there: no test asks the real one.
      slackApiUrl: 'http://127.0.0.1:1',
      requestsPerMinute: 1_000_000,
      anonymousPerMinute: 1_000_000,
      costPerMinute: 1_000_000_000,
      secretKey: Buffer.alloc(32, 7),
      databasePool: fewConnections,
      ...config,
      ...(own ? { databaseUrl: own.url } : {}),
    },
    { ...parts, ...(database ? { database } : {}) },
  )
  const harness = harnessOf(app)
  if (!own) return harness
  return {
    ...harness,
    async stop() {
      await harness.stop()
      await own.drop()
    },
  }
}

/** A harness for a running app. */
export function harnessOf(app: App): Harness {
  const clients: Client[] = []
  const gql: Harness['gql'] = async (query, variables = {}, key = adminKey) => {
    const response = await fetch(`${app.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(key ? { authorization: `Bearer ${key}` } : {}) },
      body: JSON.stringify({ query, variables }),
    })
    return { status: response.status, ...((await response.json()) as object) } as never
  }
  const client: Harness['client'] = (key = adminKey, options = {}) => {
    const made = createClient({
      url: `${app.url.replace('http', 'ws')}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { authorization: `Bearer ${key}` },
      retryAttempts: 0,
      ...options,
    })
    clients.push(made)
    return made
  }
  const collect: Harness['collect'] = (query, variables, enough = () => false, key = adminKey) =>
    new Promise((resolve, reject) => {
      const events: any[] = []
      const stop = client(key).subscribe<Record<string, any>>(
        { query, variables: variables as Record<string, unknown> },
        {
          next: (result) => {
            if (result.errors) return reject(new Error(result.errors[0]!.message))
            events.push(Object.values(result.data!)[0])
            if (enough(events)) {
              // More results may arrive until the subscription has stopped.
              resolve([...events])
              stop()
            }
          },
          error: (error) => reject(error instanceof Error ? error : new Error(JSON.stringify(error))),
          complete: () => resolve(events),
        },
      )
    })
  return {
    app,
    url: app.url,
    gql,
    client,
    collect,
    async mutate(name, input, fields, key) {
      const type = `${name[0]!.toUpperCase()}${name.slice(1)}`
      const query = `mutation($input: ${type}Input!) { ${name}(input: $input) { __typename
        ... on ${payloadOf(name)} { ${fields} } ... on Error { message code } ... on ValidationError { issues { path message } } } }`
      const result = await gql(query, { input }, key)
      if (result.errors) throw new Error(`${name}: ${JSON.stringify(result.errors)}`)
      return result.data[name]
    },
    async until(generationId, states, fields = '') {
      const read = async () => {
        const result = await gql(
          `query($id: ID!) { generation(id: $id) { id status stopReason truncated error { code message }
          output { text object } requiredAction { toolCalls { id name arguments } } stepCount ${fields} } }`,
          { id: generationId },
        )
        return result.data['generation']
      }
      const query = `subscription($id: ID!) { generationEvents(generationId: $id) { type cursor } }`
      const first = await read()
      if (states.includes(first.status)) return first
      let found: Record<string, any> | null = null
      let timer: NodeJS.Timeout | undefined
      const done = new Promise<void>((resolve, reject) => {
        let checking = Promise.resolve()
        const look = () =>
          (checking = checking.then(async () => {
            if (found) return
            const now = await read()
            if (!states.includes(now.status)) return
            found = now
            stop()
            resolve()
          }, reject))
        // A row that is parked after its last event emits no event.
        timer = setInterval(() => void look(), 200)
        const stop = client().subscribe(
          { query, variables: { id: generationId } },
          {
            // Events may be ahead of or behind what a poll reads, so each of them triggers another poll.
            next: look,
            error: (error) => reject(error instanceof Error ? error : new Error(JSON.stringify(error))),
            complete: () => void checking.then(() => resolve()),
          },
        )
      })
      await done.finally(() => clearInterval(timer))
      return found ?? read()
    },
    async stop() {
      await Promise.all(clients.map((one) => one.dispose()))
      await app.stop(3000)
    },
  }
}
