/** Tools in GraphQL. */
import { z } from 'zod'
import * as tools from '../../../domain/tools/index.ts'
import { shown } from '../builder/action-mark.ts'
import { connectionOf, nameDescription } from '../builder/connections.ts'
import type { GateTypes } from './gates.ts'
import type { Refs } from '../builder/refs.ts'
import { addToolKinds } from './tool-kinds.ts'
import { addToolTypes } from './tool-objects.ts'
import { addById, addList } from '../builder/queries.ts'

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
