/** Upstreams on the wire: how the server behind an mcp tool is, what it offers, and how it is connected. */
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
} from '../../domain/upstream/index.ts'
import { described } from './described.ts'
import { addMutation } from './mutation.ts'
import type { Refs } from './refs.ts'
import { authOf, type addUpstreamAuth } from './upstream-auth.ts'

type Upstream = UpstreamState & { catalog: Catalog }

/** Adds everything about upstreams; `Auth` is the input that says how to prove who we are. */
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
      description: 'How a foreign MCP server is.',
      values: described(upstreamStatuses, {
        PENDING: 'It has not been looked at yet.',
        CONNECTED: 'It answered at the last look.',
        DEGRADED: 'It does not answer; the list of its tools is an older one.',
        UNREACHABLE: 'It does not answer, and never gave a list.',
        AUTHORIZATION_REQUIRED: 'It wants to be authorized: see the error, or connectUpstream.',
      }),
    }),
    Fault: builder.objectRef<{ code: string; message: string }>('UpstreamFault').implement({
      description: 'What went wrong with a server.',
      fields: (t) => ({
        code: t.exposeString('code', { description: 'For programs, as `timeout` or `unreachable`.' }),
        message: t.exposeString('message', { description: 'For people.' }),
      }),
    }),
    Era: builder.enumType('UpstreamEra', {
      description: 'Which protocol a server speaks.',
      values: {
        MODERN: { value: 'modern', description: '2026-07-28 and later: without sessions.' },
        LEGACY: { value: 'legacy', description: '2024-11-05 to 2025-11-25: begins with initialize.' },
      } as const,
    }),
    Transport: builder.enumType('UpstreamTransport', {
      description: 'How messages go to a server.',
      values: {
        STREAMABLE_HTTP: { value: 'streamable-http', description: 'Streamable HTTP.' },
        SSE: { value: 'sse', description: 'The older HTTP with SSE.' },
      } as const,
    }),
  }
}

function addUpstreamType(refs: Refs, { Status, Fault, Era, Transport }: Shared): void {
  const { builder } = refs
  const UpstreamTool = builder.objectRef<UpstreamTool>('UpstreamTool').implement({
    description: 'A tool as its server describes it, cleaned of what nobody can see.',
    fields: (t) => ({
      name: t.exposeString('name', { description: 'As the server calls it.' }),
      title: t.exposeString('title', { nullable: true, description: 'A name for people.' }),
      description: t.exposeString('description', { description: 'In the words of the server.' }),
      hash: t.exposeString('hash', {
        description: 'Of name, description, schemas and annotations: another one is another tool.',
      }),
    }),
  })
  const moment = { type: 'DateTime', nullable: true } as const
  const Upstream = builder.objectRef<Upstream>('Upstream').implement({
    description: 'The server behind an mcp tool, as it was seen last. Reading it waits for nobody.',
    fields: (t) => ({
      status: t.expose('status', { type: Status, description: 'How it is.' }),
      lastSeenAt: t.expose('lastSeenAt', { ...moment, description: 'When it answered last.' }),
      refreshedAt: t.expose('refreshedAt', { ...moment, description: 'When its lists were read last.' }),
      error: t.expose('error', {
        type: Fault,
        nullable: true,
        description: 'What went wrong at the last look; null when nothing did.',
      }),
      era: t.expose('era', { type: Era, nullable: true, description: 'Null while nobody has found out.' }),
      transport: t.expose('transport', {
        type: Transport,
        nullable: true,
        description: 'Null while nobody has found out.',
      }),
      serverName: t.string({
        nullable: true,
        description: 'What it calls itself.',
        resolve: ({ catalog }) => catalog.server?.name ?? null,
      }),
      serverVersion: t.string({
        nullable: true,
        description: 'The version that it gives of itself.',
        resolve: ({ catalog }) => catalog.server?.version ?? null,
      }),
      instructions: t.string({
        nullable: true,
        description: 'What it wants its callers to know, in its own words.',
        resolve: ({ catalog }) => catalog.server?.instructions ?? null,
      }),
      tools: t.field({
        type: [UpstreamTool],
        description: 'Everything it offers, by name, at most 1,000; what is served of it are the actions.',
        resolve: ({ catalog }) => catalog.tools,
      }),
      promptCount: t.int({
        description: 'Prompts it offers.',
        resolve: ({ catalog }) => catalog.prompts.length,
      }),
      resourceCount: t.int({
        description: 'Resources it offers, templates not counted.',
        resolve: ({ catalog }) => catalog.resources.length,
      }),
      notes: t.stringList({
        description: 'What was left out of its lists, and why; at most 50.',
        resolve: ({ catalog }) => catalog.notes,
      }),
    }),
  })
  builder.objectField(refs.McpTool, 'upstream', (t) =>
    t.field({
      type: Upstream,
      nullable: true,
      description: 'The server behind it; null when the tool was deleted meanwhile.',
      resolve: (tool, _args, { loaders }) => loaders.upstreams.load(tool.id),
    }),
  )
}

function addOperations(refs: Refs): void {
  const { builder } = refs
  const only = (name: string, description: string) =>
    builder.inputType(name, {
      description,
      fields: (t) => ({ toolId: t.id({ required: true, description: 'The mcp tool.' }) }),
    })
  const toolPayload = (name: string) =>
    builder.objectRef<{ toolId: string }>(name).implement({
      description: 'The tool, with its upstream as it is now.',
      fields: (t) => ({
        tool: t.field({
          type: refs.Tool,
          nullable: true,
          description: 'The tool; null when this key may not see it.',
          resolve: ({ toolId }, _args, { loaders }) => loaders.tools.load(toolId),
        }),
      }),
    })
  addMutation(refs, {
    name: 'refreshUpstream',
    description:
      'Reads the lists of the server behind an mcp tool now. One that does not answer shows in its status.',
    input: only('RefreshUpstreamInput', 'Whose server to look at.'),
    payload: toolPayload('RefreshUpstreamPayload'),
    errors: ['NotFoundError'],
    run: async (ctx, { toolId }) => (await refreshUpstreamNow(ctx, { toolId }), { toolId }),
  })
  addMutation(refs, {
    name: 'connectUpstream',
    description: 'Begins a login at the authorization server of an upstream, for a person with a browser.',
    input: only('ConnectUpstreamInput', 'What to log in for.'),
    payload: builder.objectRef<{ url: string }>('ConnectUpstreamPayload').implement({
      description: 'Where to go.',
      fields: (t) => ({
        url: t.exposeString('url', {
          description:
            'Open it in a browser within ten minutes: it shows what the login is for, and goes on when you confirm it. The login works once, in that browser.',
        }),
      }),
    }),
    errors: ['NotFoundError', 'UpstreamError'],
    run: (ctx, { toolId }) => connectUpstream(ctx, { toolId }),
  })
  addMutation(refs, {
    name: 'disconnectUpstream',
    description: 'Forgets the tokens of an upstream, its registration and its logins.',
    input: only('DisconnectUpstreamInput', 'What to disconnect.'),
    payload: toolPayload('DisconnectUpstreamPayload'),
    errors: ['NotFoundError'],
    run: async (ctx, { toolId }) => (await disconnectUpstream(ctx, { toolId }), { toolId }),
  })
}

function addTrial(refs: Refs, { Status, Fault, Era, Transport }: Shared, Auth: UpstreamAuthInput): void {
  const { builder } = refs
  addMutation(refs, {
    name: 'testUpstream',
    description: 'Connects to a foreign MCP server as an mcp tool would, lists its tools, and keeps nothing.',
    input: builder.inputType('TestUpstreamInput', {
      description: 'How to reach it; as in McpToolConfigInput.',
      fields: (t) => ({
        projectId: t.id({ description: "The project whose secrets are used; the key's own when left out." }),
        url: t.string({
          required: true,
          description: 'Absolute; {{secret:NAME}} behind the host is filled in.',
        }),
        headers: t.field({ type: 'JSONObject', description: 'Static headers by name.' }),
        auth: t.field({ type: Auth, description: 'How to prove who we are.' }),
      }),
    }),
    payload: builder.objectRef<Trial>('TestUpstreamPayload').implement({
      description: 'What the trial found.',
      fields: (t) => ({
        ok: t.exposeBoolean('ok', { description: 'Whether it answered as it should.' }),
        status: t.expose('status', { type: Status, description: 'The status that the tool would have.' }),
        error: t.expose('error', { type: Fault, nullable: true, description: 'What went wrong.' }),
        era: t.expose('era', { type: Era, nullable: true, description: 'The protocol it speaks.' }),
        transport: t.expose('transport', { type: Transport, nullable: true, description: 'How.' }),
        tools: t.exposeStringList('tools', { description: 'Names of its tools.' }),
      }),
    }),
    errors: ['NotFoundError'],
    run: (ctx, { auth, ...input }) => tryUpstream(ctx, { ...input, auth: auth ? authOf(auth) : null }),
  })
}
