/** Calls one of an agent's tools for an MCP client: the operation of callTool, through the agent's own gate. */
import { AppError, invalid, notFound } from '../../core/errors.ts'
import { check, text } from '../../core/check.ts'
import { withProof, type Basis } from '../basis/index.ts'
import { allows, assertMay, assertStillValid, basisOf, hasAsked, holds, type Ctx } from '../access/index.ts'
import type { AttachmentsInput } from '../files/index.ts'
import { findAgent, type Agent } from '../agents/index.ts'
import { attachTo, createCall, runCreated, type CallRequest } from '../calls/index.ts'
import { findDirectCall, type ToolCall } from '../tool-calls/index.ts'
import { findCallable, findTool, prepareCall, type Callable, type CallerChannel } from '../tools/index.ts'
import type { BridgeSurface } from './surface.ts'

const wireNames: Record<string, string> = {
  input: 'arguments',
  fileId: 'file_id',
  contentType: 'content_type',
}

/** The same error with paths as the client wrote them: `arguments`, `file_id`, `content_type`. */
export function withWireNames(error: unknown): unknown {
  if (!(error instanceof AppError) || !error.details.issues) return error
  const issues = error.details.issues.map((issue) => ({
    ...issue,
    path: issue.path.map((part, i) =>
      i === 0 || issue.path.includes('attachments') ? (wireNames[part] ?? part) : part,
    ),
  }))
  const [first] = issues
  const message = first ? `${first.path.join('.')}: ${first.message}` : error.message
  return new AppError(error.code, message, { ...error.details, issues })
}

export interface AgentToolCall {
  agentId: string
  toolId: string
  /** Which of the tool's actions; null for a tool of one action. */
  action: string | null
  /** The runtime name that was called. */
  name: string
  arguments: unknown
  attachments: AttachmentsInput | null
  idempotencyKey: string | null
  /** The thread of the session that the call belongs to. Grants may hold for one thread. */
  threadId: string | null
  /** Receives progress and answers input requests. */
  caller: CallerChannel
}

/** A call as it was committed, and its execution when this process runs it. */
export interface CommittedCall {
  call: ToolCall
  /** Resolves when the call is settled or awaits input; null when nothing runs here. */
  running: Promise<ToolCall> | null
  /** True when the surface that the call was checked against was not the present one. */
  staleSurface?: boolean
}

const keyShape = text(200, 1).nullable()

/**
 * Commits a call of one of the agent's tools and runs it unless a gate stops it. Both the tool's and the agent's gate
 * apply. A repeat with the same idempotency key joins the first call; so does the same request while the first awaits
 * approval. Action `tools:Call` on the tool. NOT_FOUND when the agent does not serve the tool, INVALID for its
 * arguments.
 *
 * The request is checked against the surface, which may be a few seconds old, and the statement that commits the call
 * proves that key, agent, tool and catalog are still the same; else the rows are read.
 */
export async function callAgentTool(
  ctx: Ctx,
  surface: BridgeSurface,
  input: AgentToolCall,
): Promise<CommittedCall> {
  const key = check(keyShape, input.idempotencyKey, ['arguments', 'idempotency_key'])
  return withProof({
    remembered: knownTarget(ctx, surface, input),
    async read() {
      await assertStillValid(ctx.db, ctx.principal)
      return loadTarget(ctx, input)
    },
    async judge(target) {
      const prepared = prepareCall(target.callable, input.arguments)
      if (!prepared.ok) throw invalid(prepared.issues)
      return { ...target, prepared }
    },
    write: async (target) => ({
      ...(await commitTo(ctx, input, key, target)),
      // What was read now has nothing to prove.
      staleSurface: target.basis.agentVersion === undefined,
    }),
  })
}

interface CallTarget {
  agent: Agent
  callable: Callable
  basis: Basis
}

/** What the surface knows about the tool; null when the caller's rights or the surface do not cover it. */
function knownTarget(
  { principal }: Ctx,
  { agent, callables, catalogHashes }: BridgeSurface,
  input: AgentToolCall,
): CallTarget | null {
  const callable = callables.get(input.name)
  if (!callable || callable.id !== input.toolId || callable.action !== input.action) return null
  if (agent.id !== input.agentId || callable.projectId !== agent.projectId) return null
  const may =
    holds(principal, { agentId: agent.id }) && allows(principal.policy, 'tools:Call', `tool/${callable.id}`)
  if (!may) return null
  const basis = {
    ...basisOf(principal),
    agentId: agent.id,
    agentVersion: agent.version,
    toolId: callable.id,
    toolVersion: callable.version,
    ...(callable.mcp ? { catalogHash: catalogHashes.get(callable.id) ?? '' } : {}),
  }
  return { agent, callable, basis }
}

/** Agent and tool as they are now. Throws NOT_FOUND and FORBIDDEN. */
async function loadTarget(ctx: Ctx, input: AgentToolCall): Promise<CallTarget> {
  const [agent, tool] = await Promise.all([findAgent(ctx, input.agentId), findTool(ctx, input.toolId)])
  if (tool.projectId !== agent.projectId || tool.kind === 'client' || !agent.toolIds.includes(tool.id))
    throw notFound('tool', input.name)
  await assertMay(ctx, 'tools:Call', tool.projectId, `tool/${tool.id}`, { agentId: agent.id })
  const callable = await findCallable(ctx, tool, input.action)
  if (!callable) throw notFound('tool', input.name)
  return { agent, callable, basis: {} }
}

async function commitTo(
  ctx: Ctx,
  input: AgentToolCall,
  key: string | null,
  { agent, callable, prepared, basis }: CallTarget & Pick<CallRequest, 'prepared'>,
): Promise<CommittedCall> {
  const attachments = await attachTo(ctx, callable, input.attachments, ['arguments', 'attachments']).catch(
    (error: unknown) => {
      throw withWireNames(error)
    },
  )
  const request = {
    name: input.name,
    arguments: prepared.arguments,
    ...(attachments ? { attachments } : {}),
  }
  return commitCall(ctx, {
    tool: callable,
    prepared,
    attachments,
    idempotency: key === null ? null : { operation: `mcp:${agent.id}`, key, request },
    caller: input.caller,
    via: { agentId: agent.id, agentGate: agent.gate ?? null, threadId: input.threadId },
    basis,
  })
}

/** Commits a checked call, or joins the earlier one, and runs it unless a gate stops it. */
export async function commitCall(ctx: Ctx, request: CallRequest): Promise<CommittedCall> {
  const created = await createCall(ctx, request)
  const { call, joined } = created
  const runsHere = !joined && call.status === 'EXECUTING'
  return { call, running: runsHere ? runCreated(ctx, request, created) : null }
}

/** A call that the caller itself made over MCP. NOT_FOUND for every other call. Action `tools:Call`. */
export async function findOwnCall(ctx: Ctx, id: string): Promise<ToolCall> {
  const call = await findDirectCall(ctx, id)
  if (!hasAsked(ctx.principal, call) || call.source !== 'BRIDGE') throw notFound('tool call', id)
  await assertMay(ctx, 'tools:Call', call.projectId, `tool/${call.toolId}`, { by: call.requestedBy })
  return call
}
