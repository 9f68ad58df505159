/** The versions of tools and agents: what changed, by whom and when. */
import { listAgentVersions } from '../../../domain/agents/index.ts'
import { listToolVersions, versionShape } from '../../../domain/tools/index.ts'
import { connectionOf, listCost, page } from '../builder/connections.ts'
import type { Refs } from '../builder/refs.ts'

/** Adds versions to Tool and Agent. */
export function addVersions(refs: Refs): void {
  const { builder } = refs
  const connection = connectionOf(refs.shapes.object(versionShape), 'Version')
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
