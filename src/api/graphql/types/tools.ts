/** Tools in GraphQL: their kinds and queries. */
import type { Ctx } from '../../../domain/access/index.ts'
import { loadCallables, shownConfigs, toolKinds, type Tool } from '../../../domain/tools/index.ts'
import { hasPrefix, connectionOf, nameDescription } from '../builder/connections.ts'
import type { GateTypes } from './gates.ts'
import { addMcpTool } from './mcp-tools.ts'
import type { Refs } from '../builder/refs.ts'
import { mapValues } from '../builder/shapes.ts'
import { addToolActions } from './tool-actions.ts'
import { addToolTypes } from './tool-objects.ts'
import { z } from 'zod'
import * as tools from '../../../domain/tools/index.ts'
import { shown } from '../builder/action-mark.ts'
import { addById, addList } from '../builder/queries.ts'

type Annotations = ReturnType<typeof addToolTypes>

/** Adds the object type of each kind, with what the kind says that it shows. */
function addToolKinds(refs: Refs, annotations: Annotations, gates: GateTypes): void {
  const { builder, shapes } = refs
  for (const [kind, ref] of Object.entries(refs.toolTypes) as [
    tools.ToolKind,
    typeof refs.toolTypes.http,
  ][]) {
    const { about, fields } = toolKinds[kind].object
    ref.implement({
      description: about,
      interfaces: [builder.nodeInterfaceRef(), refs.Tool],
      isTypeOf: (value) => hasPrefix(value, 'tool_') && (value as Tool).kind === kind,
      fields: (t) =>
        mapValues(fields as Record<string, z.ZodType>, (shape, name) =>
          t.field({
            ...shapes.outputOptions(shape),
            resolve: (tool, _args, { ctx }) => configOf(ctx, tool)[name] as never,
          }),
        ),
    })
  }
  const ToolAction = addToolActions(refs, annotations, gates)
  builder.objectField(refs.toolTypes.platform, 'actions', (t) =>
    t.field({
      type: [ToolAction],
      description: 'The actions that the tool offers, at most 200.',
      resolve: (tool, _args, { ctx }) => loadCallables(ctx, [tool]),
    }),
  )
  addMcpTool(refs, ToolAction, gates)
}

/** What the caller sees of the config of the tool. */
const configOf = (ctx: Ctx, tool: Tool) =>
  ({ ...shownConfigs(ctx, tool) } as Record<string, unknown>)[tool.kind] as Record<string, unknown>

/** Tools in GraphQL. */
export function addTools(refs: Refs, gates: GateTypes): void {
  addToolKinds(refs, addToolTypes(refs, gates), gates)
  addToolQueries(refs)
}

function addToolQueries(refs: Refs): void {
  const connection = connectionOf(refs.Tool, 'Tool')
  addById(refs, {
    name: 'tool',
    type: refs.Tool,
    kind: 'tool',
    words: 'A tool',
    permission: 'tools:Get',
    action: shown.tool,
    load: (loaders, id) => loaders.tools.load(id),
  })
  addList(refs, {
    name: 'tools',
    type: connection,
    description: 'The tools of a project, newest first. Permission: tools:List.',
    args: {
      kind: tools.toolKind.nullish().describe('Only tools of this kind.'),
      name: z.string().nullish().describe(nameDescription('tools')),
    },
    action: shown.tool,
    list: (ctx, { kind = null, ...input }) => tools.listTools(ctx, { ...input, kind }),
  })
}
