/** Agents in GraphQL: the queries, and the mutations that create, change and delete one. */
import * as agents from '../../../domain/agents/index.ts'
import { actionMark, listOf, shown } from '../builder/action-mark.ts'
import { addAgentType } from './agent-objects.ts'
import { connectionOf, listCost, nameDescription, page } from '../builder/connections.ts'
import type { GateTypes } from './gates.ts'
import type { Refs } from '../builder/refs.ts'

export function addAgents(refs: Refs, gates: GateTypes): void {
  const { builder } = refs
  addAgentType(refs, gates)
  const connection = connectionOf(refs.Agent, 'Agent')
  builder.queryField('agent', (t) =>
    t.field({
      ...actionMark(shown.agent),
      type: refs.Agent,
      nullable: true,
      description: 'An agent by id; null when it does not exist for this API key. Permission: agents:Get.',
      args: { id: t.arg.id({ required: true, description: 'The id of the agent; it begins with agt_.' }) },
      resolve: (_root, { id }, { loaders }) => loaders.agents.load(id),
    }),
  )
  builder.queryField('agents', (t) =>
    t.field({
      ...actionMark(listOf(shown.agent)),
      type: connection,
      description: 'The agents of a project, newest first. Permission: agents:List.',
      args: {
        projectId: t.arg.id({ description: 'The id of the project. Default: the project of the API key.' }),
        name: t.arg.string({ description: nameDescription('agents') }),
        ...t.arg.connectionArgs(),
      },
      complexity: listCost,
      resolve: (_root, { projectId, name, ...args }, { ctx }) =>
        page(args, (p) => agents.listAgents(ctx, { projectId, name, page: p })),
    }),
  )
}
