/** The actions of tools that have several, and the list of our own that a platform tool may offer. */
import type { PlatformAction } from '../../domain/access/index.ts'
import { gateOf, listActions, shownSchema, type Callable } from '../../domain/tools/index.ts'
import type { GateTypes } from './gates.ts'
import type { Refs } from './refs.ts'
import type { addToolTypes } from './tool-objects.ts'

type Annotations = ReturnType<typeof addToolTypes>['Annotations']

/** Adds them and answers the type of one action of a tool. */
export function addToolActions(refs: Refs, annotations: Annotations, gates: GateTypes) {
  const { builder } = refs
  addPlatformActions(refs, annotations)
  return builder.objectRef<Callable>('ToolAction').implement({
    description: 'One of the names that a tool with several actions offers.',
    fields: (t) => ({
      action: t.string({
        description: 'Its name in the tool, as callTool takes it.',
        resolve: ({ action }) => action!,
      }),
      runtimeName: t.exposeString('runtimeName', { description: 'The name that models and clients see.' }),
      title: t.exposeString('title', { nullable: true, description: 'A name for people.' }),
      description: t.exposeString('description', { nullable: true, description: 'What the model reads.' }),
      inputSchema: t.field({
        type: 'JSONSchema',
        description: 'What the model or client sees of the arguments: presets are not in it.',
        resolve: shownSchema,
      }),
      annotations: t.expose('annotations', { type: annotations, description: 'Hints for clients.' }),
      gate: t.field({
        type: gates.Policy,
        description: 'When a human must agree to a call.',
        resolve: gateOf,
      }),
    }),
  })
}

function addPlatformActions(refs: Refs, annotations: Annotations): void {
  const { builder } = refs
  const Action = builder.objectRef<PlatformAction>('PlatformAction').implement({
    description: 'One of our own operations that can be offered as a tool.',
    fields: (t) => ({
      name: t.exposeString('name', { description: 'In kebab-case.' }),
      description: t.exposeString('description', { description: 'What it does.' }),
      inputSchema: t.expose('inputSchema', { type: 'JSONSchema', description: 'Its arguments.' }),
      annotations: t.expose('annotations', { type: annotations, description: 'What it does to the world.' }),
    }),
  })
  builder.queryField('platformActions', (t) =>
    t.field({
      type: [Action],
      description: 'Every operation that a platform tool may offer, in a fixed order.',
      resolve: (_root, _args, { ctx }) => listActions(ctx),
    }),
  )
}
