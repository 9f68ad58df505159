/**
 * A coding agent asks about one of its calls: the question of `askPermission`, with the arguments that people read and gates
 * judge, under a name by which the agent finds its call again.
 */
import { createHash, randomUUID } from 'node:crypto'
import { AppError } from '../../core/errors.ts'
import {
  canonicalJson,
  hashJson,
  isJsonObject,
  jsonTooBig,
  type Json,
  type JsonObject,
} from '../../core/json.ts'
import { type Ctx, projectOf, recallEqual, recallRequest } from '../access/index.ts'
import { answerQuestion, reportLimits, reportOutcome } from '../calls/index.ts'
import { loadCall, toolCallOf, type ToolCall, type ToolCallStatus } from '../tool-calls/index.ts'
import { selectRows } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { toolCalls } from '../../store/db/tables/tools.ts'
import { effectsOf, targetKeys } from './effects.ts'
import { agentTitles, findAgentTool, nameOf, type CodingAgent } from './tool.ts'

/** A call of a coding agent, as it tells it. */
export interface AgentCall {
  agent: CodingAgent
  tool: string
  input: JsonObject
  cwd: string | null
  session: string | null
  /** The agent's own id of the call; null when it gives none. */
  callId: string | null
}

export interface AgentAnswer {
  answer: 'ALLOW' | 'DENY' | 'WAIT'
  /** For the agent's model; null with ALLOW. */
  reason: string | null
  /** The input that may run, when an approver has changed it; else null. */
  editedInput: JsonObject | null
  /** Whoever denied it ends the turn of the agent, too. */
  stop: boolean
}

export interface AgentAsker {
  /** How long the agent waits, in milliseconds. */
  maxMs: number
  signal: AbortSignal
  takesEdits: TakenEdits
}

/** Which edits of an input the agent obeys: all, new values alone because it keeps what was taken out, or none. */
export type TakenEdits = 'ALL' | 'VALUES' | 'NONE'

/** What a call acts on, and where its program puts it. */
interface LiftedText {
  key: string
  value: string
}

function targetOf(input: JsonObject): LiftedText | null {
  const key = targetKeys.find((name) => typeof input[name] === 'string')
  return key === undefined ? null : { key, value: input[key] as string }
}

/** The arguments of the tool that stands for the agent. */
function argumentsOf(call: AgentCall): JsonObject {
  const { tool, input, cwd, session } = call
  const target = targetOf(input)
  const { [target?.key ?? '']: _lifted, ...rest } = input
  return {
    tool,
    ...(target ? { target: target.value } : {}),
    input: target ? rest : input,
    ...(cwd === null ? {} : { cwd }),
    ...(session === null ? {} : { session }),
    effects: effectsOf(call, input),
  }
}

/**
 * The answer to an agent, after at most `maxMs`. ALLOW is given once; what was approved with another input is denied to an
 * agent that takes no edits. NOT_FOUND until the agent was added to the project.
 */
export async function askAsAgent(ctx: Ctx, call: AgentCall, asker: AgentAsker): Promise<AgentAnswer> {
  const projectId = await projectOf(ctx, null)
  const toolId = await findAgentTool(ctx.db, projectId, call.agent)
  if (toolId === null)
    throw new AppError(
      'NOT_FOUND',
      `${agentTitles[call.agent]} is not added to this project: run gatehouse agents install ${nameOf(call.agent)}.`,
    )
  const given = argumentsOf(call)
  const idempotencyKey = await keyOf(ctx, { projectId, toolId }, call, given)
  const { answer, reason, stop, toolCall } = await answerQuestion(
    ctx,
    { toolId, arguments: given, idempotencyKey },
    { ...asker, whyNot: (approved) => whyNot(approved, call, given, asker.takesEdits) },
  )
  return { answer, reason, stop, editedInput: answer === 'ALLOW' ? editOf(toolCall, call, given) : null }
}

/** The input as it was approved, under the agent's own names; null when it is what the agent asked about. */
function editOf(approved: ToolCall, { input }: AgentCall, given: JsonObject): JsonObject | null {
  const { target, input: rest } = approved.arguments ?? {}
  if (target === given['target'] && hashJson(rest) === hashJson(given['input'])) return null
  const known = targetOf(input)
  return { ...(rest as JsonObject), ...(known ? { [known.key]: target! } : {}) }
}

/** What an approver may not change, because the agent decides it. */
const claims = ['tool', 'cwd', 'session', 'effects'] as const

function whyNot(
  approved: ToolCall,
  call: AgentCall,
  given: JsonObject,
  takesEdits: TakenEdits,
): string | null {
  const final = approved.arguments ?? {}
  const isSame = (name: string) => hashJson(final[name] ?? null) === hashJson(given[name] ?? null)
  const changed = claims.find((name) => !isSame(name))
  const lacksTarget =
    targetOf(call.input) === null ? final['target'] !== undefined : typeof final['target'] !== 'string'
  if (changed !== undefined || lacksTarget || !isJsonObject(final['input']))
    return `An approver has changed ${changed ?? 'the target'}, which only the agent decides. The call was not run.`
  const edited = editOf(approved, call, given)
  const keepsAll = edited !== null && Object.keys(call.input).every((name) => Object.hasOwn(edited, name))
  if (!edited || takesEdits === 'ALL' || (takesEdits === 'VALUES' && keepsAll)) return null
  return `An approver allows this call only with another input: ${canonicalJson(edited)}. The call was not run: ask with that input.`
}

/** Ids of agents have no end: a text of one length for each. */
const digestOf = (part: string | null): string =>
  createHash('sha256')
    .update(part ?? '')
    .digest('base64url')

/**
 * The name of the call, which is another one each time where the agent gives no id, and for each person for whom a program
 * acts.
 */
function nameOfCall({ principal }: Ctx, { agent, session, callId }: AgentCall): string {
  const own = `${nameOf(agent)} ${digestOf(session)} ${callId === null ? randomUUID() : digestOf(callId)}`
  return principal.actsFor === undefined ? own : `${own} ${principal.actsFor}`
}

/** Where the names of the caller's calls are remembered. */
const memoryOf = (ctx: Ctx, projectId: string) =>
  ({ projectId, principal: ctx.principal, operation: 'tools:Call' }) as const

interface Place {
  projectId: string
  toolId: string
}

/** The caller's calls of the session with one of these statuses, none of them SUCCEEDED; the newest 20, newest first. */
async function callsOfSession(
  ctx: Ctx,
  { projectId, toolId }: Place,
  session: string | null,
  statuses: readonly ToolCallStatus[],
): Promise<ToolCall[]> {
  // `<>` lets the index of open calls serve it.
  const rows = await selectRows(
    ctx.db,
    toolCalls,
    sql`where project_id = ${projectId} and status in ${[...statuses]} and status <> 'SUCCEEDED' and tool_id = ${toolId}
      and requested_by = ${ctx.principal.id} and requester->>'actsFor' is not distinct from ${ctx.principal.actsFor ?? null}::text
      and arguments->>'session' is not distinct from ${session}::text
      order by created_at desc, id desc limit 20`,
  )
  return rows.map(toolCallOf)
}

/**
 * The name of the call. An equal one whose agent does not wait for it any more, and which nobody has run, is this one: models
 * repeat what they were told to try again. Any other call is a new one: a permission that was given is not reused.
 */
async function keyOf(ctx: Ctx, place: Place, call: AgentCall, given: JsonObject): Promise<string> {
  const own = nameOfCall(ctx, call)
  const memory = memoryOf(ctx, place.projectId)
  if (call.callId !== null && (await recallRequest(ctx.db, { ...memory, key: own }))) return own
  const waiting = await callsOfSession(ctx, place, call.session, [
    'PROPOSED',
    'AWAITING_APPROVAL',
    'APPROVED',
  ])
  // As it was asked: an approver may have edited it since.
  const request = { toolId: place.toolId, arguments: given }
  const left = waiting.filter(isLeft).map(({ id }) => id)
  return (await recallEqual(ctx.db, { ...memory, request }, left)) ?? own
}

const isLeft = ({ callerWaitsUntil }: ToolCall): boolean =>
  callerWaitsUntil === null || callerWaitsUntil.getTime() < Date.now()

/**
 * The agent says how a call ended that it was allowed. The same report again changes nothing, and one about a call that it did
 * not ask about has no effect. CONFLICT when the call has another outcome.
 */
export async function reportAsAgent(
  ctx: Ctx,
  call: AgentCall,
  output: Json,
  isError: boolean,
): Promise<void> {
  const projectId = await projectOf(ctx, null)
  const toolId = await findAgentTool(ctx.db, projectId, call.agent)
  if (toolId === null) return
  const mine = (await callOfId(ctx, projectId, call)) ?? (await runningCall(ctx, { projectId, toolId }, call))
  if (!mine) return
  const isTooBig = jsonTooBig(output, reportLimits) !== null
  await reportOutcome(ctx, mine, isTooBig ? 'The output was too large to keep.' : output, isError)
}

async function callOfId(ctx: Ctx, projectId: string, call: AgentCall): Promise<ToolCall | null> {
  if (call.callId === null) return null
  const id = await recallRequest(ctx.db, { ...memoryOf(ctx, projectId), key: nameOfCall(ctx, call) })
  return id === null ? null : loadCall(ctx.db, id)
}

/** The oldest call that runs with these words. */
async function runningCall(ctx: Ctx, place: Place, call: AgentCall): Promise<ToolCall | undefined> {
  const words = wordsOf(argumentsOf(call))
  const running = await callsOfSession(ctx, place, call.session, ['EXECUTING'])
  return running.findLast((one) => wordsOf(one.arguments ?? {}) === words)
}

/** What a call does, as it was approved. */
const wordsOf = ({ tool, target, input }: JsonObject): string => hashJson([tool!, target ?? null, input!])

/**
 * The answer as Claude Code and Codex read it from a hook for PermissionRequest, and Claude Code from its permission prompt tool.
 * Codex knows no `interrupt`: it would take the whole answer for none.
 */
export function behaviorOf(
  agent: CodingAgent,
  { answer, reason, stop, editedInput }: AgentAnswer,
  input?: JsonObject,
): JsonObject {
  const interrupt = stop && agent === 'CLAUDE' ? { interrupt: true } : {}
  if (answer !== 'ALLOW') return { behavior: 'deny', message: reason ?? 'Denied.', ...interrupt }
  const updatedInput = editedInput ?? input
  return { behavior: 'allow', ...(updatedInput ? { updatedInput } : {}) }
}
