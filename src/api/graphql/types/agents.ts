/** Agents in GraphQL: the queries, and the mutations that create, change and delete one. */
import { z } from 'zod'
import * as agents from '../../../domain/agents/index.ts'
import { shown } from '../builder/action-mark.ts'
import { addAgentType } from './agent-objects.ts'
import { connectionOf, nameDescription } from '../builder/connections.ts'
import type { GateTypes } from './gates.ts'
import type { Refs } from '../builder/refs.ts'
import { addById, addList } from '../builder/queries.ts'

export function addAgents(refs: Refs, gates: GateTypes): void {
  addAgentType(refs, gates)
  const connection = connectionOf(refs.Agent, 'Agent')
  addById(refs, {
    name: 'agent',
    type: refs.Agent,
    kind: 'agent',
    words: 'An agent',
    permission: 'agents:Get',
    action: shown.agent,
    load: (loaders, id) => loaders.agents.load(id),
  })
  addList(refs, {
    name: 'agents',
    type: connection,
    description: 'The agents of a project, newest first. Permission: agents:List.',
    args: {
      name: z.string().nullish().describe(nameDescription('agents')),
    },
    action: shown.agent,
    list: agents.listAgents,
  })
}
