/** Direct calls of tools: the raw output, or the state of a call that a person must approve. */
import type { z } from 'zod'
import type { ToolResult } from '../../../core/content.ts'
import { AppError, notFound } from '../../../core/errors.ts'
import type { Ctx } from '../../../domain/access/index.ts'
import { loadApprovals } from '../../../domain/approvals/index.ts'
import { callDirectly, batchLoadCall, waitFor } from '../../../domain/calls/index.ts'
import { getToolCalls, hasOutput, isOpen, type ToolCall } from '../../../domain/tool-calls/index.ts'
import type { ApiReply } from '../../http/authenticated-api.ts'
import { actionName } from './actions.ts'
import { errorBody } from './errors.ts'
import { shownApproval } from './generation-state.ts'
import { patienceOf } from '../segments/requests.ts'
import { defineRoute, type RouteCall } from './route.ts'
import * as shapes from './shapes.ts'

type Call = RouteCall<z.output<typeof shapes.callTool>, unknown>

const pathOf = (toolId: string, id: string) => `/api/v1/tools/${toolId}/calls/${id}`

/** What the tool returned: its JSON, else its text, else its content blocks. */
function outputOf({ structuredContent, content }: ToolResult): unknown {
  if (structuredContent !== undefined) return structuredContent
  const texts = content.flatMap((block) => (block.type === 'text' ? [block.text] : []))
  return texts.length === content.length ? texts.join('\n') : content
}

async function shown(ctx: Ctx, call: ToolCall): Promise<shapes.ShownToolCall> {
  const asked = call.status === 'AWAITING_APPROVAL' && call.approvalId
  const approvals = asked ? await loadApprovals(ctx.db, [call.approvalId!]) : []
  return {
    tool_call_id: call.id,
    tool_id: call.toolId!,
    tool_name: call.runtimeName,
    status: call.status.toLowerCase(),
    output: call.result ? outputOf(call.result) : null,
    is_error: call.result?.isError ?? null,
    approvals: approvals.map(shownApproval),
    created_at: call.createdAt.toISOString(),
    settled_at: call.settledAt?.toISOString() ?? null,
  }
}

const notRun = ['REJECTED', 'EXPIRED', 'CANCELLED']

/** 200 with the raw output; 202 while it is open; an error for a call that failed, did not run, or whose outcome is unknown. */
async function replyTo(ctx: Ctx, call: ToolCall): Promise<ApiReply> {
  const state = await shown(ctx, call)
  const headers = { location: pathOf(state.tool_id, state.tool_call_id) }
  if (isOpen(call)) return { status: 202, body: state, headers }
  if (hasOutput(call)) return { status: 200, body: state.output, headers }
  const said = `The call ended as ${state.status}; details.output says why.`
  const unknown = 'The outcome of the call is unknown: it may have taken effect, so do not repeat it.'
  const code = notRun.includes(call.status) ? 'CONFLICT' : 'UPSTREAM'
  const message = call.status === 'UNKNOWN' ? unknown : said
  const { error } = errorBody(new AppError(code, message)) as { error: object }
  return { status: code === 'CONFLICT' ? 409 : 502, body: { error: { ...error, details: state } }, headers }
}

/** Calls with the name of the action as it was sent; one that the tool does not have may be SOAT's name of ours. */
async function begin({ request, params, body }: Call): Promise<ToolCall> {
  const { ctx, idempotencyKey } = request
  const input = { toolId: params['tool_id']!, arguments: body.input ?? {}, idempotencyKey }
  const action = body.action ?? null
  const ours = action === null ? null : actionName(ctx.actions, action)
  return callDirectly(ctx, { ...input, action }).catch((error: unknown) => {
    if (ours === action || !isFaultOf(error, 'action')) throw error
    return callDirectly(ctx, { ...input, action: ours })
  })
}

function isFaultOf(error: unknown, field: string): boolean {
  const path = error instanceof AppError ? error.details.issues?.[0]?.path : undefined
  return path?.[0] === 'input' && path[1] === field
}

async function callOne(given: Call): Promise<ApiReply> {
  const { ctx, disconnected: signal } = given.request
  const maxMs = patienceOf(given.request)
  try {
    const begun = await begin(given)
    if (!isOpen(begun)) return await replyTo(ctx, begun)
    const enough = (seen: ToolCall) => !isOpen(seen)
    const seen = await waitFor(ctx, begun, () => batchLoadCall(ctx, begun.id), { maxMs, signal, enough })
    return await replyTo(ctx, seen)
  } catch (error) {
    // The tool exists and may be called, but not here.
    if (error instanceof AppError && isFaultOf(error, 'toolId'))
      return { status: 422, body: errorBody(error) }
    throw error
  }
}

async function read({ request, params }: RouteCall<unknown, unknown>): Promise<ApiReply> {
  const { ctx, disconnected: signal } = request
  const [id, maxMs] = [params['tool_call_id']!, patienceOf(request, 0)]
  const [found] = await getToolCalls(ctx, [id])
  if (!found || found.toolId !== params['tool_id']! || found.generationId !== null)
    throw notFound('tool call', id)
  const enough = (seen: ToolCall) => !isOpen(seen)
  const seen = await waitFor(ctx, found, () => batchLoadCall(ctx, id), { maxMs, signal, enough })
  return { status: 200, body: await shown(ctx, seen) }
}

const tag = 'Tools'
export const callRoutes = [
  defineRoute({
    method: 'POST',
    path: '/api/v1/tools/{tool_id}/call',
    operationId: 'callTool',
    tag,
    summary:
      'Calls a tool and responds with its raw output. A call that a person must approve is waited for as generate ' +
      'waits, then it is 202. A repeat with the same Idempotency-Key joins the first call. Permission: tools:Call.',
    body: shapes.callTool,
    answers: {
      200: { description: 'The output of the tool, any JSON.', schema: shapes.toolOutput },
      202: { description: 'The call is open; Location has its state.', schema: shapes.toolCall },
      422: { description: 'A client tool, which runs in the calling application.', schema: shapes.callError },
      409: { description: 'The call did not run, or is another one.', schema: shapes.callError },
      502: { description: 'The call failed, or its outcome is unknown.', schema: shapes.callError },
    },
    headers: ['Prefer', 'Idempotency-Key'],
    run: callOne,
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/tools/{tool_id}/calls/{tool_call_id}',
    operationId: 'getToolCall',
    tag,
    summary: 'The state of a direct call, at once or after Prefer: wait=N. Permission: toolCalls:Get.',
    answers: { 200: { description: 'The state of the call.', schema: shapes.toolCall } },
    headers: ['Prefer'],
    run: read,
  }),
]
