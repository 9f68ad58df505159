/**
 * A2A 1.0 (Agent2Agent) over the runs of agents: for each an agent card, and two bindings of the same methods. That of
 * JSON-RPC is here.
 */
import { AppError, notFound } from '../../../core/errors.ts'
import type { Json, JsonObject } from '../../../core/json.ts'
import { asAppError, allows, type Ctx } from '../../../domain/access/index.ts'
import {
  type ApiCall,
  type ApiReply,
  type AuthenticatedRequest,
  decodePathPart,
  type AuthenticatedApi,
} from '../../http/authenticated-api.ts'
import { retryAfter } from '../../http/replies.ts'
import { A2aError, errorBody, httpStatusOf, statusBody } from './errors.ts'
import { perform } from './methods.ts'
import { assertVersion, idOf, readRpc } from './request.ts'
import { findAgentToStart, getAgents, type Agent } from '../../../domain/agents/index.ts'
import { getTools } from '../../../domain/tools/index.ts'
import { httpJsonRoutes, isHttpJson } from './http-json.ts'

/** Answers a JSON-RPC request to an agent. Errors of a request that was read have its id. */
async function answerRpc(
  { request, response }: Omit<ApiCall, 'params'>,
  agentNamed: string,
): Promise<ApiReply | null> {
  let id: string | number | null = null
  try {
    const body = await bodyOf(request)
    id = idOf(body)
    const { id: rpcId, method, params } = readRpc(body)
    assertVersion(request)
    const result = await perform(method, {
      request,
      response,
      agentNamed,
      params,
      at: ['params'],
      event: (one) => ({ jsonrpc: '2.0', id: rpcId, result: one }),
    })
    return result && { status: 200, body: { jsonrpc: '2.0', id, result } }
  } catch (error) {
    const known = asAppError(error)
    if (!known || response.headersSent) throw error
    return {
      status: known.code === 'NOT_FOUND' && !(known instanceof A2aError) ? 404 : httpStatusOf(known),
      body: errorBody(known, id),
      headers: retryAfter(known.details.retryAfterMs),
    }
  }
}

async function bodyOf(request: AuthenticatedRequest): Promise<Json | undefined> {
  try {
    return await request.body()
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'INVALID') throw error
    throw new A2aError('PARSE_ERROR', error.message)
  }
}

/** The most skills of a card. */
const mostSkills = 200
const modes = ['text/plain', 'application/json']

/** The card of the agent with this id or name. Action `generations:Start`; `tools:Get` and `agents:Get` for each skill. */
async function cardOf(ctx: Ctx, named: string, publicUrl: string): Promise<JsonObject> {
  const agent = await findAgentToStart(ctx, named)
  return {
    name: agent.name,
    description: `The agent ${agent.name}, served by Gatehouse.`,
    version: String(agent.version),
    supportedInterfaces: ['JSONRPC', 'HTTP+JSON'].map((protocolBinding) => ({
      url: `${publicUrl}/a2a/${agent.id}`,
      protocolBinding,
      protocolVersion: '1.0',
    })),
    capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false },
    securitySchemes: {
      bearer: { httpAuthSecurityScheme: { scheme: 'Bearer', description: 'A key or token of Gatehouse.' } },
    },
    securityRequirements: [{ schemes: { bearer: { list: [] } } }],
    defaultInputModes: modes,
    defaultOutputModes: modes,
    skills: await skillsOf(ctx, agent),
  }
}

/** The tools and agents that it may use; for a caller who may know none of them, the agent as a whole. */
async function skillsOf(ctx: Ctx, { id, name, toolIds, agentIds }: Agent): Promise<JsonObject[]> {
  const { policy } = ctx.principal
  const toolsKnown = toolIds.filter((one) => allows(policy, 'tools:Get', `tool/${one}`)).slice(0, mostSkills)
  const agentsKnown = (agentIds ?? []).filter((one) => allows(policy, 'agents:Get', `agent/${one}`))
  const tools = (await getTools(ctx, toolsKnown)).flatMap((tool) => tool ?? [])
  const agents = (await getAgents(ctx, agentsKnown)).flatMap((agent) => agent ?? [])
  const skills = [
    ...tools.map((tool) => ({
      id: tool.id,
      name: tool.title ?? tool.name,
      description: tool.description ?? `The tool ${tool.name}.`,
      tags: ['tool', tool.kind],
    })),
    ...agents.map((agent) => ({
      id: agent.id,
      name: agent.name,
      description: `The agent ${agent.name}.`,
      tags: ['agent'],
    })),
  ].slice(0, mostSkills)
  return skills.length > 0 ? skills : [{ id, name, description: `Asks the agent ${name}.`, tags: ['agent'] }]
}

/** `publicUrl` is the address that cards name. */
export function a2aApi(publicUrl: () => string): AuthenticatedApi {
  const rpc = (call: ApiCall) => answerRpc(call, decodePathPart(call.params['agent']!, 'agent'))
  return {
    resource: '/a2a',
    routes: [
      { method: 'POST', path: '/a2a/{agent}', run: rpc },
      { method: 'POST', path: '/a2a/{agent}/', run: rpc },
      ...httpJsonRoutes,
      {
        method: 'GET',
        path: '/a2a/{agent}/.well-known/agent-card.json',
        head: true,
        run: async ({ request: { ctx }, params }) => ({
          status: 200,
          body: await cardOf(ctx, decodePathPart(params['agent']!, 'agent'), publicUrl()),
        }),
      },
    ],
    errorBody: (error, path) => (isHttpJson(path) ? statusBody(error) : errorBody(error, null)),
    missing: ({ path }) => notFound('agent at the path', path),
    notAllowed: new A2aError(
      'INVALID_REQUEST',
      'Method not allowed: GET the card or tasks, and POST JSON-RPC, messages or what a task shall do.',
    ),
  }
}
