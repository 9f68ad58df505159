/** Relays prompts, resources and completions between MCP clients and the upstreams of an agent. */
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
  type CallerChannel,
  type ReadAction,
  type Tool,
} from '../tools/index.ts'
import { completeArgument, type Relay, type UpstreamReading } from '../upstream/index.ts'
import { commitCall, type CommittedCall } from './call.ts'
import { ownerOfResource, type UpstreamFeatures } from './features.ts'
import type { BridgeSurface } from './surface.ts'

/** Who reads: the session's thread, and the channel that answers input requests. */
export interface Reader {
  threadId: string | null
  caller: CallerChannel
}

/** The rights that a caller needs on the tool through which an upstream's features are used. */
const relayActions = ['tools:Call', 'tools:Read'] as const

/** The features that a caller with this policy may see: those of tools that it may call and read. */
export function visibleFeatures(policy: Policy, features: UpstreamFeatures): UpstreamFeatures {
  const may = ({ toolId }: { toolId: string }) =>
    relayActions.every((action) => allows(policy, action, `tool/${toolId}`))
  const subscribable = new Set([...features.subscribable].filter((toolId) => may({ toolId })))
  const all = [...features.prompts.values(), ...features.resources.values(), ...features.templates]
  if (all.every(may) && subscribable.size === features.subscribable.size) return features
  return {
    ...features,
    prompts: new Map([...features.prompts].filter(([, one]) => may(one))),
    resources: new Map([...features.resources].filter(([, one]) => may(one))),
    templates: features.templates.filter(may),
    subscribable,
  }
}

/** Reads a resource of an upstream as a call (see `commitRead`). NOT_FOUND when no upstream serves it or it is not relayed. */
export async function relayResource(
  ctx: Ctx,
  { agent, features }: BridgeSurface,
  uri: string,
  reader: Reader,
): Promise<CommittedCall> {
  const toolId = ownerOfResource(features, uri)
  if (toolId === null) throw notFound('resource', uri)
  return commitRead(ctx, agent, toolId, readActions.resources, { uri }, reader)
}

/** Gets a prompt by its listed name, as a call (see `commitRead`). NOT_FOUND when it is not listed. */
export async function relayPrompt(
  ctx: Ctx,
  { agent, features }: BridgeSurface,
  name: string,
  args: Record<string, string> | undefined,
  reader: Reader,
): Promise<CommittedCall> {
  const found = features.prompts.get(name)
  if (!found) throw notFound('prompt', name)
  const request = { name: found.definition.name, ...(args ? { arguments: args } : {}) }
  return commitRead(ctx, agent, found.toolId, readActions.prompts, request, reader)
}

/**
 * Commits a read as a call of its tool: the gates of tool and agent apply, its attempts are in the ledger, its outcome
 * in the audit log. The same request joins while a person decides. Actions `tools:Call` and `tools:Read` on the tool.
 */
async function commitRead(
  ctx: Ctx,
  agent: Agent,
  toolId: string,
  action: ReadAction,
  args: JsonObject,
  { threadId, caller }: Reader,
): Promise<CommittedCall> {
  const tool = await findRelayTool(ctx, agent, toolId)
  const callable = readCallable(tool, action)
  if (!callable) throw notFound('tool', toolId)
  const prepared = prepareCall(callable, args)
  if (!prepared.ok) throw invalid(prepared.issues)
  const via = { agentId: agent.id, agentGate: agent.gate ?? null, threadId }
  const request = { tool: callable, prepared, attachments: null, idempotency: null, caller, via }
  return commitCall(ctx, { ...request, basis: {} })
}

/** The tool, when the caller may use its upstream's features through the agent. */
async function findRelayTool(ctx: Ctx, agent: Agent, toolId: string): Promise<Tool> {
  const tool = await findTool(ctx, toolId)
  for (const action of relayActions)
    await assertMay(ctx, action, tool.projectId, `tool/${tool.id}`, { agentId: agent.id })
  return tool
}

/** How a completion is asked for. */
export interface CompletionOptions {
  relay: Relay | null
  signal: AbortSignal
}

/**
 * Completes an argument of a prompt or resource template at its upstream. Actions `tools:Call` and `tools:Read` on the
 * tool. NOT_FOUND when no upstream serves it.
 */
export async function relayCompletion(
  ctx: Ctx,
  { agent, features }: BridgeSurface,
  params: JsonObject,
  options: CompletionOptions,
): Promise<UpstreamReading> {
  const ref = (params['ref'] ?? {}) as { type?: string; name?: string; uri?: string }
  if (ref.type === 'ref/prompt') {
    const found = features.prompts.get(ref.name ?? '')
    if (!found) throw notFound('prompt', ref.name ?? '')
    const renamed = { ...params, ref: { type: 'ref/prompt', name: found.definition.name } }
    return complete(ctx, agent, found.toolId, renamed, options)
  }
  const uri = ref.uri ?? ''
  const template = features.templates.find(({ definition }) => definition.uriTemplate === uri)
  const toolId = template?.toolId ?? ownerOfResource(features, uri)
  if (!toolId) throw notFound('resource', uri)
  return complete(ctx, agent, toolId, params, options)
}

/** Clients complete on every keystroke, so a completion is no call; it is audited all the same. */
async function complete(
  ctx: Ctx,
  agent: Agent,
  toolId: string,
  params: JsonObject,
  { relay, signal }: CompletionOptions,
): Promise<UpstreamReading> {
  const tool = await findRelayTool(ctx, agent, toolId)
  const { id, projectId } = tool
  const details = { completion: true, agentId: agent.id }
  await recordChange(ctx.db, ctx, { projectId, action: 'tools:Read', resource: `tool/${id}`, details })
  const { id: requestedBy, actsFor = null } = ctx.principal
  const timeoutMs = timeoutOf(ctx, tool)
  return completeArgument(ctx, { id, projectId, requestedBy, actsFor, timeoutMs, signal, relay, params })
}
