/** Events of agents. */
import { kindsOf, projectOnly } from './define.ts'

/** `name` and `version` are those that the change left, or those of the agent that was deleted. */
type AgentFacts = { agentId: string; name: string; version: number }

export interface AgentEvents {
  AGENT_CREATED: AgentFacts
  AGENT_UPDATED: AgentFacts
  AGENT_DELETED: AgentFacts
}

const kind = kindsOf<AgentEvents>()

export const agentCreated = kind('AGENT_CREATED', projectOnly)
export const agentUpdated = kind('AGENT_UPDATED', projectOnly)
export const agentDeleted = kind('AGENT_DELETED', projectOnly)
