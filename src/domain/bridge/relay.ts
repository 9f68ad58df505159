/** What upstreams offer beside tools, for a client of the bridge: asked of whoever has it, with the caller's own words. */
import type { JsonObject } from '../../core/json.ts'
import { notFound } from '../../core/errors.ts'
import { allows, assertMay, type Ctx, type Policy } from '../access/index.ts'
import type { Agent } from '../agents/index.ts'
import { timeoutOf, findTool } from '../tools/index.ts'
import {
  completeArgument,
  getPrompt,
  readResource,
  type Relay,
  type UpstreamReading,
} from '../upstream/index.ts'
import { ownerOfResource, type Offers } from './offers.ts'
import type { BridgeSurface } from './surface.ts'

/** What comes along with a request of the client. */
export interface Asked {
  relay: Relay | null
  signal: AbortSignal
}

/** The offers of which a caller with this policy may see the upstream: those through tools that it may call. */
export function offersFor(policy: Policy, offers: Offers): Offers {
  const may = ({ toolId }: { toolId: string }) => allows(policy, 'tools:Call', `tool/${toolId}`)
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

/** Reads a resource of one of the agent's upstreams. Action `tools:Call` on its tool. NOT_FOUND when nobody has it. */
export async function relayResource(
  ctx: Ctx,
  { agent, offers }: BridgeSurface,
  uri: string,
  asked: Asked,
): Promise<UpstreamReading> {
  const toolId = ownerOfResource(offers, uri)
  if (toolId === null) throw notFound('resource', uri)
  return readResource(ctx, { ...(await askingOf(ctx, agent, toolId, asked)), uri })
}

/** A prompt by the name under which it is listed. Action `tools:Call` on its tool. NOT_FOUND when nobody has it. */
export async function relayPrompt(
  ctx: Ctx,
  { agent, offers }: BridgeSurface,
  name: string,
  args: Record<string, string> | undefined,
  asked: Asked,
): Promise<UpstreamReading> {
  const found = offers.prompts.get(name)
  if (!found) throw notFound('prompt', name)
  const asking = await askingOf(ctx, agent, found.toolId, asked)
  return getPrompt(ctx, { ...asking, name: found.thing.name, ...(args ? { arguments: args } : {}) })
}

/** Completes an argument of a prompt or template. Action `tools:Call` on its tool. NOT_FOUND when nobody has it. */
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

async function askingOf(ctx: Ctx, agent: Agent, toolId: string, { relay, signal }: Asked) {
  const tool = await findTool(ctx, toolId)
  await assertMay(ctx, 'tools:Call', tool.projectId, `tool/${tool.id}`, { agentId: agent.id })
  return { id: tool.id, projectId: tool.projectId, timeoutMs: timeoutOf(ctx, tool), signal, relay }
}
