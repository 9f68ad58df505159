/**
 * Every platform action as a route of its own, with the JSON Schema that MCP clients and platform tools have, and the
 * names of SOAT.
 */
import type { PlatformActions } from '../../../domain/access/index.ts'
import { AppError, errorCodes, notFound, type ErrorCode, type Issue } from '../../../core/errors.ts'
import { isJsonObject, type JsonObject } from '../../../core/json.ts'
import { z } from 'zod'
import { defineRoute } from './route.ts'

/** SOAT's names that no rule gives. */
const irregular: Record<string, string> = {
  'create-agent-generation': 'start-generation',
  'submit-agent-tool-outputs': 'submit-tool-outputs',
}

/** Our name of an action: `get-tool` is `tool`, `list-tools` is `tools`. An unknown name is returned unchanged. */
export function actionName(actions: PlatformActions, name: string): string {
  if (actions.find(name)) return name
  const ours = irregular[name] ?? name.replace(/^(get|list)-/, '')
  return actions.find(ours) ? ours : name
}

/** Every name that SOAT's clients may send for an action, its own first. */
export function namesOf(name: string): string[] {
  const prefix = name.endsWith('s') ? 'list' : 'get'
  const others = Object.keys(irregular).filter((one) => irregular[one] === name)
  const isRead = !/^(create|update|delete|start|submit|cancel|call)-/.test(name)
  return [name, ...(isRead ? [`${prefix}-${name}`] : []), ...others]
}

/** Throws the refusal that a platform action returned as a result. */
function refusal(result: unknown): AppError {
  const given = isJsonObject(result) && isJsonObject(result['error']) ? result['error'] : {}
  const code = String(given['code']).toUpperCase()
  const issues = Array.isArray(given['issues']) ? (given['issues'] as unknown as Issue[]) : undefined
  const known = (errorCodes as readonly string[]).includes(code) ? (code as ErrorCode) : 'INVALID'
  return new AppError(known, String(given['message']), issues ? { issues } : {})
}

export const actionRoutes = [
  defineRoute({
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
