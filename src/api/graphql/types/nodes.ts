/** The queries node and nodes: the prefix of an id selects the loader. */
import { kindOfId, type IdKind } from '../../../core/ids.ts'
import { invalidAt } from '../../../core/errors.ts'
import { pageSizes } from '../builder/builder.ts'
import type { Loaders } from '../builder/context.ts'
import type { Refs } from '../builder/refs.ts'

const loaderOf: Partial<
  Record<
    IdKind,
    Exclude<
      keyof Loaders,
      | 'asked'
      | 'collidingNames'
      | 'toolSizes'
      | 'whyNotDecide'
      | 'webhookProgress'
      | 'webhookMessages'
      | 'principals'
      | 'secretUses'
    >
  >
> = {
  project: 'projects',
  apiKey: 'apiKeys',
  person: 'persons',
  tool: 'tools',
  agent: 'agents',
  thread: 'threads',
  generation: 'generations',
  step: 'steps',
  toolCall: 'toolCalls',
  approval: 'approvals',
  grant: 'grants',
  gateChange: 'gateChanges',
  pause: 'pauses',
  file: 'files',
  webhook: 'webhooks',
  trigger: 'triggers',
}

async function load(loaders: Loaders, id: string): Promise<unknown> {
  const kind = kindOfId(id)
  const name = kind && loaderOf[kind]
  return name ? loaders[name].load(id) : null
}

export function addNodes({ builder }: Refs): void {
  builder.queryField('node', (t) =>
    t.field({
      type: builder.nodeInterfaceRef(),
      nullable: true,
      description:
        'An object of any type by id; null when it does not exist for this API key. Permission: the Get ' +
        'action of its type.',
      args: {
        id: t.arg.id({ required: true, description: 'The id of an object; its prefix names the type.' }),
      },
      resolve: (_root, { id }, { loaders }) => load(loaders, id),
    }),
  )
  builder.queryField('nodes', (t) =>
    t.field({
      type: [builder.nodeInterfaceRef()],
      nullable: { list: false, items: true },
      description:
        'Objects by id, in the order of the ids; null for each that does not exist for this API key. ' +
        'Permission: the Get action of each type.',
      args: { ids: t.arg.idList({ required: true, description: 'The ids of the objects, at most 100.' }) },
      complexity: (args) => ({ field: 1, multiplier: Math.min(args.ids.length, pageSizes.maximum) }),
      resolve: (_root, { ids }, { loaders }) => {
        if (ids.length > pageSizes.maximum)
          throw invalidAt(['ids'], `must have at most ${pageSizes.maximum} entries`)
        return Promise.all(ids.map((id) => load(loaders, id)))
      },
    }),
  )
}
