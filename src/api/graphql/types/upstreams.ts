/** Upstreams in GraphQL: the status and catalog of the server behind an mcp tool, and the mutations that connect it. */
import {
  connectUpstream,
  disconnectUpstream,
  refreshUpstreamNow,
  tryUpstream,
  upstreamStatuses,
  type Catalog,
  type Trial,
  type UpstreamState,
  type UpstreamTool,
} from '../../../domain/upstream/index.ts'
import { described } from '../builder/described.ts'
import { addMutation } from '../builder/mutation.ts'
import type { Refs } from '../builder/refs.ts'
import type { addUpstreamAuth } from './upstream-auth.ts'

type Upstream = UpstreamState & { catalog: Catalog }

/** Adds the types and mutations of upstreams. `Auth` is the input type of the OAuth settings. */
export function addUpstreams(refs: Refs, Auth: UpstreamAuthInput): void {
  const shared = addShared(refs)
  addUpstreamType(refs, shared)
  addOperations(refs)
  addTrial(refs, shared, Auth)
}

type UpstreamAuthInput = ReturnType<typeof addUpstreamAuth>['Input']

type Shared = ReturnType<typeof addShared>

function addShared({ builder }: Refs) {
  return {
    Status: builder.enumType('UpstreamStatus', {
      description: 'The connection status of an upstream MCP server.',
      values: described(upstreamStatuses, {
        PENDING: 'The server has not been discovered yet.',
        CONNECTED: 'The server responded at the last discovery.',
        DEGRADED: 'The server does not respond; its list of tools is from an earlier discovery.',
        UNREACHABLE: 'The server does not respond and has never returned a list of tools.',
        AUTHORIZATION_REQUIRED: 'The server requires authorization: see the error, or connectUpstream.',
      }),
    }),
    Fault: builder.objectRef<{ code: string; message: string }>('UpstreamFault').implement({
      description: 'The failure of a request to an upstream MCP server.',
      fields: (t) => ({
        code: t.exposeString('code', {
          description: 'The stable code of the failure for programs, such as `timeout` or `unreachable`.',
        }),
        message: t.exposeString('message', { description: 'An explanation of the failure for people.' }),
      }),
    }),
    Era: builder.enumType('UpstreamEra', {
      description: 'The family of MCP revisions that an upstream server speaks.',
      values: {
        MODERN: { value: 'modern', description: 'MCP 2026-07-28 and later: requests without sessions.' },
        LEGACY: {
          value: 'legacy',
          description: 'MCP 2024-11-05 to 2025-11-25: sessions that begin with initialize.',
        },
      } as const,
    }),
    Transport: builder.enumType('UpstreamTransport', {
      description: 'The MCP transport to an upstream server.',
      values: {
        STREAMABLE_HTTP: { value: 'streamable-http', description: 'The Streamable HTTP transport.' },
        SSE: { value: 'sse', description: 'The older HTTP with SSE transport.' },
      } as const,
    }),
  }
}

function addUpstreamType(refs: Refs, { Status, Fault, Era, Transport }: Shared): void {
  const { builder } = refs
  const UpstreamTool = builder.objectRef<UpstreamTool>('UpstreamTool').implement({
    description: 'A tool as its upstream server describes it, without invisible characters.',
    fields: (t) => ({
      name: t.exposeString('name', { description: 'The name of the tool at the server.' }),
      title: t.exposeString('title', {
        nullable: true,
        description: 'The display name of the tool; null when the server gives none.',
      }),
      description: t.exposeString('description', { description: 'The description that the server gives.' }),
      hash: t.exposeString('hash', {
        description: 'A hash of name, description, schemas and annotations; a new hash means a changed tool.',
      }),
    }),
  })
  const moment = { type: 'DateTime', nullable: true } as const
  const Upstream = builder.objectRef<Upstream>('Upstream').implement({
    description:
      'The server behind an mcp tool as of the last discovery. Reading it sends no request to the server.',
    fields: (t) => ({
      status: t.expose('status', { type: Status, description: 'The connection status of the server.' }),
      lastSeenAt: t.expose('lastSeenAt', {
        ...moment,
        description: 'When the server last responded; null when it never did.',
      }),
      refreshedAt: t.expose('refreshedAt', {
        ...moment,
        description: 'When the lists of the server were last read; null when they never were.',
      }),
      nextTryAt: t.expose('nextTryAt', {
        ...moment,
        description:
          'When the lists of the server are read again by themselves; null when that is not planned.',
      }),
      connectedBy: t.id({
        nullable: true,
        description:
          'The id of the API key or person whose login the server accepted; null without a login of a person.',
        resolve: async ({ id }, _args, { loaders }) => (await loaders.connections.load(id))?.by ?? null,
      }),
      connectedAt: t.field({
        ...moment,
        description: 'When that login was completed; null without a login of a person.',
        resolve: async ({ id }, _args, { loaders }) => (await loaders.connections.load(id))?.at ?? null,
      }),
      tokenExpiresAt: t.field({
        ...moment,
        description:
          'When the access token for the server expires, which is renewed before when possible; null without a token or ' +
          'a stated end.',
        resolve: async ({ id }, _args, { loaders }) =>
          (await loaders.connections.load(id))?.expiresAt ?? null,
      }),
      error: t.expose('error', {
        type: Fault,
        nullable: true,
        description: 'The failure of the last discovery; null when it succeeded.',
      }),
      era: t.expose('era', {
        type: Era,
        nullable: true,
        description: 'The protocol that the server speaks; null before the first discovery.',
      }),
      transport: t.expose('transport', {
        type: Transport,
        nullable: true,
        description: 'The transport to the server; null before the first discovery.',
      }),
      serverName: t.string({
        nullable: true,
        description: 'The name that the server gives itself; null when it gives none.',
        resolve: ({ catalog }) => catalog.server?.name ?? null,
      }),
      serverVersion: t.string({
        nullable: true,
        description: 'The version that the server gives itself; null when it gives none.',
        resolve: ({ catalog }) => catalog.server?.version ?? null,
      }),
      instructions: t.string({
        nullable: true,
        description: 'The instructions that the server gives to its clients; null when it gives none.',
        resolve: ({ catalog }) => catalog.server?.instructions ?? null,
      }),
      tools: t.field({
        type: [UpstreamTool],
        description:
          'All tools of the server by name, at most 1,000. McpTool.actions has those that are served.',
        resolve: ({ catalog }) => catalog.tools,
      }),
      promptCount: t.int({
        description: 'The number of prompts of the server.',
        resolve: ({ catalog }) => catalog.prompts.length,
      }),
      resourceCount: t.int({
        description: 'The number of resources of the server, without resource templates.',
        resolve: ({ catalog }) => catalog.resources.length,
      }),
      notes: t.stringList({
        description: 'Entries of the lists of the server that were left out, with the reason; at most 50.',
        resolve: ({ catalog }) => catalog.notes,
      }),
    }),
  })
  builder.objectField(refs.McpTool, 'upstream', (t) =>
    t.field({
      type: Upstream,
      nullable: true,
      description: 'The server behind the tool; null when the tool was deleted meanwhile.',
      resolve: (tool, _args, { loaders }) => loaders.upstreams.load(tool.id),
    }),
  )
}

function addOperations(refs: Refs): void {
  const { builder } = refs
  const only = (name: string, description: string) =>
    builder.inputType(name, {
      description,
      fields: (t) => ({
        toolId: t.id({ required: true, description: 'The id of the mcp tool; it begins with tool_.' }),
      }),
    })
  const toolPayload = (name: string) =>
    builder.objectRef<{ toolId: string }>(name).implement({
      description: 'The tool after the mutation, with its upstream.',
      fields: (t) => ({
        tool: t.field({
          type: refs.Tool,
          nullable: true,
          description: 'The mcp tool; null when it is hidden from this API key.',
          resolve: ({ toolId }, _args, { loaders }) => loaders.tools.load(toolId),
        }),
      }),
    })
  addMutation(refs, {
    name: 'refreshUpstream',
    description:
      'Reads the lists of the server behind an mcp tool now; a failure shows in its status. Permission: tools:Connect.',
    input: only('RefreshUpstreamInput', 'The mcp tool whose server is read.'),
    payload: toolPayload('RefreshUpstreamPayload'),
    errors: ['NotFoundError'],
    run: async (ctx, { toolId }) => (await refreshUpstreamNow(ctx, { toolId }), { toolId }),
  })
  addMutation(refs, {
    name: 'connectUpstream',
    description:
      'Starts a login of a person at the authorization server of an upstream. Permission: tools:Connect.',
    input: only('ConnectUpstreamInput', 'The mcp tool to log in for.'),
    payload: builder.objectRef<{ url: string }>('ConnectUpstreamPayload').implement({
      description: 'The URL at which the login begins.',
      fields: (t) => ({
        url: t.exposeString('url', {
          description:
            'The URL to open in a browser within ten minutes; the page asks for confirmation first. The ' +
            'login works once, in that browser only.',
        }),
      }),
    }),
    errors: ['NotFoundError', 'UpstreamError'],
    run: (ctx, { toolId }) => connectUpstream(ctx, { toolId }),
  })
  addMutation(refs, {
    name: 'disconnectUpstream',
    description:
      'Deletes the OAuth tokens, the client registration and the pending logins of an upstream. Permission: ' +
      'tools:Connect.',
    input: only('DisconnectUpstreamInput', 'The mcp tool whose server is disconnected.'),
    payload: toolPayload('DisconnectUpstreamPayload'),
    errors: ['NotFoundError'],
    run: async (ctx, { toolId }) => (await disconnectUpstream(ctx, { toolId }), { toolId }),
  })
}

function addTrial(refs: Refs, { Status, Fault, Era, Transport }: Shared, Auth: UpstreamAuthInput): void {
  const { builder } = refs
  addMutation(refs, {
    name: 'testUpstream',
    description:
      'Connects to an upstream MCP server as an mcp tool would and lists its tools; nothing is stored. ' +
      'Permission: tools:Create.',
    input: builder.inputType('TestUpstreamInput', {
      description: 'The connection to test; the fields are those of McpToolConfigInput.',
      fields: (t) => ({
        projectId: t.id({
          description: 'The id of the project whose secrets are used. Default: the project of the API key.',
        }),
        url: t.string({
          required: true,
          description:
            'The absolute URL of the server, or connector:NAME for one that gatehouse connect offers. {{secret:NAME}} after the host is replaced by the secret.',
        }),
        headers: t.field({
          type: 'JSONObject',
          description: 'Static headers by name. {{secret:NAME}} in a value is replaced by the secret.',
        }),
        auth: t.field({
          type: Auth,
          description: 'How Gatehouse authenticates to the server (OAuth). Default: no authentication.',
        }),
      }),
    }),
    payload: builder.objectRef<Trial>('TestUpstreamPayload').implement({
      description: 'The result of the connection test.',
      fields: (t) => ({
        ok: t.exposeBoolean('ok', { description: 'Whether the server responded as an MCP server.' }),
        status: t.expose('status', {
          type: Status,
          description: 'The status that an mcp tool with this connection would have.',
        }),
        error: t.expose('error', {
          type: Fault,
          nullable: true,
          description: 'The failure; null when the test succeeded.',
        }),
        era: t.expose('era', {
          type: Era,
          nullable: true,
          description: 'The protocol that the server speaks; null when it is unknown.',
        }),
        transport: t.expose('transport', {
          type: Transport,
          nullable: true,
          description: 'The transport to the server; null when it is unknown.',
        }),
        tools: t.exposeStringList('tools', { description: 'The names of the tools of the server.' }),
      }),
    }),
    errors: ['NotFoundError'],
    run: tryUpstream,
  })
}
