/** The entry point of tools. */
export { loadAgentCallables } from './agent-callables.ts'
export { clientDefinition } from './definition.ts'
export { attachmentsName, withAttachments } from './attached.ts'
export { acceptUpstreamChange } from './accept-change.ts'
export { ownGateOf, policiesOf, shownSchema, type Callable } from './callable.ts'
export {
  requireCallable,
  currentCallable,
  findCallable,
  listActions,
  loadCallables,
  loadToolCatalogs,
  proposedCallable,
} from './callables.ts'
export { gateFactsOfAgent, recordGateChanged } from './gate-facts.ts'
export { checkActionTitles, titleFaults, usableTitle } from './gate-titles.ts'
export { agentMessageOf, asksAgent, describedAgent, resourceOf } from './kinds/agent.ts'
export { refusalOf } from './kinds/platform.ts'
export { regateTool, withGate, type ToolGateEdit } from './regate.ts'
export { insertRunTools, loadVersion } from './versions.ts'
export { listToolVersions, mostChanges, type ShownVersion } from './version-list.ts'
export { readTool, recallTool, type RecalledTool } from './recall-tool.ts'
export { loadToolsAt, toolVersionsOf, type ToolVersions } from './known-tools.ts'
export { maskedPaths, maskedText, valuesAt } from './masking.ts'
export { masked } from '../../core/scrub.ts'
export { shownFullSchema, shownValues } from './shown-config.ts'
export { argumentLimits, prepareCall, type Prepared } from './prepare.ts'
export { createTool, deleteTool, findTool, getTools, listTools, loadTools, updateTool } from './registry.ts'
export {
  givenUpResult,
  isGivenUp,
  finished,
  notStored,
  statusOf,
  unknownReasonOf,
  unknownResult,
  unsent,
  type Finished,
} from './outcome.ts'
export {
  resultFault,
  codeOf,
  goneResult,
  WithheldError,
  mayStillRun,
  notValidResult,
  runTool,
  runToolFor,
  timeoutOf,
  type Run,
} from './run.ts'
export type { CallerChannel } from './kinds/mcp.ts'
export {
  isRelayed,
  isTemplateRelayed,
  readActions,
  readCallable,
  type ReadAction,
} from './kinds/mcp-reads.ts'
export { secretsOfDefinition } from './outside.ts'
export { collisions, isToolName, runtimeName } from './names.ts'
export {
  annotations,
  inputPhase,
  taskDefaults,
  taskMode,
  toolFields,
  toolKinds,
  type TaskPolicy,
  type ToolDefinition,
  type ToolKind,
} from './fields.ts'
export { httpMethod } from './kinds/http-template.ts'
export { actionGates, mcpInputOf } from './kinds/mcp-config.ts'
export { isIdempotent, isRunTool, Tool, type CallKind } from './tool.ts'
