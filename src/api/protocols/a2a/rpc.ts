/** A2A's JSON-RPC binding: one endpoint for all methods. */
import { AppError } from '../../../core/errors.ts'
import type { Json } from '../../../core/json.ts'
import { asAppError } from '../../../domain/access/index.ts'
import type { ApiCall, ApiReply, AuthenticatedRequest } from '../../http/authenticated-api.ts'
import { retryAfter } from '../../http/replies.ts'
import { A2aError, errorBody, httpStatusOf } from './errors.ts'
import { perform } from './methods.ts'
import { assertVersion, idOf, readRpc } from './request.ts'

/** Answers a JSON-RPC request to an agent. Errors of a request that was read have its id. */
export async function answerRpc(
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
