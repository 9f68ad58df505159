/** Every platform action as a route of its own, with the names and JSON Schema that MCP clients and platform tools have. */
import { AppError, errorCodes, notFound, type ErrorCode, type Issue } from '../../../core/errors.ts'
import { isJsonObject, type JsonObject } from '../../../core/json.ts'
import { z } from 'zod'
import { actionName } from './action-names.ts'
import { route } from './route.ts'

/** Throws the refusal that a platform action returned as a result. */
function refusal(result: unknown): AppError {
  const given = isJsonObject(result) && isJsonObject(result['error']) ? result['error'] : {}
  const code = String(given['code']).toUpperCase()
  const issues = Array.isArray(given['issues']) ? (given['issues'] as unknown as Issue[]) : undefined
  const known = (errorCodes as readonly string[]).includes(code) ? (code as ErrorCode) : 'INVALID'
  return new AppError(known, String(given['message']), issues ? { issues } : {})
}

export const actionRoutes = [
  route({
    method: 'POST',
    path: '/api/v1/actions/{action}',
    operationId: 'runAction',
    tag: 'Actions',
    summary: 'Runs a platform action with the arguments in the body. Permission: that of the action.',
    body: z.record(z.string(), z.unknown()),
    answers: { 200: { description: 'The result of the action.' } },
    async run({ request: { ctx }, params, body }) {
      const { actions } = ctx
      const name = actionName(actions, params['action']!)
      if (!actions.find(name)) throw notFound('action', name)
      const result = await actions.run(ctx, name, body as JsonObject)
      if (result.isError) throw refusal(result.structuredContent)
      return { status: 200, body: result.structuredContent ?? null }
    },
  }),
]
