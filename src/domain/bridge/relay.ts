/** What upstreams offer beside tools, for a client of the bridge: asked of whoever has it, with the caller's own words. */
import type { JsonObject } from '../../core/json.ts'
import { invalid, notFound } from '../../core/errors.ts'
import { allows, assertMay, recordChange, type Ctx, type Policy } from '../access/index.ts'
import type { Agent } from '../agents/index.ts'
import {
  findTool,
  prepareCall,
  readActions,
  readCallable,
  timeoutOf,
  type Caller,
  type ReadAction,
  type Tool,
} from '../tools/index.ts'
import { type ToolCall } from '../tool-calls/index.ts'
import { completeArgument, type Relay, type UpstreamReading } from '../upstream/index.ts'
import { placeThrough } from './call.ts'
import { ownerOfResource, type Offers } from './offers.ts'
import type { BridgeSurface } from './surface.ts'

/** Who reads: in which conversation, and what it can be asked meanwhile. */
export interface Reader {
  threadId: string | null
  caller: Caller
}

/** A read as it was committed; `running` is the rest of it when this process runs it. */
export interface PlacedRead {
  call: ToolCall
  running: Promise<ToolCall> | null
}

/** The offers of which a caller with this policy may see the upstream: those through tools that it may call and read. */
export function offersFor(policy: Policy, offers: Offers): Offers {
  const may = ({ toolId }: { toolId: string }) =>
    (['tools:Call', 'tools:Read'] as const).every((action) => allows(policy, action, `tool/${toolId}`))
  const watchable = new Set([...offers.watchable].filter((toolId) => may({ toolId })))
  const every = [...offers.prompts.values(), ...offers.resources.values(), ...offers.templates]
  if (every.every(may) && watchable.size === offers.watchable.size) return offers
  return {
    ...offers,
    prompts: new Map([...offers.prompts].filter(([, one]) => may(one))),
    resources: new Map([...offers.resources].filter(([, one]) => may(one))),
    templates: offers.templates.filter(may),
    watchable,
  }
}

/**
 * Reads a resource of one of the agent's upstreams. NOT_FOUND when nobody has it, or its operator does not let it through.
 * A call like any other (see placeRead).
 */
export async function relayResource(
  ctx: Ctx,
  { agent, offers }: BridgeSurface,
  uri: string,
  reader: Reader,
): Promise<PlacedRead> {
  const toolId = ownerOfResource(offers, uri)
  if (toolId === null) throw notFound('resource', uri)
  return placeRead(ctx, agent, toolId, readActions.resources, { uri }, reader)
}

/** The same for a prompt, by the name under which it is listed. */
export async function relayPrompt(
  ctx: Ctx,
  { agent, offers }: BridgeSurface,
  name: string,
  args: Record<string, string> | undefined,
  reader: Reader,
): Promise<PlacedRead> {
  const found = offers.prompts.get(name)
  if (!found) throw notFound('prompt', name)
  const given = { name: found.thing.name, ...(args ? { arguments: args } : {}) }
  return placeRead(ctx, agent, found.toolId, readActions.prompts, given, reader)
}

/**
 * Places a read as a call of its tool: the gates of tool and agent hold, its attempts stand in the ledger, its end in the
 * audit. Actions `tools:Call` and `tools:Read` on the tool. While a person decides, the same request joins.
 */
async function placeRead(
  ctx: Ctx,
  agent: Agent,
  toolId: string,
  action: ReadAction,
  args: JsonObject,
  { threadId, caller }: Reader,
): Promise<PlacedRead> {
  const tool = await readableTool(ctx, agent, toolId)
  const callable = readCallable(tool, action)
  if (!callable) throw notFound('tool', toolId)
  const prepared = prepareCall(callable, args)
  if (!prepared.ok) throw invalid(prepared.issues)
  const via = { agentId: agent.id, agentGate: agent.gate ?? null, threadId }
  return placeThrough(ctx, { tool: callable, prepared, attachments: null, idempotency: null, caller, via })
}

async function readableTool(ctx: Ctx, agent: Agent, toolId: string): Promise<Tool> {
  const tool = await findTool(ctx, toolId)
  for (const action of ['tools:Call', 'tools:Read'] as const)
    await assertMay(ctx, action, tool.projectId, `tool/${tool.id}`, { agentId: agent.id })
  return tool
}

/** What comes along with a completion. */
export interface Asked {
  relay: Relay | null
  signal: AbortSignal
}

/** Completes an argument of a prompt or template. Actions `tools:Call` and `tools:Read` on its tool. NOT_FOUND when nobody has it. */
export async function relayCompletion(
  ctx: Ctx,
  { agent, offers }: BridgeSurface,
  params: JsonObject,
  asked: Asked,
): Promise<UpstreamReading> {
  const ref = (params['ref'] ?? {}) as { type?: string; name?: string; uri?: string }
  if (ref.type === 'ref/prompt') {
    const found = offers.prompts.get(ref.name ?? '')
    if (!found) throw notFound('prompt', ref.name ?? '')
    const theirs = { ...params, ref: { type: 'ref/prompt', name: found.thing.name } }
    return completeArgument(ctx, { ...(await askingOf(ctx, agent, found.toolId, asked)), params: theirs })
  }
  const uri = ref.uri ?? ''
  const template = offers.templates.find(({ thing }) => thing.uriTemplate === uri)
  const toolId = template?.toolId ?? ownerOfResource(offers, uri)
  if (!toolId) throw notFound('resource', uri)
  return completeArgument(ctx, { ...(await askingOf(ctx, agent, toolId, asked)), params })
}

/** A completion is asked while somebody types: it is no call, and stands in the audit all the same. */
async function askingOf(ctx: Ctx, agent: Agent, toolId: string, { relay, signal }: Asked) {
  const tool = await readableTool(ctx, agent, toolId)
  const { id, projectId } = tool
  const details = { completion: true, agentId: agent.id }
  await recordChange(ctx.db, ctx, { projectId, action: 'tools:Read', resource: `tool/${id}`, details })
  return { id, projectId, timeoutMs: timeoutOf(ctx, tool), signal, relay }
}
