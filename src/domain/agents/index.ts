/** The entry point of agents. */
export {
  boundIds,
  errorProfiles,
  gatesOf,
  mcpDefaults,
  type Agent,
  type AgentSettings,
  type McpSettings,
  type RunTool,
  type SettingsOverrides,
  type StepRule,
  type ToolChoiceRule,
} from './agent.ts'
export {
  agentIdsNamed,
  createAgent,
  deleteAgent,
  findAgent,
  findAgentToStart,
  getAgents,
  listAgents,
  loadAgents,
  regateAgent,
  updateAgent,
  withAgentGate,
  type CreateAgentInput,
  type UpdateAgentInput,
} from './agents.ts'
export { readAgent, rememberedAgent } from './known-agents.ts'
export { checkTools, collidingNames } from './names.ts'
export { listAgentVersions } from './version-list.ts'
export { withOverrides } from './overrides.ts'
