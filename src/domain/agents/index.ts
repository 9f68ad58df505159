/** The front door of agents. */
export {
  withOverrides,
  type Agent,
  type AgentSettings,
  type SettingsOverrides,
  type StepRule,
  type ToolChoiceRule,
} from './agent.ts'
export {
  checkTools,
  createAgent,
  deleteAgent,
  findAgent,
  getAgents,
  listAgents,
  updateAgent,
  type CreateAgentInput,
  type UpdateAgentInput,
} from './agents.ts'
