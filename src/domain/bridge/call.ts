/** Calling a tool of an agent from outside: the same operation as callTool, through the agent's own gate. */
import { check, text } from '../../core/check.ts'
import { invalid, notFound } from '../../core/errors.ts'
import { assertMay, type Ctx } from '../access/index.ts'
import type { AttachmentsInput } from '../files/index.ts'
import { findAgent } from '../agents/index.ts'
import { attachTo, createCall, noteBack, runCreated, type CallRequest } from '../calls/index.ts'
import { inCallersWords } from './callers-words.ts'
import { findDirectCall, type ToolCall } from '../tool-calls/index.ts'
import { findCallable, findTool, prepareCall, type Caller } from '../tools/index.ts'

export interface BridgeCall {
  agentId: string
  toolId: string
  /** Which of the tool's actions; null for a tool with one name. */
  action: string | null
  /** The runtime name that was called. */
  name: string
  arguments: unknown
  attachments: AttachmentsInput | null
  idempotencyKey: string | null
  /** The conversation that the call belongs to, for grants that hold for one. */
  threadId: string | null
  /** Who waits for it, hears of it and can be asked. */
  caller: Caller
}

const keyShape = text(200, 1).nullable()

/**
 * Places a call of one of the agent's tools and answers it as it was committed; `running` is the rest of it when this
 * process runs it. Action `tools:Call` on the tool. The gates of tool and agent both hold. With a key, or while the
 * same request waits for a person, a repeat joins.
 */
export async function callThroughAgent(
  ctx: Ctx,
  input: BridgeCall,
): Promise<{ call: ToolCall; running: Promise<ToolCall> | null }> {
  const key = check(keyShape, input.idempotencyKey, ['arguments', 'idempotency_key'])
  const [agent, tool] = await Promise.all([findAgent(ctx, input.agentId), findTool(ctx, input.toolId)])
  if (tool.projectId !== agent.projectId || tool.kind === 'client' || !agent.toolIds.includes(tool.id))
    throw notFound('tool', input.name)
  await assertMay(ctx, 'tools:Call', tool.projectId, `tool/${tool.id}`, { agentId: agent.id })
  const callable = await findCallable(ctx, tool, input.action)
  if (!callable) throw notFound('tool', input.name)
  const prepared = prepareCall(callable, input.arguments)
  if (!prepared.ok) throw invalid(prepared.issues)
  const attachments = await attachTo(ctx, callable, input.attachments, ['arguments', 'attachments']).catch(
    (error: unknown) => {
      throw inCallersWords(error)
    },
  )
  const request = {
    name: input.name,
    arguments: prepared.arguments,
    ...(attachments ? { attachments } : {}),
  }
  const allowed: CallRequest = {
    tool: callable,
    prepared,
    attachments,
    idempotency: key === null ? null : { operation: `mcp:${agent.id}`, key, request },
    caller: input.caller,
    via: { agentId: agent.id, agentGate: agent.gate ?? null, threadId: input.threadId },
  }
  return placeThrough(ctx, allowed)
}

/** Places a call that has been checked, and runs it when nothing holds it back. */
export async function placeThrough(
  ctx: Ctx,
  request: CallRequest,
): Promise<{ call: ToolCall; running: Promise<ToolCall> | null }> {
  const placed = await createCall(ctx, request)
  if (placed.joined && placed.call.callerGoneAt) await noteBack(ctx, placed.call)
  const fresh = !placed.joined && placed.call.status === 'EXECUTING'
  return { call: placed.call, running: fresh ? runCreated(ctx, request, placed) : null }
}

/** A call over the bridge that the caller itself asked for; anybody else's does not exist. Action `tools:Call`. */
export async function findOwnCall(ctx: Ctx, id: string): Promise<ToolCall> {
  const call = await findDirectCall(ctx, id)
  if (call.requestedBy !== ctx.principal.id || call.source !== 'BRIDGE') throw notFound('tool call', id)
  await assertMay(ctx, 'tools:Call', call.projectId, `tool/${call.toolId}`, { by: call.requestedBy })
  return call
}
