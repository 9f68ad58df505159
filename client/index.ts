/** gatehouse-server/client: what a front end or worker needs to use a Gatehouse server. */
export { createClient, type Client, type MutateOptions } from './client.ts'
export type { Approvals, VerdictInput } from './approvals.ts'
export type { CallToolOptions } from './calls.ts'
export type { RunClientToolsOptions, SubmissionStatus } from './client-tools.ts'
export type { ProjectEventsOptions } from './core.ts'
export type { TypedDocument } from './document.ts'
export {
  ConflictError,
  CursorExpiredError,
  ForbiddenError,
  GatehouseError,
  LimitedError,
  NotFoundError,
  UnauthenticatedError,
  UnreachableError,
  ValidationError,
  type Issue,
} from './errors.ts'
export type { FollowOptions, Placed } from './follow.ts'
export type {
  Approval,
  ApprovalStatus,
  CallToolInput,
  ErrorCode,
  EventType,
  Generation,
  GenerationEvent,
  GenerationStatus,
  ProjectEvent,
  StartGenerationInput,
  ToolCall,
  ToolCallStatus,
  Verdict,
} from './operation-types.ts'
export { ExactNumber, readForeignJson as readJson, writeJson } from '../src/core/exact-json.ts'
export type { RequestOptions } from './request.ts'
export type { ClientOptions, WebSocketClass } from './server.ts'
export type { CheckedTool, ClientTool, ToolContext, ToolFunction } from './tool-runs.ts'
