/** Upstreams in GraphQL: the status and catalog of the server behind an mcp tool, and the mutations that connect it. */
import {
  type Catalog,
  type UpstreamState,
  upstreamTool,
  upstreamShape,
} from '../../../domain/upstream/index.ts'
import type { Refs } from '../builder/refs.ts'

type Upstream = UpstreamState & { catalog: Catalog }

/** Adds the type. */
export function addUpstreams(refs: Refs): void {
  const { builder, shapes } = refs
  const moment = { type: 'DateTime', nullable: true } as const
  const Upstream = shapes.implement(builder.objectRef<Upstream>('Upstream'), upstreamShape, (t) => ({
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
      resolve: async ({ id }, _args, { loaders }) => (await loaders.connections.load(id))?.expiresAt ?? null,
    }),
    loginCount: t.int({
      description: 'The number of people who are logged in to the server with a login of their own.',
      resolve: async ({ id }, _args, { loaders }) => (await loaders.personLogins.load(id)).count,
    }),
    ownLoginAt: t.field({
      ...moment,
      description:
        'When the person of the caller logged in to the server with a login of their own; null without such a login.',
      resolve: async ({ id }, _args, { loaders }) => (await loaders.personLogins.load(id)).ownAt,
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
      type: [shapes.object(upstreamTool)],
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
  }))
  builder.objectField(refs.toolTypes.mcp, 'upstream', (t) =>
    t.field({
      type: Upstream,
      nullable: true,
      description: 'The server behind the tool; null when the tool was deleted meanwhile.',
      resolve: (tool, _args, { loaders }) => loaders.upstreams.load(tool.id),
    }),
  )
}
