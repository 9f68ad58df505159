/** Real MCP clients behind one small interface. */
import { createMCPClient } from '@ai-sdk/mcp'
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
  type VersionNegotiationOptions,
} from '@modelcontextprotocol/client'
import { createTaskSessionFromClient } from '@modelcontextprotocol/ext-tasks/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { callRaw, rpc } from './bridge.ts'

export interface McpResult {
  content: { type: string; text?: string }[]
  structuredContent?: Record<string, any>
  isError?: boolean
  _meta?: Record<string, any>
}

export interface McpPeer {
  list(): Promise<{ name: string }[]>
  /** Rejects on a protocol error. */
  call(name: string, args: object): Promise<McpResult>
  close(): Promise<void>
}

/** Opens a client; `seen` is called with the JSON-RPC method of every request that it sends. */
export type OpenPeer = (url: string, key: string, seen?: (method: string) => void) => Promise<McpPeer>

const info = { name: 'gatehouse-test', version: '1' }

function watching(seen: (method: string) => void): typeof fetch {
  return (input, init) => {
    if (typeof init?.body === 'string') seen(String((JSON.parse(init.body) as { method?: string }).method))
    return fetch(input, init)
  }
}

const headersOf = (key: string) => ({ authorization: `Bearer ${key}` })

/** The official client, SDK v1; with `progress` it requests progress, and each notification extends its timeout. */
function v1(progress: boolean): OpenPeer {
  return async (url, key, seen = () => {}) => {
    const client = new ClientV1(info)
    const transport = new TransportV1(new URL(url), {
      requestInit: { headers: headersOf(key) },
      fetch: watching(seen) as never,
    })
    await client.connect(transport as never)
    const options = progress
      ? { onprogress: () => seen('progress'), resetTimeoutOnProgress: true }
      : undefined
    return {
      list: async () => (await client.listTools()).tools,
      call: async (name, args) =>
        (await client.callTool({ name, arguments: args as never }, undefined, options)) as McpResult,
      close: async () => {
        await transport.terminateSession()
        await client.close()
      },
    }
  }
}

function v2(mode: VersionNegotiationOptions['mode']): OpenPeer {
  return async (url, key, seen = () => {}) => {
    const client = new ClientV2(info, { versionNegotiation: { mode } })
    await client.connect(transportV2(url, key, seen))
    return {
      list: async () => (await client.listTools()).tools,
      call: async (name, args) => (await client.callTool({ name, arguments: args as never })) as McpResult,
      close: () => client.close(),
    }
  }
}

export function transportV2(url: string, key: string, seen: (method: string) => void): TransportV2 {
  return new TransportV2(new URL(url), {
    requestInit: { headers: headersOf(key) },
    fetch: watching(seen) as never,
  })
}

const protocolVersion = '2026-07-28'
const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } }

/** The client of the Tasks extension over the official one; it sends its requests directly. */
const tasks: OpenPeer = async (url, key, seen = () => {}) => {
  const client = new ClientV2(info, { capabilities, versionNegotiation: { mode: { pin: protocolVersion } } })
  await client.connect(transportV2(url, key, seen))
  let id = 0
  const session = createTaskSessionFromClient(client, {
    endpointId: url,
    v2RequestFraming: { protocolVersion, clientInfo: info, clientCapabilities: capabilities },
    rawDispatch: async (request, options) => {
      const { method, params } = request as { method: string; params: Record<string, any> }
      seen(method)
      // It writes header names in capitals: two spellings of one name would be sent as two values.
      const own = Object.fromEntries(new Headers(options?.context?.headers))
      const headers = {
        ...headersOf(key),
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': protocolVersion,
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

/** No client: a plain POST without MCP headers. */
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
  'SDK v2, old era': v2('legacy'),
  'SDK v2, by itself': v2('auto'),
  'SDK v2, pinned to the new era': v2({ pin: protocolVersion }),
  'the Tasks client': tasks,
  'the AI SDK': aiSdk,
  'plain fetch': plain,
}

/** Calls a tool, and then `approval_wait` as a model does that reads "pending_approval". */
export async function callThrough(peer: McpPeer, name: string, args: object): Promise<McpResult> {
  let result = await peer.call(name, args)
  while (result.structuredContent?.['status'] === 'pending_approval')
    result = await peer.call('approval_wait', { call_id: result.structuredContent['call_id'] })
  return result
}

export function textOf(result: McpResult): string {
  return result.content.map((block) => block.text ?? '').join('')
}
