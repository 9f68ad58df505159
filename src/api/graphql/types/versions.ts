/** The versions of tools and agents: what changed, by whom and when. */
import type { JsonChange } from '../../../core/json.ts'
import { listAgentVersions } from '../../../domain/agents/index.ts'
import { listToolVersions, type ShownVersion } from '../../../domain/tools/index.ts'
import { connectionOf, listCost, page } from '../builder/connections.ts'
import { optionalPrincipal } from './principals.ts'
import type { Refs } from '../builder/refs.ts'

/** Adds versions to Tool and Agent. */
export function addVersions(refs: Refs): void {
  const { builder } = refs
  const connection = connectionOf(versionType(refs), 'Version')
  builder.interfaceField(refs.Tool, 'versions', (t) =>
    t.field({
      type: connection,
      description:
        'The versions of the tool, newest first; calls and approvals name theirs as toolVersion. Values of presets and ' +
        'headers are masked for an API key without tools:Update.',
      args: t.arg.connectionArgs(),
      complexity: listCost,
      resolve: (tool, args, { ctx }) => page(args, (p) => listToolVersions(ctx, tool, p)),
    }),
  )
  builder.objectField(refs.Agent, 'versions', (t) =>
    t.field({
      type: connection,
      description: 'The versions of the agent, newest first; generations name theirs in GenerationInput.',
      args: t.arg.connectionArgs(),
      complexity: listCost,
      resolve: (agent, args, { ctx }) => page(args, (p) => listAgentVersions(ctx, agent, p)),
    }),
  )
}

function versionType(refs: Refs) {
  const { builder } = refs
  const Change = builder.objectRef<JsonChange>('VersionChange').implement({
    description: 'A place in a definition whose value a version changed.',
    fields: (t) => ({
      path: t.exposeString('path', {
        description: 'The place as a JSON Pointer (RFC 6901), such as /presetParameters/currency.',
      }),
      before: t.field({
        type: 'JSON',
        nullable: true,
        description: 'The value in the version before; null when the place was not there.',
        resolve: ({ before }) => before ?? null,
      }),
      after: t.field({
        type: 'JSON',
        nullable: true,
        description: 'The value in this version; null when the place was removed.',
        resolve: ({ after }) => after ?? null,
      }),
    }),
  })
  return builder.objectRef<ShownVersion>('Version').implement({
    description: 'A version of a tool or an agent. Versions never change.',
    fields: (t) => ({
      version: t.exposeInt('version', { description: 'The number of the version, from 1.' }),
      author: t.field(
        optionalPrincipal(
          refs,
          (row) => row.createdBy,
          'The principal that made the version; null for a version of an older release.',
        ),
      ),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the version was made.' }),
      definition: t.expose('definition', {
        type: 'JSONObject',
        description: 'The definition in this version.',
      }),
      changes: t.expose('changes', {
        type: [Change],
        description:
          'The differences from the version before, in the order of the definition; empty for the first version.',
      }),
    }),
  })
}
