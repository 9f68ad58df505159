/** Agents in GraphQL: their objects and queries. */
import { descriptionOf } from '../../../core/shapes.ts'
import { agentFields, mcpSettings, loopShape, agentShape } from '../../../domain/agents/index.ts'
import { connectionOf, nameDescription } from '../builder/connections.ts'
import type { GateTypes } from './gates.ts'
import type { Refs } from '../builder/refs.ts'
import { z } from 'zod'
import * as agents from '../../../domain/agents/index.ts'
import { shown } from '../builder/action-mark.ts'
import { addById, addList } from '../builder/queries.ts'

/** Implements Agent with the types that only it uses. */
function addAgentType(refs: Refs, gates: GateTypes): void {
  const { shapes } = refs
  refs.AgentSettings.implement({
    description: 'The settings of an agent, or those that a generation was started with.',
    fields: (t) => ({
      ...shapes.storedFields(t, agentFields),
      ...shapes.fields(t, loopShape),
      tools: t.field({
        type: [refs.Tool],
        nullable: { list: false, items: true },
        description: 'The tools of toolIds; null for a tool that was deleted or is hidden from this API key.',
        resolve: (agent, _args, { loaders }) =>
          Promise.all(agent.toolIds.map((id) => loaders.tools.load(id))),
      }),
      agents: t.field({
        type: [refs.Agent],
        nullable: { list: false, items: true },
        description:
          'The agents of agentIds; null for an agent that was deleted or is hidden from this API key.',
        resolve: (agent, _args, { loaders }) =>
          Promise.all(agent.agentIds.map((id) => loaders.agents.load(id))),
      }),
      gate: t.field({
        type: gates.Policy,
        nullable: true,
        description: descriptionOf(agentFields.gate.shape),
        resolve: ({ gate }) => (gate ? { ...gate, source: 'OPERATOR' as const } : null),
      }),
    }),
  })
  shapes.node(
    refs.Agent,
    'agent',
    agentShape,
    (t) => ({
      collidingNames: t.stringList({
        description:
          'Runtime names that several tools of the agent share since an upstream changed; the first of these ' +
          'tools is called.',
        resolve: (agent, _args, { loaders }) => loaders.collidingNames.load(agent),
      }),
      mcp: t.field({
        type: shapes.object(mcpSettings),
        description: descriptionOf(agentFields.mcp.shape),
        resolve: (agent) => agent.mcp,
      }),
    }),
    [refs.AgentSettings],
  )
}

/** Agents in GraphQL: the queries, and the mutations that create, change and delete one. */
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
