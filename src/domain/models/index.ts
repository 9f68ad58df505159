/** The entry point of models. */
export {
  charactersOf,
  charactersOfTools,
  resultCharacters,
  defaultCharsPerToken,
  zeroUsage,
} from './usage.ts'
export {
  type AssistantPart,
  type FilePart,
  type Message,
  type TextPart,
  type ToolCallPart,
  type ToolResultPart,
  callsOf,
  textOf,
  userMessage,
  readCallInput,
} from './message.ts'
export {
  type FinishReason,
  type ModelAnswer,
  ModelError,
  type ModelErrorCode,
  type ModelEvent,
  type ModelPort,
  type ModelRequest,
  type ModelTool,
  type ProviderKind,
  type ToolChoice,
  type Usage,
  mostToolsOf,
} from './port.ts'
export {
  type EnvironmentProvider,
  type Models,
  type Provider,
  createModels,
  deleteProvider,
  findProvider,
  listProviders,
  providerKind,
  rehearsalModel,
  setProvider,
  providerShape,
} from './providers/provider-records.ts'
export {
  type Costs,
  type TokenCounts,
  addCosts,
  costOf,
  deleteModelPrice,
  modelPrice,
  pricesOf,
  ratesOf,
  setModelPrice,
} from './prices/model-prices.ts'
export { rehearsalModelId } from './providers/rehearsal.ts'
