/** Upstreams in GraphQL: the status and catalog of the server behind an mcp tool, and the mutations that connect it. */
import { serverFault } from '../../../core/shapes.ts'
import {
  type Catalog,
  type UpstreamState,
  type UpstreamTool,
  eraChoice,
  upstreamStatusChoice,
  upstreamTransportChoice,
} from '../../../domain/upstream/index.ts'
import type { Refs } from '../builder/refs.ts'

type Upstream = UpstreamState & { catalog: Catalog }

/** Adds the type and the mutations of upstreams. */
export function addUpstreams(refs: Refs): void {
  addUpstreamType(refs)
}

function addUpstreamType(refs: Refs): void {
  const { builder, shapes } = refs
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
      status: t.expose('status', {
        type: shapes.choice(upstreamStatusChoice),
        description: 'The connection status of the server.',
      }),
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
        type: shapes.object(serverFault),
        nullable: true,
        description: 'The failure of the last discovery; null when it succeeded.',
      }),
      era: t.expose('era', {
        type: shapes.choice(eraChoice),
        nullable: true,
        description: 'The protocol that the server speaks; null before the first discovery.',
      }),
      transport: t.expose('transport', {
        type: shapes.choice(upstreamTransportChoice),
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
  builder.objectField(refs.toolTypes.mcp, 'upstream', (t) =>
    t.field({
      type: Upstream,
      nullable: true,
      description: 'The server behind the tool; null when the tool was deleted meanwhile.',
      resolve: (tool, _args, { loaders }) => loaders.upstreams.load(tool.id),
    }),
  )
}
