/** The types of documents.ts, written by `npm run schema` from docs/schema.graphql. Do not edit. */

/** The status of an approval. All but PENDING are final. */
export type ApprovalStatus = 'APPROVED' | 'EXPIRED' | 'PENDING' | 'REJECTED' | 'VOIDED'

/** The reason why an approval became void. */
export type ApprovalVoidReason = 'GENERATION_ENDED' | 'TOOL_CHANGED' | 'TOOL_DELETED' | 'WITHDRAWN'

/** What happens when the output of a client tool misses clientTimeoutMs. */
export type ClientTimeoutRule = 'CONTINUE' | 'EXPIRE'

/** A stable code of an error. Clients must expect new codes. */
export type ErrorCode = 'APPROVAL_ALREADY_DECIDED' | 'APPROVAL_EXPIRED' | 'BAD_CURSOR' | 'CONFLICT' | 'CURSOR_EXPIRED' | 'EXPIRED' | 'FORBIDDEN' | 'GENERATION_TERMINAL' | 'IDEMPOTENCY_CONFLICT' | 'INTERNAL' | 'INVALID' | 'LIMITED' | 'NAME_TAKEN' | 'NOT_FOUND' | 'RESPONSE_TOO_LARGE' | 'UNAUTHENTICATED' | 'UNAVAILABLE' | 'UPSTREAM'

/** The type of an event. Clients must expect new types. */
export type EventType = 'AGENT_CREATED' | 'AGENT_DELETED' | 'AGENT_UPDATED' | 'API_KEY_ACCEPTED' | 'API_KEY_CREATED' | 'API_KEY_REVOKED' | 'APPROVAL_CLAIMED' | 'APPROVAL_DECIDED' | 'APPROVAL_ESCALATED' | 'APPROVAL_EXPIRED' | 'APPROVAL_EXTENDED' | 'APPROVAL_RELEASED' | 'APPROVAL_REQUESTED' | 'APPROVAL_VOIDED' | 'APPROVAL_VOTED' | 'CHILD_ENDED' | 'CHILD_STARTED' | 'DATA_REMOVAL_FINISHED' | 'DATA_REMOVAL_REQUESTED' | 'FILE_CREATED' | 'FILE_DELETED' | 'FILE_UPLOADED' | 'GATE_CHANGED' | 'GATE_CHANGE_DECIDED' | 'GATE_CHANGE_PROPOSED' | 'GENERATION_CANCELLED' | 'GENERATION_COMPLETED' | 'GENERATION_EXPIRED' | 'GENERATION_FAILED' | 'GENERATION_QUEUED' | 'GENERATION_RESUMED' | 'GENERATION_STARTED' | 'GRANT_CREATED' | 'GRANT_REVOKED' | 'LEGAL_HOLD_LIFTED' | 'LEGAL_HOLD_PUT' | 'MESSAGE_COMMITTED' | 'PAUSE_ENDED' | 'PAUSE_STARTED' | 'PROJECT_UPDATED' | 'PROVIDER_DELETED' | 'PROVIDER_SET' | 'REQUIRES_ACTION' | 'RETENTION_CHANGED' | 'SECRET_DELETED' | 'SECRET_SET' | 'SLACK_DELETED' | 'SLACK_DISABLED' | 'SLACK_SET' | 'STEP_RESET' | 'STREAM_STARTED' | 'TEXT_DELTA' | 'TOOL_CALL_PROPOSED' | 'TOOL_CALL_SETTLED' | 'TOOL_CALL_STARTED' | 'TOOL_CALL_UNKNOWN' | 'TOOL_CREATED' | 'TOOL_DELETED' | 'TOOL_UPDATED' | 'TRIGGER_CREATED' | 'TRIGGER_DELETED' | 'TRIGGER_SKIPPED' | 'TRIGGER_STARTED' | 'TRIGGER_UPDATED' | 'UNKNOWN_CALL_RESOLVED' | 'UPSTREAM_CHANGED' | 'UPSTREAM_STATUS' | 'WEBHOOK_CREATED' | 'WEBHOOK_CURSOR_EXPIRED' | 'WEBHOOK_DELETED' | 'WEBHOOK_DELIVERY_DEAD' | 'WEBHOOK_DISABLED' | 'WEBHOOK_FAILING' | 'WEBHOOK_RECOVERED' | 'WEBHOOK_UPDATED'

/** Why a generation failed. */
export type GenerationFailureCode = 'CONTEXT_OVERFLOW' | 'INTERNAL' | 'MODEL_AUTH' | 'MODEL_BAD_REQUEST' | 'MODEL_NOT_CONFIGURED' | 'MODEL_RATE_LIMITED' | 'MODEL_UNAVAILABLE' | 'NOT_STORED' | 'OUTPUT_SCHEMA_VIOLATION' | 'TEXT_ENCODED_TOOL_CALL'

/** The status of a generation. COMPLETED, FAILED, CANCELLED and EXPIRED are final. */
export type GenerationStatus = 'AWAITING_APPROVAL' | 'CANCELLED' | 'COMPLETED' | 'EXPIRED' | 'FAILED' | 'QUEUED' | 'REQUIRES_ACTION' | 'RUNNING'

/** Whose calls a grant covers. */
export type GrantHolder = 'AGENT' | 'CALLER' | 'THREAD'

/** Which calls a grant covers. */
export type GrantScope = 'EXACT' | 'SCHEMA' | 'TOOL'

/** The author of a message. */
export type MessageRole = 'ASSISTANT' | 'USER'

/** The outcome of one submitted output. */
export type OutputOutcomeStatus = 'ACCEPTED' | 'REFUSED' | 'UNCHANGED'

/** The kind of a principal. */
export type PrincipalKind = 'API_KEY' | 'PERSON' | 'SYSTEM'

/** Why a completed generation ended. */
export type StopReason = 'BUDGET' | 'CONTENT_FILTER' | 'END_TURN' | 'LENGTH' | 'MAX_STEPS' | 'STOP_CONDITION'

/** The status of a tool call. PROPOSED, AWAITING_APPROVAL, APPROVED, EXECUTING and AWAITING_CLIENT are open, the others final, except that a person may resolve UNKNOWN. */
export type ToolCallStatus = 'APPROVED' | 'AWAITING_APPROVAL' | 'AWAITING_CLIENT' | 'CANCELLED' | 'ERRORED' | 'EXECUTING' | 'EXPIRED' | 'INVALID' | 'PROPOSED' | 'REJECTED' | 'SKIPPED' | 'SUCCEEDED' | 'UNKNOWN'

/** Whether the model may or must call tools in a step. */
export type ToolChoiceMode = 'AUTO' | 'NONE' | 'REQUIRED'

/** Which tools of an agent its model and MCP clients get at once. */
export type ToolLoading = 'ALL' | 'SEARCH'

/** The verdict of a person. */
export type Verdict = 'APPROVE' | 'REJECT'

/** A reference to an uploaded file of the same project. */
export interface AttachmentInput {
  /** The media type for this use. Default: the media type of the file. */
  contentType?: string | null
  /** The id of the file; it begins with file_. */
  fileId: string
  /** The file name for this use. Default: the name of the file. */
  filename?: string | null
}

/** Token limits, counted over input and output together. The generation ends with stopReason BUDGET. */
export interface BudgetInput {
  /** Maximum tokens of all generations of the agent within 24 hours, 1 to 2,147,483,647. Default: no limit; in startGeneration that of the agent. */
  tokensPerDay?: number | null
  /** Maximum tokens of one generation and its child runs, 1 to 1,000,000,000. Default: no limit; in startGeneration that of the agent. */
  tokensPerGeneration?: number | null
}

/** The tool call to make. */
export interface CallToolInput {
  /** The name of the action; required for mcp and platform tools, refused for others. */
  action?: string | null
  /** The arguments of the call; preset parameters in it have no effect. Default: {}. */
  arguments?: Record<string, unknown> | null
  /** Files for the call, at most 20; an http tool receives links to them as the argument attachments. */
  attachments?: readonly (AttachmentInput)[] | null
  /** Where the events of the call are sent. Permission: webhooks:Callback. */
  callback?: CallbackInput | null
  /** A text that makes retries safe: a repeat with the same key returns the first call, until 24 hours after it was settled. */
  idempotencyKey?: string | null
  /** The id of the tool; it begins with tool_. Tools of kind client are refused. */
  toolId: string
}

/** An endpoint that is sent the events of one generation, or of one call outside generations, until the last one. */
export interface CallbackInput {
  /** Whether payloads include the arguments of calls, writeOnly values masked. Default: false. */
  full?: boolean | null
  /** The signing secret: whsec_ and 24 to 64 bytes in padded base64. Default: the one that the payload returns. */
  secret?: string | null
  /** The URL to which events are sent, http or https, at most 2,000 characters. */
  url: string
}

/** The generation to cancel. */
export interface CancelGenerationInput {
  /** The id of the generation; it begins with gen_. */
  generationId: string
  /** The reason for people to read, at most 1,000 characters. */
  reason?: string | null
}

/** A verdict about one approval. */
export interface DecideApprovalInput {
  /** The id of the approval; it begins with apr_. */
  approvalId: string
  /** Edited arguments without presets, for APPROVE only; they are validated, and the model learns which ones changed. Default: the frozen arguments. */
  arguments?: Record<string, unknown> | null
  /** The digest that the verdict is for: with another current digest the mutation returns ConflictError. Default: the digest at the time of the request. */
  expectedDigest?: string | null
  /** A grant that remembers the verdict: with APPROVE it lets later calls pass the gate, with REJECT it refuses them. Default: none. */
  grant?: GrantInput | null
  /** A note for other approvers, which the model never receives; at most 2,000 characters. */
  note?: string | null
  /** The reason, which the model receives with a rejection; at most 2,000 characters. */
  reason?: string | null
  /** A text that becomes the result of the call in place of that of the tool, for REJECT only, where every gate that stops the call allows responses; at most 20,000 characters, and JSON that fits the outputSchema of the tool, if it has one. Not together with reason. Default: the call is rejected. */
  response?: string | null
  /** Whether the rejection also ends the run of the call and every run that waits for it, which needs generations:Cancel, or the session that a program has named in the argument session, whose later calls are refused for a day. For REJECT only, without response and grant. Default: false. */
  stop?: boolean | null
  /** The verdict about the approval. */
  verdict: Verdict
}

/** A grant with which a verdict also answers later calls, limited in time. With APPROVE it lets a number of them pass the gate; with REJECT it refuses them, and no grant lets them pass. */
export interface GrantInput {
  /** The lifetime of the grant in seconds, 1 to 2,592,000 (30 days). */
  expiresInSeconds: number
  /** Whose calls the grant covers. They are always calls of the requester of the decided call. */
  holder: GrantHolder
  /** The maximum number of calls that may pass, 1 to 1,000. Required with APPROVE; not allowed with REJECT. */
  maxUses?: number | null
  /** The JSON Schema of the arguments, presets included, for the scope SCHEMA; the decided call must match it. */
  schema?: Record<string, unknown> | null
  /** Which calls the grant covers. */
  scope: GrantScope
}

/** One message of a conversation. */
export interface MessageInput {
  /** The text of the message. */
  content: string
  /** The author of the message. */
  role: MessageRole
}

/** A run of the same agent, and how much of it is history. */
export interface RetryOfInput {
  /** The id of the generation; it begins with gen_. */
  generationId: string
  /** The last step that is history, from 1, with the input and the steps before it; all their tool calls must have an outcome. 0: only the history before the input of the generation; when there is none, its agent may be another. */
  step: number
}

/** A client tool of one generation. */
export interface RunToolInput {
  /** What the tool does, for the model; at most 10,000 characters. */
  description?: string | null
  /** The schema of the arguments. Default: any object. All schemas of a generation together have at most 128 KiB. */
  inputSchema?: Record<string, unknown> | null
  /** The name that the model sees; no tool of the agent may have it. It begins with a letter or "_" and has at most 64 letters, digits, "_" and "-". */
  name: string
}

/** A new generation. Settings given here apply to this generation only and may narrow those of the agent, never loosen them. */
export interface StartGenerationInput {
  /** The ids of the tools and agents that the model sees, at most 128; [] means none. Default: that of the agent. */
  activeToolIds?: readonly (string)[] | null
  /** The id of the agent; it begins with agt_. */
  agentId: string
  /** Files of the last message, at most 20. The model receives the media types that it supports. */
  attachments?: readonly (AttachmentInput)[] | null
  /** Token limits; reaching one ends the generation with stopReason BUDGET. Default: that of the agent. */
  budget?: BudgetInput | null
  /** Where the events of the generation are sent. Permission: webhooks:Callback. */
  callback?: CallbackInput | null
  /** How long a generation waits for the output of a client tool, in milliseconds: 1,000 to 604,800,000 (7 days). Default: that of the agent. */
  clientTimeoutMs?: number | null
  /** Client tools of this generation only, at most 64: the model can call them in every step, also where activeToolIds are set. Child runs and later generations of the thread do not have them. */
  clientTools?: readonly (RunToolInput)[] | null
  /** An id of your own, 1 to 200 characters, for a thread of the agent: it is continued as with threadId, and created when there is none. Default: none. */
  externalThreadId?: string | null
  /** Whether the model writes one last answer without tools when maxSteps is reached. Default: that of the agent. */
  finalAnswerOnLimit?: boolean | null
  /** A text that makes retries safe: a repeat with the same key returns the first generation, until 24 hours after its end. */
  idempotencyKey?: string | null
  /** The system message, at most 100,000 characters. It is appended to that of the agent. */
  instructions?: string | null
  /** Maximum messages of the history that the model sees, 1 to 10,000, rounded to whole turns. Default: that of the agent. */
  maxContextMessages?: number | null
  /** Maximum output tokens of one model response, 1 to 1,000,000. Default: that of the agent. */
  maxOutputTokens?: number | null
  /** Maximum model steps of a generation over all pauses and restarts, 1 to 100. Default: that of the agent. */
  maxSteps?: number | null
  /** A conversation that ends with a message of the user. Give exactly one of prompt and messages. */
  messages?: readonly (MessageInput)[] | null
  /** The model as provider/model. Default: that of the agent. */
  model?: string | null
  /** What happens when the output of a client tool misses clientTimeoutMs. Default: that of the agent. */
  onClientTimeout?: ClientTimeoutRule | null
  /** The JSON Schema of output.object; a response that does not match is repaired once, then the generation fails. Default: that of the agent. */
  outputSchema?: Record<string, unknown> | null
  /** Whether the tool calls of one step run at the same time; false runs them one by one, in order. Default: that of the agent. */
  parallelToolCalls?: boolean | null
  /** The message of the user. Give exactly one of prompt and messages. */
  prompt?: string | null
  /** The run whose history this one begins with, in a new thread: its tool calls have run and are not run again. With a step that has tool calls, prompt and messages may be left out. Permission: generations:Get on the run. */
  retryOf?: RetryOfInput | null
  /** Tool choice and visible tools by step, at most 50 rules; the first that covers a step applies. Default: that of the agent. */
  stepRules?: readonly (StepRuleInput)[] | null
  /** Conditions that end the loop after a step, at most 50; one that is met is enough. Those of the agent apply too. */
  stopConditions?: readonly (StopConditionInput)[] | null
  /** The sampling temperature, 0 to 2. Default: that of the agent. */
  temperature?: number | null
  /** The id of a thread to continue: its ended generations become the history. Default: a new thread. */
  threadId?: string | null
  /** Maximum time of the whole generation in milliseconds, 1,000 to 2,147,483,647 (24 days); time in which it waits for an approver does not count. Default: that of the agent. */
  timeoutMs?: number | null
  /** Whether the model may or must call tools; a named tool is forced in the first step only. Default: that of the agent. */
  toolChoice?: ToolChoiceInput | null
  /** SEARCH sends search_tools in place of the tools of an agent that has more of them than toolLoadingThreshold: what the model finds or calls is in its next requests. MCP clients get search_tools and call_tool. Default: that of the agent. */
  toolLoading?: ToolLoading | null
  /** The most callable tools of a step, 0 to 1,000, with which all are sent although toolLoading is SEARCH. Each tool of an MCP server counts. Default: that of the agent. */
  toolLoadingThreshold?: number | null
}

/** Settings of one step (step) or of a range of steps (fromStep, toStep). The first rule that covers a step applies. */
export interface StepRuleInput {
  /** The ids of the tools and agents that the model sees in these steps; [] means none. Default: those of the agent. */
  activeToolIds?: readonly (string)[] | null
  /** The first step of the range. Default: 1. */
  fromStep?: number | null
  /** The number of the one step, from 1; not together with fromStep and toStep. */
  step?: number | null
  /** The last step of the range. Default: no end. */
  toStep?: number | null
  /** The tool choice in these steps. Default: that of the agent. */
  toolChoice?: ToolChoiceInput | null
}

/** A condition that ends the loop after a step. */
export interface StopConditionInput {
  /** The runtime name of the tool whose call with valid arguments ends the loop. The arguments for a client tool are the output. */
  hasToolCall: string
}

/** Outputs of client tool calls of a generation and its child runs. */
export interface SubmitToolOutputsInput {
  /** The ids of the tools and agents that the model sees in the next step of this generation only; [] means none. */
  activeToolIds?: readonly (string)[] | null
  /** Whether one refused output refuses all of them. Default: false. */
  atomic?: boolean | null
  /** The id of the generation; it begins with gen_. The root of a chain accepts outputs for all its child runs. */
  generationId: string
  /** The outputs, 1 to 100, each for another tool call. */
  outputs: readonly (ToolOutputInput)[]
  /** The tool choice for the next step of this generation only, not of its child runs. */
  toolChoice?: ToolChoiceInput | null
}

/** Which tools the model may or must call: exactly one of mode and tool. */
export type ToolChoiceInput = { mode: ToolChoiceMode } | { tool: string }

/** The output of one client tool call. */
export interface ToolOutputInput {
  /** Whether the client tool failed; output then says why. Default: false. */
  isError?: boolean | null
  /** The output: a text or any JSON value, at most 1 MiB. */
  output?: unknown | null
  /** The id of the tool call; it begins with call_. */
  toolCallId: string
}

/** A tool call that the gate stopped, with frozen arguments, until approvers decide. */
export interface Approval {
  /** The id of the approval; it begins with apr_. */
  id: string
  /** The status of the approval. */
  status: ApprovalStatus
  /** The runtime name of the tool. */
  toolName: string
  /** The version of the tool that the approval is for. */
  toolVersion: number
  /** The arguments that the call runs with, presets included, writeOnly values masked. */
  arguments: Record<string, unknown>
  /** The places of masked values in arguments, as JSON Pointers (RFC 6901) such as /card/pin. Returned unchanged in decideApproval, a mask means the value that it hides. At most 200 entries. */
  maskedPaths: (string)[]
  /** A hash over the tool, the arguments and the gate; pass it as expectedDigest to decide about exactly these. */
  digest: string
  /** When the approval was requested. */
  createdAt: string
  /** When the approval expires without a verdict, which rejects the call. */
  expiresAt: string
  /** When the approval was decided, expired or became void; null while it is pending. */
  settledAt: string | null
  /** Why the approval became void; null unless the status is VOIDED. */
  voidReason: ApprovalVoidReason | null
  /** The tool as it was when the approval was requested, which the approver decides about; null for an approval of an earlier release. */
  question: {
  /** The display name of the tool; null when it had none. */
  title: string | null
  /** The description that the model read; null when the tool had none. */
  description: string | null
} | null
  /** The tool as it is now; null when it was deleted or is hidden from this API key. */
  tool: {
  /** Hints about the behaviour of the tool, as in MCP. */
  annotations: {
  /** Whether the tool may perform destructive updates. */
  destructiveHint: boolean | null
  /** Whether the tool only reads and changes nothing. */
  readOnlyHint: boolean | null
}
} | null
  /** The agent whose model requested the call; null for a direct call. */
  agent: {
  /** The id of the agent; it begins with agt_. */
  id: string
  /** The name of the agent, unique in the project. */
  name: string
} | null
  /** The generation that waits; null for a direct call. */
  generation: {
  /** The id of the generation; it begins with gen_. */
  id: string
} | null
  /** The stopped tool call, with its result once it ran; null when it is hidden from this API key. */
  toolCall: {
  /** The id of the tool call; it begins with call_. Tools receive it as Idempotency-Key. */
  id: string
  /** The status of the call. */
  status: ToolCallStatus
} | null
  /** The principal for whom the call is made. */
  requester: {
  /** The id of the principal: key_… of an API key, usr_… of a person, or "system". */
  id: string
  /** The kind of the principal. */
  kind: PrincipalKind
  /** The name of the API key or person as it is now; null for the server, and when the principal was deleted, is of another project or is hidden from the caller, who needs the permission keys:Get. */
  name: string | null
}
  /** The verdict that the gate requires. */
  requirement: {
  /** The number of approvals by different people that a call needs. */
  quorum: number
}
  /** All votes, oldest first. At most 10 entries. */
  votes: ({
  /** The id of the API key or person that voted. */
  by: string
  /** The name of the API key or person at that time. */
  byName: string
  /** The verdict of the vote. */
  verdict: Verdict
  /** The reason of the vote, which the model receives with a rejection; null when none was given. */
  reason: string | null
  /** When the vote was given. */
  at: string
})[]
  /** The vote that settled the approval; null while it is pending, or when it expired or became void. */
  decision: {
  /** The id of the API key or person that voted. */
  by: string
  /** The name of the API key or person at that time. */
  byName: string
  /** The verdict of the vote. */
  verdict: Verdict
  /** The reason of the vote, which the model receives with a rejection; null when none was given. */
  reason: string | null
  /** When the vote was given. */
  at: string
} | null
  /** Whether the caller may decide the approval now, and why not. */
  viewerCanDecide: {
  /** Whether the caller may decide. */
  may: boolean
  /** An explanation for people of why the caller may not decide; null when it may. */
  why: string | null
}
}

/** One run of an agent: a loop of model steps and tool calls. */
export interface Generation {
  /** The id of the generation; it begins with gen_. */
  id: string
  /** The status of the generation. */
  status: GenerationStatus
  /** Why the generation ended; null unless the status is COMPLETED. */
  stopReason: StopReason | null
  /** Whether a limit ended the generation before the model was done. */
  truncated: boolean
  /** The id of the thread; start another generation with it to continue the conversation. */
  threadId: string
  /** The number of model steps committed so far. */
  stepCount: number
  /** When the generation was created. */
  createdAt: string
  /** When the generation ended; null before that. */
  finishedAt: string | null
  /** The output of the generation; null unless the status is COMPLETED. */
  output: {
  /** The final text of the model; null when there is none. */
  text: string | null
  /** The structured output, which matches outputSchema; null without an outputSchema. */
  object: unknown | null
} | null
  /** Why the generation failed; null unless the status is FAILED. */
  error: {
  /** The stable code of the failure, for programs. */
  code: GenerationFailureCode
  /** An explanation of the failure for people. */
  message: string
} | null
  /** The model that was used last; null before the first attempt. */
  model: {
  /** The name of the model as provider/model. */
  name: string
  /** Whether the model is an AI; false for the rehearsal model, which follows rules. */
  isAi: boolean
} | null
}

/** An event of a generation. Clients must ignore event types they do not know. */
export type GenerationEvent =
  | {
  /** The type of the event. */
  type: 'APPROVAL_DECIDED'
  /** The cursor of the event; pass it as after to continue after the event. It is the same in subscriptions and queries. */
  cursor: string
  /** When the event was committed. */
  at: string
  /** The id of the generation; null for an event outside a generation, as of a direct call. */
  generationId: string | null
  /** The id of the child run that the event is about, in the log of a root generation; null when it is about the generation itself. */
  descendantId: string | null
  /** The name of the tool, agent or project at the time of the event. */
  name: string
  /** The verdict: APPROVE or REJECT. */
  verdict: string
  /** The approval as it is now; null when it is hidden from this API key. */
  approval: Approval | null
}
  | {
  /** The type of the event. */
  type: 'APPROVAL_ESCALATED' | 'APPROVAL_EXTENDED' | 'CHILD_ENDED' | 'CHILD_STARTED' | 'GENERATION_CANCELLED' | 'GENERATION_EXPIRED' | 'GENERATION_QUEUED' | 'GENERATION_RESUMED' | 'GENERATION_STARTED'
  /** The cursor of the event; pass it as after to continue after the event. It is the same in subscriptions and queries. */
  cursor: string
  /** When the event was committed. */
  at: string
  /** The id of the generation; null for an event outside a generation, as of a direct call. */
  generationId: string | null
}
  | {
  /** The type of the event. */
  type: 'APPROVAL_EXPIRED' | 'APPROVAL_REQUESTED' | 'APPROVAL_VOIDED' | 'APPROVAL_VOTED'
  /** The cursor of the event; pass it as after to continue after the event. It is the same in subscriptions and queries. */
  cursor: string
  /** When the event was committed. */
  at: string
  /** The id of the generation; null for an event outside a generation, as of a direct call. */
  generationId: string | null
  /** The id of the child run that the event is about, in the log of a root generation; null when it is about the generation itself. */
  descendantId: string | null
  /** The name of the tool, agent or project at the time of the event. */
  name: string
  /** The approval as it is now; null when it is hidden from this API key. */
  approval: Approval | null
}
  | {
  /** The type of the event. */
  type: 'GENERATION_COMPLETED'
  /** The cursor of the event; pass it as after to continue after the event. It is the same in subscriptions and queries. */
  cursor: string
  /** When the event was committed. */
  at: string
  /** The id of the generation; null for an event outside a generation, as of a direct call. */
  generationId: string | null
  /** Why the generation ended, a StopReason. */
  stopReason: string
}
  | {
  /** The type of the event. */
  type: 'GENERATION_FAILED'
  /** The cursor of the event; pass it as after to continue after the event. It is the same in subscriptions and queries. */
  cursor: string
  /** When the event was committed. */
  at: string
  /** The id of the generation; null for an event outside a generation, as of a direct call. */
  generationId: string | null
  /** Why the generation failed, a GenerationFailureCode. */
  code: string
}
  | {
  /** The type of the event. */
  type: 'MESSAGE_COMMITTED'
  /** The cursor of the event; pass it as after to continue after the event. It is the same in subscriptions and queries. */
  cursor: string
  /** When the event was committed. */
  at: string
  /** The id of the generation; null for an event outside a generation, as of a direct call. */
  generationId: string | null
  /** The number of the step in the generation, from 1. */
  stepIndex: number
  /** The committed step with the whole text. */
  step: {
  /** The text of the response. */
  text: string
} | null
}
  | {
  /** The type of the event. */
  type: 'REQUIRES_ACTION'
  /** The cursor of the event; pass it as after to continue after the event. It is the same in subscriptions and queries. */
  cursor: string
  /** When the event was committed. */
  at: string
  /** The id of the generation; null for an event outside a generation, as of a direct call. */
  generationId: string | null
  /** The id of the child run that the event is about, in the log of a root generation; null when it is about the generation itself. */
  descendantId: string | null
  /** The open client tool calls that the generation waits for. At most 200 entries. */
  toolCalls: (ToolCall)[]
}
  | {
  /** The type of the event. */
  type: 'STEP_RESET'
  /** The cursor of the event; pass it as after to continue after the event. It is the same in subscriptions and queries. */
  cursor: string
  /** When the event was committed. */
  at: string
  /** The id of the generation; null for an event outside a generation, as of a direct call. */
  generationId: string | null
  /** The number of the step in the generation, from 1. */
  stepIndex: number
  /** The number of the attempt that begins, from 1. */
  attempt: number
  /** The stable code of the reason, for programs. */
  reason: string
}
  | {
  /** The type of the event. */
  type: 'TEXT_DELTA'
  /** The cursor of the event; pass it as after to continue after the event. It is the same in subscriptions and queries. */
  cursor: string
  /** When the event was committed. */
  at: string
  /** The id of the generation; null for an event outside a generation, as of a direct call. */
  generationId: string | null
  /** The number of the step in the generation, from 1. */
  stepIndex: number
  /** The number of the attempt, from 1: discard the text of earlier attempts of the step. */
  attempt: number
  /** The offset of the piece in the text of the attempt, in UTF-16 code units. */
  offset: number
  /** The piece of text. */
  text: string
}
  | {
  /** The type of the event. */
  type: 'TOOL_CALL_PROPOSED'
  /** The cursor of the event; pass it as after to continue after the event. It is the same in subscriptions and queries. */
  cursor: string
  /** When the event was committed. */
  at: string
  /** The id of the generation; null for an event outside a generation, as of a direct call. */
  generationId: string | null
  /** The number of the step in the generation, from 1. */
  stepIndex: number
  /** The name of the tool, agent or project at the time of the event. */
  name: string
  /** The tool call as it is now; null when it is hidden from this API key. */
  toolCall: ToolCall | null
}
  | {
  /** The type of the event. */
  type: 'TOOL_CALL_SETTLED'
  /** The cursor of the event; pass it as after to continue after the event. It is the same in subscriptions and queries. */
  cursor: string
  /** When the event was committed. */
  at: string
  /** The id of the generation; null for an event outside a generation, as of a direct call. */
  generationId: string | null
  /** The name of the tool, agent or project at the time of the event. */
  name: string
  /** The outcome of the call, a ToolCallStatus. */
  status: string
  /** The tool call as it is now; null when it is hidden from this API key. */
  toolCall: ToolCall | null
}
  | {
  /** The type of the event. */
  type: 'TOOL_CALL_STARTED'
  /** The cursor of the event; pass it as after to continue after the event. It is the same in subscriptions and queries. */
  cursor: string
  /** When the event was committed. */
  at: string
  /** The id of the generation; null for an event outside a generation, as of a direct call. */
  generationId: string | null
  /** The name of the tool, agent or project at the time of the event. */
  name: string
  /** The number of the attempt that begins, from 1. */
  attempt: number
  /** The tool call as it is now; null when it is hidden from this API key. */
  toolCall: ToolCall | null
}
  | {
  /** The type of the event. */
  type: 'TOOL_CALL_UNKNOWN'
  /** The cursor of the event; pass it as after to continue after the event. It is the same in subscriptions and queries. */
  cursor: string
  /** When the event was committed. */
  at: string
  /** The id of the generation; null for an event outside a generation, as of a direct call. */
  generationId: string | null
  /** The name of the tool, agent or project at the time of the event. */
  name: string
  /** Why the outcome is unknown: NO_RESPONSE (the tool gave no final response), NOT_STORED (the database refused to store the response), WORKER_LOST (the process that sent the call was lost) or GENERATION_ENDED (the generation ended while the call ran). */
  reason: string
  /** The tool call as it is now; null when it is hidden from this API key. */
  toolCall: ToolCall | null
}

/** An event of a project. Clients must ignore event types they do not know. */
export type ProjectEvent =
  | {
  /** The type of the event. */
  type: 'AGENT_CREATED' | 'AGENT_DELETED' | 'AGENT_UPDATED' | 'API_KEY_ACCEPTED' | 'API_KEY_CREATED' | 'API_KEY_REVOKED' | 'APPROVAL_CLAIMED' | 'APPROVAL_RELEASED' | 'DATA_REMOVAL_FINISHED' | 'DATA_REMOVAL_REQUESTED' | 'FILE_CREATED' | 'FILE_DELETED' | 'FILE_UPLOADED' | 'GATE_CHANGE_DECIDED' | 'GATE_CHANGE_PROPOSED' | 'GATE_CHANGED' | 'GRANT_CREATED' | 'GRANT_REVOKED' | 'LEGAL_HOLD_LIFTED' | 'LEGAL_HOLD_PUT' | 'PAUSE_ENDED' | 'PAUSE_STARTED' | 'PROJECT_UPDATED' | 'PROVIDER_DELETED' | 'PROVIDER_SET' | 'RETENTION_CHANGED' | 'SECRET_DELETED' | 'SECRET_SET' | 'SLACK_DISABLED' | 'SLACK_DELETED' | 'SLACK_SET' | 'STREAM_STARTED' | 'TOOL_CREATED' | 'TOOL_DELETED' | 'TOOL_UPDATED' | 'TRIGGER_CREATED' | 'TRIGGER_DELETED' | 'TRIGGER_UPDATED' | 'TRIGGER_SKIPPED' | 'TRIGGER_STARTED' | 'UNKNOWN_CALL_RESOLVED' | 'UPSTREAM_CHANGED' | 'UPSTREAM_STATUS' | 'WEBHOOK_DISABLED' | 'WEBHOOK_CREATED' | 'WEBHOOK_CURSOR_EXPIRED' | 'WEBHOOK_DELETED' | 'WEBHOOK_DELIVERY_DEAD' | 'WEBHOOK_FAILING' | 'WEBHOOK_RECOVERED' | 'WEBHOOK_UPDATED'
  /** The cursor of the event; pass it as after to continue after the event. It is the same in subscriptions and queries. */
  cursor: string
  /** When the event was committed. */
  at: string
  /** The id of the project of the event. */
  projectId: string
}
  | {
  /** The type of the event. */
  type: 'APPROVAL_DECIDED'
  /** The cursor of the event; pass it as after to continue after the event. It is the same in subscriptions and queries. */
  cursor: string
  /** When the event was committed. */
  at: string
  /** The id of the project of the event. */
  projectId: string
  /** The id of the generation; null for an event outside a generation, as of a direct call. */
  generationId: string | null
  /** The name of the tool, agent or project at the time of the event. */
  name: string
  /** The verdict: APPROVE or REJECT. */
  verdict: string
  /** The approval as it is now; null when it is hidden from this API key. */
  approval: Approval | null
}
  | {
  /** The type of the event. */
  type: 'APPROVAL_ESCALATED' | 'APPROVAL_EXPIRED' | 'APPROVAL_EXTENDED' | 'APPROVAL_REQUESTED' | 'APPROVAL_VOIDED' | 'APPROVAL_VOTED'
  /** The cursor of the event; pass it as after to continue after the event. It is the same in subscriptions and queries. */
  cursor: string
  /** When the event was committed. */
  at: string
  /** The id of the project of the event. */
  projectId: string
  /** The id of the generation; null for an event outside a generation, as of a direct call. */
  generationId: string | null
  /** The name of the tool, agent or project at the time of the event. */
  name: string
  /** The approval as it is now; null when it is hidden from this API key. */
  approval: Approval | null
}
  | {
  /** The type of the event. */
  type: 'CHILD_ENDED' | 'CHILD_STARTED' | 'GENERATION_COMPLETED' | 'GENERATION_FAILED' | 'GENERATION_CANCELLED' | 'GENERATION_EXPIRED' | 'GENERATION_QUEUED' | 'GENERATION_RESUMED' | 'GENERATION_STARTED' | 'MESSAGE_COMMITTED' | 'REQUIRES_ACTION' | 'STEP_RESET' | 'TOOL_CALL_PROPOSED' | 'TOOL_CALL_STARTED'
  /** The cursor of the event; pass it as after to continue after the event. It is the same in subscriptions and queries. */
  cursor: string
  /** When the event was committed. */
  at: string
  /** The id of the project of the event. */
  projectId: string
  /** The id of the generation; null for an event outside a generation, as of a direct call. */
  generationId: string | null
}
  | {
  /** The type of the event. */
  type: 'TOOL_CALL_SETTLED' | 'TOOL_CALL_UNKNOWN'
  /** The cursor of the event; pass it as after to continue after the event. It is the same in subscriptions and queries. */
  cursor: string
  /** When the event was committed. */
  at: string
  /** The id of the project of the event. */
  projectId: string
  /** The id of the generation; null for an event outside a generation, as of a direct call. */
  generationId: string | null
  /** The name of the tool, agent or project at the time of the event. */
  name: string
  /** The tool call as it is now; null when it is hidden from this API key. */
  toolCall: ToolCall | null
}

/** One request to run a tool, with its result. */
export interface ToolCall {
  /** The id of the tool call; it begins with call_. Tools receive it as Idempotency-Key. */
  id: string
  /** The runtime name of the called tool or agent. */
  name: string
  /** The status of the call. */
  status: ToolCallStatus
  /** The arguments without presets, as requested or as an approver edited them; null when the model wrote invalid ones. writeOnly values are masked, except while the call waits for a client. */
  arguments: Record<string, unknown> | null
  /** The result as a list of MCP content blocks; null while the call is open. */
  content: unknown | null
  /** The structured result as JSON; null when the tool returned none. */
  structuredContent: unknown | null
  /** Whether the call failed; null while it is open. */
  isError: boolean | null
  /** The stable code of the failure for programs; null when the call did not fail. */
  errorCode: string | null
  /** When the call was requested. */
  createdAt: string
  /** When the call was settled; null while it is open. */
  settledAt: string | null
  /** When the call of a client tool times out; null for a call of another tool. */
  deadlineAt: string | null
  /** The newest approval of the call; null when the gate let it pass. */
  approval: {
  /** The id of the approval; it begins with apr_. */
  id: string
  /** The status of the approval. */
  status: ApprovalStatus
  /** When the approval expires without a verdict, which rejects the call. */
  expiresAt: string
} | null
}

export interface ApprovalAndViewerData {
  /** An approval by id; null when it does not exist for this API key. Permission: approvals:Get. */
  approval: Approval | null
  /** The caller of this operation. */
  viewer: {
  /** The id of the API key or person that calls. */
  id: string
}
}

export interface ApprovalAndViewerVariables {
  id: string
}

export interface ApprovalByIdData {
  /** An approval by id; null when it does not exist for this API key. Permission: approvals:Get. */
  approval: Approval | null
}

export interface ApprovalByIdVariables {
  id: string
}

export interface CallToolData {
  /** Calls a tool outside a generation and waits for the result; a tool failure is a result with isError. A gated call returns as AWAITING_APPROVAL and runs once approved. Permission: tools:Call; errors: IdempotencyConflictError, LimitReachedError, NotFoundError. */
  callTool: {
  /** The tool call after the mutation, with its result if it has one. */
  toolCall: ToolCall
  /** The signing secret of the callback; null without a callback, and when the request gave a secret of its own. */
  callbackSecret: string | null
}
}

export interface CallToolVariables {
  input: CallToolInput
}

export interface CancelGenerationData {
  /** Requests the end of a generation and of all its child runs. Idempotent; a generation that has ended does not change. Permission: generations:Cancel; errors: NotFoundError. */
  cancelGeneration: {
  /** The generation after the mutation. */
  generation: Generation
}
}

export interface CancelGenerationVariables {
  input: CancelGenerationInput
}

export interface DecideApprovalData {
  /** Gives a verdict about an approval. The first deciding verdict wins; later ones return ApprovalAlreadyDecidedError or ApprovalExpiredError. Permission: approvals:Decide; errors: ApprovalAlreadyDecidedError, ApprovalExpiredError, ConflictError, LimitReachedError, NotFoundError. */
  decideApproval: {
  /** The approval after the mutation, never null here. */
  approval: Approval | null
}
}

export interface DecideApprovalVariables {
  input: DecideApprovalInput
}

export interface FeedCursorOfData {
  /** A project by id; null when it does not exist for this API key. Permission: projects:Get. */
  project: {
  /** The id of the project; it begins with proj_. */
  id: string
  /** The position of the event feed before this operation read anything: projectEvents with it as after joins this response without a gap. Permission: events:Subscribe. */
  feedCursor: string | null
} | null
}

export interface FeedCursorOfVariables {
  projectId: string
}

export interface GenerationByIdData {
  /** A generation by id; null when it does not exist for this API key. Permission: generations:Get. */
  generation: Generation | null
}

export interface GenerationByIdVariables {
  id: string
}

export interface GenerationEventsData {
  /** All events of a generation after the cursor, then new ones live with TEXT_DELTA, until the last event. Fails with CURSOR_EXPIRED when the event of the cursor is no longer in the log. Permission: events:Subscribe. */
  generationEvents: GenerationEvent
}

export interface GenerationEventsVariables {
  generationId: string
  after?: string | null
}

export interface PendingApprovalsData {
  /** The approvals of a project, newest first unless orderBy says otherwise. Permission: approvals:List. */
  approvals: {
  /** The entries of the page, without cursors. */
  nodes: (Approval)[]
  /** The cursors of the page, and whether the list goes on. */
  pageInfo: {
  /** Whether the list has entries after this page. */
  hasNextPage: boolean
  /** The cursor of the last entry; null when the page is empty. */
  endCursor: string | null
}
}
}

export interface PendingApprovalsVariables {
  projectId?: string | null
  after?: string | null
}

export interface ProjectEventsData {
  /** All events of a project after the cursor, then new ones live, without end. Fails with CURSOR_EXPIRED when the event of the cursor is no longer in the log. Permission: events:Subscribe. */
  projectEvents: ProjectEvent
}

export interface ProjectEventsVariables {
  projectId?: string | null
  after?: string | null
  types?: readonly (EventType)[] | null
}

export interface StartGenerationData {
  /** Starts a generation of an agent and returns at once; follow it with the subscription generationEvents. Permission: generations:Start; errors: IdempotencyConflictError, LimitReachedError, NotFoundError. */
  startGeneration: {
  /** The generation after the mutation. */
  generation: Generation
  /** The signing secret of the callback; null without a callback, and when the request gave a secret of its own. */
  callbackSecret: string | null
}
}

export interface StartGenerationVariables {
  input: StartGenerationInput
}

export interface SubmitToolOutputsData {
  /** Submits outputs of open client tool calls, all or some of them; an identical repeat changes nothing, and the last one resumes the generation. Permission: generations:SubmitToolOutputs; errors: GenerationTerminalError, NotFoundError. */
  submitToolOutputs: {
  /** The outcome of each output, in the order of the input. At most 100 entries. */
  outcomes: ({
  /** The id of the tool call. */
  toolCallId: string
  /** Whether the output was accepted, unchanged or refused. */
  status: OutputOutcomeStatus
  /** The reason for the refusal; null when the output was not refused. */
  error: {
  /** The stable code of the error, for programs. */
  code: ErrorCode
  /** An explanation for people that names the path and the fix. */
  message: string
} | null
})[]
}
}

export interface SubmitToolOutputsVariables {
  input: SubmitToolOutputsInput
}

export interface ToolCallByIdData {
  /** A tool call by id; null when it does not exist for this API key. Permission: toolCalls:Get. */
  toolCall: ToolCall | null
}

export interface ToolCallByIdVariables {
  id: string
}

export interface ViewerCursorData {
  /** The caller of this operation. */
  viewer: {
  /** The default project of operations without projectId; null when it is hidden from this API key. */
  project: {
  /** The id of the project; it begins with proj_. */
  id: string
  /** The position of the event feed before this operation read anything: projectEvents with it as after joins this response without a gap. Permission: events:Subscribe. */
  feedCursor: string | null
} | null
}
}

export interface ViewerCursorVariables {}

