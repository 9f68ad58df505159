/** ToolAction, the actions of mcp and platform tools, and PlatformAction, what a platform tool may offer. */
import { type PlatformAction, platformAction } from '../../../domain/access/index.ts'
import {
  heldChange,
  listActions,
  ownGateOf,
  shownSchema,
  type Callable,
} from '../../../domain/tools/index.ts'
import type { GateTypes } from './gates.ts'
import type { Refs } from '../builder/refs.ts'
import type { addToolTypes } from './tool-objects.ts'

type Annotations = ReturnType<typeof addToolTypes>

/** Adds both types and the query platformActions; returns the type of one action of a tool. */
export function addToolActions(refs: Refs, annotations: Annotations, gates: GateTypes) {
  const { builder, shapes } = refs
  addPlatformActions(refs, annotations)
  return builder.objectRef<Callable>('ToolAction').implement({
    description: 'One action of a tool that has several.',
    fields: (t) => ({
      action: t.string({
        description: 'The name of the action, as callTool expects it.',
        resolve: ({ action }) => action!,
      }),
      runtimeName: t.exposeString('runtimeName', {
        description: 'The runtime name, which models and MCP clients see.',
      }),
      title: t.exposeString('title', {
        nullable: true,
        description: 'The display name of the action; null when it has none.',
      }),
      description: t.exposeString('description', {
        nullable: true,
        description: 'The description that the model reads; null when the action has none.',
      }),
      inputSchema: t.field({
        type: 'JSONSchema',
        description:
          'The JSON Schema of the arguments as models and clients see it, without preset parameters.',
        resolve: shownSchema,
      }),
      annotations: t.expose('annotations', {
        type: annotations,
        description: 'Hints about the behaviour of the action, as in MCP.',
      }),
      gate: t.field({
        type: gates.Policy,
        description: 'The policy that stops calls of the action for approval.',
        resolve: ownGateOf,
      }),
      heldChange: t.field({
        type: shapes.object(heldChange),
        nullable: true,
        description:
          'What the upstream says now that does not count until a person accepts it: a hint that it took back, arguments that it changed. Null when everything counts.',
        resolve: (action) => action.heldChange ?? null,
      }),
    }),
  })
}

function addPlatformActions(refs: Refs, annotations: Annotations): void {
  const { builder, shapes } = refs
  const Action = shapes.implement(
    builder.objectRef<PlatformAction>('PlatformAction'),
    platformAction,
    (t) => ({
      annotations: t.expose('annotations', {
        type: annotations,
        description: 'Hints about the behaviour of the action, as in MCP.',
      }),
    }),
  )
  builder.queryField('platformActions', (t) =>
    t.field({
      type: [Action],
      description: 'All operations that a platform tool may offer, in a fixed order. Permission: tools:List.',
      resolve: (_root, _args, { ctx }) => listActions(ctx),
    }),
  )
}
