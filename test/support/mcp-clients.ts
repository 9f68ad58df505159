/** The MCP clients that people use, behind one interface. Each waits for approvals in its own way. */
import { createMCPClient } from '@ai-sdk/mcp'
import {
  Client as ClientV2,
  type ClientOptions,
  StreamableHTTPClientTransport as TransportV2,
  type VersionNegotiationOptions,
} from '@modelcontextprotocol/client'
import { createTaskSessionFromClient } from '@modelcontextprotocol/ext-tasks/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { callRaw, rpc } from './bridge.ts'
import { acceptStream, modernProtocol, tasksCapability } from './mcp-wire.ts'

export interface McpResult {
  content: { type: string; text?: string }[]
  structuredContent?: Record<string, any>
  isError?: boolean
  _meta?: Record<string, any>
}

export interface McpPeer {
  list(): Promise<{ name: string }[]>
  /** Rejects for a JSON-RPC error. */
  call(name: string, args: object): Promise<McpResult>
  close(): Promise<void>
}

/** Opens a client; `seen` is called with the JSON-RPC method of every request that it sends. */
export type OpenPeer = (url: string, key: string, seen?: (method: string) => void) => Promise<McpPeer>

const info = { name: 'gatehouse-test', version: '1' }

function watching(seen: (method: string) => void, opened = () => {}): typeof fetch {
  return async (input, init) => {
    const sent = typeof init?.body === 'string' ? (JSON.parse(init.body) as { method?: string }) : null
    if (sent) seen(String(sent.method))
    const response = await fetch(input, init)
    if (init?.method === 'GET' || sent?.method === 'subscriptions/listen') opened()
    return response
  }
}

const headersOf = (key: string) => ({ authorization: `Bearer ${key}` })

interface V1Options {
  capabilities?: object
  fetch?: typeof fetch
}

/** Connects the official v1 client. `leave` ends its session and closes it. */
export async function connectV1(
  url: string,
  key: string,
  { capabilities = {}, fetch: fetcher = fetch }: V1Options = {},
): Promise<{ client: ClientV1; leave(): Promise<void> }> {
  const client = new ClientV1(info, { capabilities })
  // The types of SDK v1 do not fit exactOptionalPropertyTypes.
  const transport = new TransportV1(new URL(url), {
    requestInit: { headers: headersOf(key) },
    fetch: fetcher as never,
  })
  await client.connect(transport as never)
  return {
    client,
    async leave() {
      await transport.terminateSession()
      await client.close()
    },
  }
}

/** The official v1 client; with `progress` it asks for progress, which extends its timeout. */
function v1(progress: boolean): OpenPeer {
  return async (url, key, seen = () => {}) => {
    const { client, leave } = await connectV1(url, key, { fetch: watching(seen) })
    const options = progress
      ? { onprogress: () => seen('progress'), resetTimeoutOnProgress: true }
      : undefined
    return {
      list: async () => (await client.listTools()).tools,
      call: async (name, args) =>
        (await client.callTool({ name, arguments: args as never }, undefined, options)) as McpResult,
      close: leave,
    }
  }
}

interface V2Options extends ClientOptions {
  /** Which protocol era it negotiates; the modern one without it. */
  mode?: NonNullable<VersionNegotiationOptions['mode']>
  seen?: (method: string) => void
  /** Called when its stream of notifications is open. */
  opened?: () => void
}

/** Connects the official v2 client. */
export async function connectV2(
  url: string,
  key: string,
  { mode = { pin: modernProtocol }, seen = () => {}, opened, ...options }: V2Options = {},
): Promise<ClientV2> {
  const client = new ClientV2(info, { ...options, versionNegotiation: { mode } })
  await client.connect(transportV2(url, key, seen, opened))
  return client
}

function v2(mode: NonNullable<VersionNegotiationOptions['mode']>): OpenPeer {
  return async (url, key, seen = () => {}) => {
    const client = await connectV2(url, key, { mode, seen })
    return {
      list: async () => (await client.listTools()).tools,
      call: async (name, args) => (await client.callTool({ name, arguments: args as never })) as McpResult,
      close: () => client.close(),
    }
  }
}

export function transportV2(
  url: string,
  key: string,
  seen: (method: string) => void,
  opened?: () => void,
): TransportV2 {
  return new TransportV2(new URL(url), {
    requestInit: { headers: headersOf(key) },
    fetch: watching(seen, opened) as never,
  })
}

/** The client of the Tasks extension. It sends its requests by itself, past the official client. */
const tasks: OpenPeer = async (url, key, seen = () => {}) => {
  const client = await connectV2(url, key, { capabilities: tasksCapability, seen })
  let id = 0
  const session = createTaskSessionFromClient(client, {
    endpointId: url,
    v2RequestFraming: {
      protocolVersion: modernProtocol,
      clientInfo: info,
      clientCapabilities: tasksCapability,
    },
    rawDispatch: async (request, options) => {
      const { method, params } = request as { method: string; params: Record<string, any> }
      seen(method)
      // It capitalizes header names: fetch would send two spellings of one name as two values.
      const own = Object.fromEntries(new Headers(options?.context?.headers))
      const headers = {
        ...headersOf(key),
        accept: acceptStream,
        'mcp-protocol-version': modernProtocol,
        'mcp-method': method,
        'mcp-name': String(params['taskId'] ?? params['name'] ?? ''),
        ...own,
      }
      const { body } = await rpc(url, null, { jsonrpc: '2.0', id: ++id, method, params }, headers)
      return body['error']
        ? { kind: 'error', error: body['error'] }
        : { kind: 'result', result: body['result'] }
    },
  })
  return {
    list: async () => (await client.listTools()).tools,
    call: async (name, args) => {
      const execution = await session.callTool(name, args as never)
      const { outcome } = await execution.settle()
      if (!('result' in outcome)) throw new Error(`the task ended as ${JSON.stringify(outcome)}`)
      return outcome.result as unknown as McpResult
    },
    close: async () => {
      await session.close()
      await client.close()
    },
  }
}

const aiSdk: OpenPeer = async (url, key, seen = () => {}) => {
  const client = await createMCPClient({
    transport: { type: 'http', url, headers: headersOf(key), fetch: watching(seen) } as never,
  })
  const definitions = await client.listTools()
  const made = client.toolsFromDefinitions(definitions) as Record<string, any>
  return {
    list: async () => definitions.tools,
    call: async (name, args) => {
      const tool = made[name]
      if (!tool) throw new Error(`there is no tool ${name}`)
      return (await tool.execute(args, { toolCallId: 'one', messages: [] })) as McpResult
    },
    close: () => client.close(),
  }
}

/** No client library: a plain JSON-RPC POST. */
const plain: OpenPeer = async (url, key, seen = () => {}) => ({
  list: async () =>
    (await rpc(url, key, { jsonrpc: '2.0', id: 1, method: 'tools/list' })).body['result'].tools,
  call: async (name, args) => {
    seen('tools/call')
    const { body } = await callRaw(url, key, name, args)
    if (body['error']) throw new Error(body['error'].message)
    return body['result']
  },
  close: async () => {},
})

export const peers: Record<string, OpenPeer> = {
  'SDK v1': v1(false),
  'SDK v1 with progress': v1(true),
  'SDK v2, legacy': v2('legacy'),
  'SDK v2, negotiating': v2('auto'),
  'SDK v2, pinned to the modern protocol': v2({ pin: modernProtocol }),
  'the Tasks client': tasks,
  'the AI SDK': aiSdk,
  'plain fetch': plain,
}

/** Calls a tool; while the result is pending_approval, calls `approval_wait`, as a model would. */
export async function callThrough(peer: McpPeer, name: string, args: object): Promise<McpResult> {
  let result = await peer.call(name, args)
  while (result.structuredContent?.['status'] === 'pending_approval')
    result = await peer.call('approval_wait', { call_id: result.structuredContent['call_id'] })
  return result
}

export function textOf(result: McpResult): string {
  return result.content.map((block) => block.text ?? '').join('')
}
