/** tools/call: finds the tool, starts or resumes the call, and delivers its result. */
import { isJsonObject, type JsonObject, hashJson } from '../../../core/json.ts'
import { invalidAt, AppError } from '../../../core/errors.ts'
import type { AttachmentsInput } from '../../../domain/files/index.ts'
import {
  reservedArguments,
  reservedNames,
  type BridgeEntry,
  answerInputRequests,
  callAgentTool,
  cancelOwnCall,
  readCallHandle,
  searchSurface,
  startAgentRun,
} from '../../../domain/bridge/index.ts'
import { asAppError } from '../../../domain/access/index.ts'
import { threadIdOf, type AgentRequest } from '../http/agent-request.ts'
import { asCallUnit } from '../http/call-unit.ts'
import { callerChannel, inputResponsesOf } from './caller-channel.ts'
import { deliver } from './delivery.ts'
import { codes, invalidIssues, protocolError, toProtocolError } from '../http/errors.ts'
import {
  readRequestState,
  type RequestState,
  taskModeOf,
  type CallContext,
  type StartedCall,
  type ToolsCall,
} from './request-state.ts'
import { limitedResult, readableResult, refusedResult, resultOf, withdrawnResult } from './results.ts'
import type { SendServerRequest } from '../http/server-requests.ts'
import { missingTasks, supportsTasks, type ToolsCallResult } from './tasks.ts'

/** Separates the bridge's reserved arguments from the tool's own, before anything is validated. Pure. */
interface ToolArguments {
  /** What the tool receives. */
  toolArguments: JsonObject
  idempotencyKey: string | null
  attachments: AttachmentsInput | null
}

const metaPrefix = 'gatehouse/'

/**
 * Splits the arguments of a tools/call. `_meta` may carry the reserved values too, under `gatehouse/`, for a tool that
 * has arguments of the same names. Throws INVALID.
 */
function splitArguments(entry: BridgeEntry, given: unknown, meta: object | undefined): ToolArguments {
  const args = given ?? {}
  if (!isJsonObject(args)) throw invalidAt(['arguments'], 'must be a JSON object')
  const reserved = reservedArguments(entry.inputSchema)
  const toolArguments = Object.fromEntries(Object.entries(args).filter(([name]) => !reserved.includes(name)))
  const valueOf = (name: string) =>
    (reserved.includes(name) ? args[name] : undefined) ??
    (meta as JsonObject | undefined)?.[metaPrefix + name]
  const key = valueOf(reservedNames.idempotencyKey) ?? null
  if (key !== null && typeof key !== 'string')
    throw invalidAt(['arguments', reservedNames.idempotencyKey], 'must be a string')
  const attachments = attachmentsOf(valueOf(reservedNames.attachments))
  return { toolArguments, idempotencyKey: key, attachments }
}

const attachmentProperties = ['file_id', 'filename', 'content_type']

/** Converts `[{file_id, filename?, content_type?}]` to the input of the files module. */
function attachmentsOf(value: unknown): AttachmentsInput | null {
  if (value === undefined || value === null) return null
  const path = ['arguments', reservedNames.attachments]
  if (!Array.isArray(value)) throw invalidAt(path, 'must be a list')
  return value.map((one: unknown, i) => {
    const itemPath = [...path, String(i)]
    if (!isJsonObject(one) || typeof one['file_id'] !== 'string')
      throw invalidAt([...itemPath, 'file_id'], 'is required')
    const unknown = Object.keys(one).find((name) => !attachmentProperties.includes(name))
    if (unknown) throw invalidAt([...itemPath, unknown.slice(0, 80)], 'is not a known property')
    const { file_id: fileId, filename, content_type: contentType } = one
    return { fileId, filename, contentType } as AttachmentsInput[number]
  })
}

export interface CallParams {
  name: string
  arguments?: unknown
  _meta?: object
}

/** Serves one tools/call. Throws only ProtocolError. */
export function callTool(
  request: AgentRequest,
  params: CallParams,
  context: CallContext,
  send: SendServerRequest,
): Promise<ToolsCallResult> {
  const { byName } = request.surface
  const asked = byName.get(params.name)?.kind === 'call' ? innerCall(params) : params
  const entry = byName.get(asked.name)
  return asCallUnit(request, asked, entry?.kind ?? 'unknown', async (ctx) => {
    try {
      if (!entry) throw unknownTool(request, asked.name)
      const result = await callEntry({ ...request, ctx }, entry, asked, context, send)
      return readableResult(request, entry, result)
    } catch (error) {
      return readableResult(request, entry, failureOf(request, error))
    }
  })
}

/** The call that call_tool stands for: from here on it is that one, by name, arguments and hash. Itself when it stands for none. */
function innerCall(params: CallParams): CallParams {
  if (!isJsonObject(params.arguments)) return params
  const { name, arguments: given, ...more } = params.arguments
  return typeof name === 'string' && Object.keys(more).length === 0
    ? { ...params, name, arguments: given }
    : params
}

/** A result when the model can act on the failure: it may wait for a limit, or correct its arguments. Else throws. */
function failureOf({ runtime, seedErrors }: AgentRequest, error: unknown): ToolsCallResult {
  const known = asAppError(error)
  if (known?.code === 'LIMITED' && known.details.retryAfterMs)
    return limitedResult(known.message, known.details.retryAfterMs)
  const invalid = invalidIssues(error)
  if (!invalid) throw toProtocolError(error, runtime.log)
  const { message, issues } = invalid
  if (!seedErrors) return refusedResult('invalid_arguments', message, issues)
  throw protocolError(codes.invalidParams, message, 'invalid_arguments', { issues })
}

async function callEntry(
  request: AgentRequest,
  entry: BridgeEntry,
  params: CallParams,
  context: CallContext,
  send: SendServerRequest,
): Promise<ToolsCallResult> {
  const requestHash = () => hashJson([params.name, params.arguments ?? {}])
  const state = readRequestState(context, requestHash)
  const args = splitArguments(entry, params.arguments, params._meta)
  if (taskModeOf(entry) === 'REQUIRED' && !supportsTasks(request, context)) return requireTasks(request)
  const round = state?.round ?? 0
  const resumable = args.idempotencyKey !== null || entry.kind === 'wait' || entry.kind === 'cancel'
  const call: ToolsCall = { request, context, send, entry, requestHash, round, resumable }
  const started = state ? await resume(call, state) : await start(call, entry, args)
  return 'result' in started ? started.result : deliver(call, started)
}

/** What there is to wait for, or the result when it is there already. */
type Started = StartedCall | { result: ToolsCallResult }

function start(call: ToolsCall, entry: BridgeEntry, args: ToolArguments): Promise<Started> {
  switch (entry.kind) {
    case 'tool':
      return startTool(call, entry, args)
    case 'agent':
      return beginGeneration(call, args)
    case 'search':
      return Promise.resolve({
        result: searchSurface(call.request.surface, args.toolArguments) as ToolsCallResult,
      })
    case 'call':
      throw invalidAt(
        ['arguments'],
        'must be the name of another tool, and as arguments its own, reserved ones included',
      )
    case 'wait':
      return Promise.resolve(awaitedCall(args))
    case 'cancel':
      return withdraw(call, awaitedCall(args))
  }
}

/** The answer to a client without task support that calls a tool which only runs as a task. */
function requireTasks({ era }: AgentRequest): ToolsCallResult {
  if (era === 'modern') throw missingTasks()
  const message =
    'This tool only runs as a task: it needs a client with the extension io.modelcontextprotocol/tasks.'
  return refusedResult('task_required', message, [])
}

/** A later round of a call: gives the client's responses to the upstream when it brings any. */
async function resume({ request, context, send }: ToolsCall, { callId }: RequestState): Promise<StartedCall> {
  const responses = inputResponsesOf(context.mcpReq)
  const channel = callerChannel(request, context, send)
  const resumed = responses && (await answerInputRequests(request.ctx, callId, responses, channel))
  return { id: callId, running: resumed?.running ?? null }
}

async function startTool(
  { request, context, send }: ToolsCall,
  { toolId, action, name }: BridgeEntry & { kind: 'tool' },
  { toolArguments, idempotencyKey, attachments }: ToolArguments,
): Promise<Started> {
  const { agentId, runtime, ctx, surface } = request
  const started = await callAgentTool(ctx, surface, {
    agentId,
    toolId,
    action,
    name,
    threadId: threadIdOf(request),
    arguments: toolArguments,
    attachments,
    idempotencyKey,
    caller: callerChannel(request, context, send),
  }).catch((error: unknown) => {
    if (!(error instanceof AppError) || error.code !== 'NOT_FOUND') throw error
    runtime.surfaces.invalidate(agentId)
    throw unknownTool(request, name)
  })
  if (started.staleSurface) runtime.surfaces.invalidate(agentId)
  const { id, result, awaited } = started.call
  // A repeat of a call that is done.
  if (result !== null && !awaited) return { result: resultOf(request, id, result) }
  return { id, running: started.running }
}

async function beginGeneration(
  { request, entry }: ToolsCall,
  { toolArguments, idempotencyKey, attachments }: ToolArguments,
): Promise<StartedCall> {
  const { id } = await startAgentRun(request.ctx, {
    agentId: request.agentId,
    name: entry.name,
    threadId: threadIdOf(request),
    arguments: toolArguments,
    attachments,
    idempotencyKey,
  })
  return { id, running: null }
}

/** Withdraws the call, unless it has ended: then it can be withdrawn no more. */
async function withdraw({ request: { ctx } }: ToolsCall, named: StartedCall): Promise<Started> {
  await cancelOwnCall(ctx, named.id)
  const { status } = await readCallHandle(ctx, named.id)
  return status === 'CANCELLED' ? { result: withdrawnResult(named.id) } : named
}

/** The call that a built-in tool names. It waits or withdraws: no MCP client can approve anything. */
function awaitedCall({ toolArguments }: ToolArguments): StartedCall {
  const { call_id: id, ...more } = toolArguments
  const [extra] = Object.keys(more)
  if (typeof id !== 'string') throw invalidAt(['arguments', 'call_id'], 'is required and must be a string')
  if (extra !== undefined) throw invalidAt(['arguments', extra.slice(0, 80)], 'is not a known property')
  return { id, running: null }
}

function unknownTool({ seedErrors }: AgentRequest, name: string) {
  const code = seedErrors ? codes.unknownToolSeed : codes.invalidParams
  return protocolError(code, `Unknown tool: ${name.slice(0, 100)}`, 'unknown_tool')
}
