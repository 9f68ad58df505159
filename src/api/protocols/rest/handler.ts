/** SOAT's REST API under /api/v1: finds the route, checks what was sent, and runs the operation. */
import { z } from 'zod'
import { check } from '../../../core/check.ts'
import { AppError } from '../../../core/errors.ts'
import type { AuthenticatedApi, ApiRoute } from '../../http/authenticated-api.ts'
import { errorBody } from './errors.ts'
import type { Route } from './route.ts'
import { routes } from './routes.ts'

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
