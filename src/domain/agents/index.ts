/** The front door of agents. */
export {
  errorProfiles,
  mcpDefaults,
  withOverrides,
  type Agent,
  type AgentSettings,
  type McpSettings,
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
  loadAgents,
  updateAgent,
  type CreateAgentInput,
  type UpdateAgentInput,
} from './agents.ts'
