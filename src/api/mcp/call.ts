/** tools/call: the name is looked up, reserved arguments are taken out, the work begins, and its answer is delivered. */
import type { ServerContext } from '@modelcontextprotocol/server'
import { hashJson, type JsonObject } from '../../core/json.ts'
import { AppError } from '../../core/errors.ts'
import {
  answerWork,
  callThroughAgent,
  readWork,
  startTalk,
  type BridgeEntry,
  type Work,
} from '../../domain/bridge/index.ts'
import { deliver, taskModeOf, type Delivery, type Send } from './delivery.ts'
import { codes, invalidIssues, protocolError, toProtocolError } from './errors.ts'
import { sortArguments, type Sorted } from './reserved.ts'
import { asAppError } from '../../domain/access/index.ts'
import { doneResult, limitedResult, refusedResult } from './results.ts'
import { callerOf } from './relay.ts'
import type { RoundState } from './rounds.ts'
import { declaresTasks, missingTasks, type CallAnswer } from './tasks.ts'
import type { Visit } from './visit.ts'

export interface CallParams {
  name: string
  arguments?: unknown
  _meta?: object
}

/** Serves one call. Throws errors of the protocol only. */
export async function callTool(
  visit: Visit,
  params: CallParams,
  mcp: ServerContext,
  send: Send,
): Promise<CallAnswer> {
  try {
    const entry = visit.surface.byName.get(params.name)
    if (!entry) throw unknownTool(visit, params.name)
    return await serve(visit, entry, params, mcp, send)
  } catch (error) {
    const known = asAppError(error)
    // A limit of the tool is told to the model, which can do something else meanwhile.
    if (known?.code === 'LIMITED' && known.details.retryAfterMs)
      return limitedResult(known.message, known.details.retryAfterMs)
    const refused = invalidIssues(error)
    if (!refused) throw toProtocolError(error, visit.log)
    const { message, issues } = refused
    if (!visit.seed) return refusedResult('invalid_arguments', message, issues)
    throw protocolError(codes.invalidParams, message, 'invalid_arguments', { issues })
  }
}

async function serve(
  visit: Visit,
  entry: BridgeEntry,
  params: CallParams,
  mcp: ServerContext,
  send: Send,
): Promise<CallAnswer> {
  const requestHash = hashJson([params.name, params.arguments ?? {}])
  const round = mcp.mcpReq.requestState<RoundState>()
  const sorted = sortArguments(entry, params.arguments, params._meta)
  if (taskModeOf(entry) === 'REQUIRED' && !declaresTasks(visit, mcp)) return needsTasks(visit)
  const delivery = { visit, mcp, send, entry, requestHash, round: 0, keyed: sorted.idempotencyKey !== null }
  if (round) return goOn(delivery, round)
  if (entry.kind === 'tool') return callOne(delivery, entry, sorted)
  if (entry.kind === 'agent') return talk(delivery, entry, sorted)
  return deliver({ ...delivery, keyed: true }, await waitedFor(visit, sorted))
}

/** A tool that is called as a task only, by a client that does not know tasks. */
function needsTasks({ era }: Visit): CallAnswer {
  if (era === 'modern') throw missingTasks()
  const message =
    'This tool runs as a task only: it needs a client with the extension io.modelcontextprotocol/tasks.'
  return refusedResult('task_required', message, [])
}

/** The client comes back for work that it began in an earlier round. */
async function goOn(delivery: Delivery, round: RoundState): Promise<CallAnswer> {
  if (round.requestHash !== delivery.requestHash)
    throw protocolError(codes.invalidParams, 'Invalid or expired requestState', 'invalid_request_state')
  const { visit, mcp } = delivery
  const goesOn = { ...delivery, round: round.round }
  const answers = mcp.mcpReq.inputResponses as JsonObject | undefined
  const given = answers
    ? await answerWork(visit.ctx, round.workId, answers, callerOf(visit, mcp, delivery.send))
    : null
  const work = await readWork(visit.ctx, round.workId)
  return deliver(goesOn, given ? { work, running: given.running } : work)
}

async function callOne(
  delivery: Delivery,
  entry: BridgeEntry & { kind: 'tool' },
  sorted: Sorted,
): Promise<CallAnswer> {
  const { visit } = delivery
  const { agentId, session, ctx } = visit
  const { toolId, action, name } = entry
  const { own: args, idempotencyKey, attachments } = sorted
  const placed = await callThroughAgent(ctx, {
    agentId,
    toolId,
    action,
    name,
    threadId: session?.threadId ?? null,
    arguments: args,
    attachments,
    idempotencyKey,
    caller: callerOf(visit, delivery.mcp, delivery.send),
  }).catch((error: unknown) => {
    if (!(error instanceof AppError) || error.code !== 'NOT_FOUND') throw error
    visit.surfaces.forget(agentId)
    throw unknownTool(visit, name)
  })
  if (placed.call.result !== null && !placed.call.awaited)
    return doneResult(visit, placed.call.id, placed.call.result)
  return deliver(delivery, placed)
}

async function talk(
  delivery: Delivery,
  { name }: BridgeEntry,
  { own, idempotencyKey, attachments }: Sorted,
): Promise<CallAnswer> {
  const { ctx, agentId, session } = delivery.visit
  const generation = await startTalk(ctx, {
    agentId,
    name,
    threadId: session?.threadId ?? null,
    arguments: own,
    attachments,
    idempotencyKey,
  })
  return deliver(delivery, { generation })
}

/** The work that `approval_wait` names. Nothing here can approve anything. */
async function waitedFor({ ctx }: Visit, { own }: Sorted): Promise<Work> {
  const { call_id: id, ...more } = own
  const [extra] = Object.keys(more)
  const fault = (path: string, message: string) =>
    new AppError('INVALID', `arguments.${path} ${message}`, {
      issues: [{ path: ['arguments', path], message }],
    })
  if (typeof id !== 'string') throw fault('call_id', 'is required and must be a string')
  if (extra !== undefined) throw fault(extra.slice(0, 80), 'is not a known property')
  return readWork(ctx, id)
}

function unknownTool({ seed }: Visit, name: string) {
  const code = seed ? codes.unknownToolSeed : codes.invalidParams
  return protocolError(code, `Unknown tool: ${name.slice(0, 100)}`, 'unknown_tool')
}
