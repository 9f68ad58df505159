/** All routes of this API; the OpenAPI document is printed from them. */
import { actionRoutes } from './actions.ts'
import { agentRoutes } from './agents.ts'
import { callRoutes } from './calls.ts'
import { generationRoutes } from './generations.ts'
import { openApiOf } from './openapi.ts'
import { route, type Route } from './route.ts'
import { toolRoutes } from './tools.ts'

/** The document describes the others and itself. */
const documentRoute = route({
  method: 'GET',
  path: '/api/v1/openapi.json',
  operationId: 'getOpenApi',
  tag: 'OpenAPI',
  summary: 'This document.',
  answers: { 200: { description: 'The OpenAPI 3.1 document.' } },
  run: async ({ request: { ctx } }) => ({ status: 200, body: openApiOf(routes, ctx.actions) }),
})

export const routes: readonly Route[] = [
  ...toolRoutes,
  ...callRoutes,
  ...agentRoutes,
  ...generationRoutes,
  ...actionRoutes,
  documentRoute,
]
