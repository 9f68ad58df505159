/** The entry point of tools. */
export {
  loadAgentCallables,
  requireCallable,
  currentCallable,
  findCallable,
  listActions,
  loadCallables,
  loadToolCatalogs,
  proposedCallable,
} from './callables.ts'
export { clientDefinition } from './definition.ts'
export { attachmentsName, withAttachments, argumentLimits, prepareCall, type Preparation } from './prepare.ts'
export { acceptUpstreamChange, regateTool, withGate, type ToolGateEdit } from './agreed-changes.ts'
export {
  heldChange,
  ownGateOf,
  policiesOf,
  shownSchema,
  type Callable,
  isIdempotent,
  isRunTool,
  Tool,
  type CallKind,
} from './callable.ts'
export { gateFactsOfAgent, recordGateChanged, checkActionTitles, titleFaults, usableTitle } from './gates.ts'
export { agentMessageOf, asksAgent, describedAgent, resourceOf } from './kinds/agent.ts'
export { refusalOf } from './kinds/platform.ts'
export {
  insertRunTools,
  loadVersion,
  listToolVersions,
  mostChanges,
  type ShownVersion,
  versionShape,
} from './versions.ts'
export {
  readTool,
  recallTool,
  type RecalledTool,
  loadToolsAt,
  toolVersionsOf,
  type ToolVersions,
} from './known-tools.ts'
export { maskedPaths, maskedText, valuesAt, shownConfigs, shownFullSchema, shownValues } from './masking.ts'
export { maskAt } from '../../core/scrub.ts'
export { importServer } from './import-server.ts'
export { createTool, deleteTool, findTool, getTools, listTools, loadTools, updateTool } from './registry.ts'
export {
  givenUpResult,
  isGivenUp,
  finish,
  notStored,
  statusOf,
  unknownReasonOf,
  unknownResult,
  finishUnsent,
  notValidResult,
  type FinishedCall,
} from './outcome.ts'
export {
  resultFault,
  codeOf,
  goneResult,
  WithheldError,
  mayStillRun,
  runTool,
  runToolFor,
  timeoutOf,
  type Run,
} from './run.ts'
export {
  type CallerChannel,
  isRelayed,
  isTemplateRelayed,
  readActions,
  readCallable,
  type ReadAction,
} from './kinds/mcp.ts'
export { secretsOfDefinition } from './outside.ts'
export {
  collisions,
  isToolName,
  runtimeName,
  annotations,
  registryEntry,
  inputPhase,
  taskDefaults,
  toolFields,
  type TaskPolicy,
  type ToolDefinition,
  taskPolicy,
} from './fields.ts'
export { freeName, isSearchName, namesFound, searchDefinition, searchName, searchResult } from './search.ts'
export { hasActions, toolKind, toolKinds, type ToolKind } from './tool-kinds.ts'
export { httpMethod } from './kinds/http-config.ts'
export { actionGates, mcpInputOf, mcpRelay } from './kinds/mcp-config.ts'
