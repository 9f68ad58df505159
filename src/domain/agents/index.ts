/** The entry point of agents. */
export {
  Agent,
  boundIds,
  gatesOf,
  settingsOf,
  type AgentSettings,
  type RunTool,
  type SettingsOverrides,
  agentShape,
  runTool,
} from './agent.ts'
export { agentFields, runFields } from './fields.ts'
export { toolChoice, type StepRule, type ToolChoiceRule, mcpSettings, loopShape } from './setting-shapes.ts'
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
  readAgent,
  rememberedAgent,
} from './agents.ts'
export { callablesOfAgents, checkTools, collidingNames } from './names.ts'
export { listAgentVersions } from './version-list.ts'
export { withOverrides } from './overrides.ts'
