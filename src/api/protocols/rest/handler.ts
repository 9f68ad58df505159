/** SOAT's REST API under /api/v1: finds the route among all of them, checks what was sent, and runs the operation. */
import { actionRoutes } from './actions.ts'
import { agentRoutes } from './agents.ts'
import { callRoutes } from './calls.ts'
import { generationRoutes } from './generations.ts'
import { openApiOf } from './openapi.ts'
import { defineRoute, type Route } from './route.ts'
import { toolRoutes } from './tools.ts'
import { z } from 'zod'
import { check } from '../../../core/check.ts'
import { AppError } from '../../../core/errors.ts'
import type { AuthenticatedApi, ApiRoute } from '../../http/authenticated-api.ts'
import { errorBody } from './errors.ts'

/** The document describes the others and itself. */
const documentRoute = defineRoute({
  method: 'GET',
  path: '/api/v1/openapi.json',
  operationId: 'getOpenApi',
  tag: 'OpenAPI',
  summary: 'This document.',
  answers: { 200: { description: 'The OpenAPI 3.1 document.' } },
  run: async ({ request: { ctx } }) => ({ status: 200, body: openApiOf(routes, ctx.actions) }),
})

/** All routes of this API; the OpenAPI document is printed from them. */
export const routes: readonly Route[] = [
  ...toolRoutes,
  ...callRoutes,
  ...agentRoutes,
  ...generationRoutes,
  ...actionRoutes,
  documentRoute,
]

const noQuery = z.strictObject({})

export const restApi: AuthenticatedApi = {
  resource: '/api/v1',
  routes: routes.map(withShapes),
  errorBody,
  missing: () =>
    new AppError('NOT_FOUND', 'There is nothing at this path: /api/v1/openapi.json lists all paths.'),
}

function withShapes({ method, path, ...route }: Route): ApiRoute {
  return {
    method,
    path,
    async run(call) {
      const query = check(route.query ?? noQuery, Object.fromEntries(call.request.query), [])
      const body = route.body ? check(route.body, (await call.request.body()) ?? {}, []) : undefined
      return route.run({ ...call, body, query })
    },
  }
}
