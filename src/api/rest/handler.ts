/** SOAT's REST API under /api/v1: finds the route, checks what was sent, and runs the operation. */
import type { ServerResponse } from 'node:http'
import { z } from 'zod'
import { AppError } from '../../core/errors.ts'
import type { KeyedApi, KeyedReply, KeyedRequest } from '../keyed.ts'
import { errorBody } from './errors.ts'
import { checked, type Route } from './route.ts'
import { routes } from './routes.ts'

const prefix = '/api/v1'
const noQuery = z.strictObject({})

export const restApi: KeyedApi = {
  resource: prefix,
  serves: (path) => path === prefix || path.startsWith(`${prefix}/`),
  serve,
  errorBody,
}

interface Found {
  route: Route
  params: Record<string, string>
}

async function serve(request: KeyedRequest, response: ServerResponse): Promise<KeyedReply | null> {
  const found = atPath(request.path)
  if (found.length === 0)
    throw new AppError('NOT_FOUND', 'There is nothing at this path: /api/v1/openapi.json lists all paths.')
  const match = found.find(({ route }) => route.method === request.method)
  if (!match) return notAllowed(found)
  const { route, params } = match
  const query = checked(route.query ?? noQuery, Object.fromEntries(request.query))
  const body = route.body ? checked(route.body, (await request.body()) ?? {}) : undefined
  return route.run({ request, response, params, body, query })
}

function notAllowed(found: readonly Found[]): KeyedReply {
  const body = errorBody(new AppError('INVALID', 'Method not allowed.'))
  return { status: 405, body, headers: { allow: found.map(({ route }) => route.method).join(', ') } }
}

/** The routes of a path. Nothing is decoded: ids and names have no character that needs it. */
function atPath(path: string): Found[] {
  const sent = path.split('/')
  return compiled.flatMap(({ route, parts }) => {
    if (parts.length !== sent.length) return []
    const params: Record<string, string> = {}
    for (const [i, part] of parts.entries()) {
      const name = /^\{(\w+)\}$/.exec(part)?.[1]
      if (name ? sent[i] === '' : part !== sent[i]) return []
      if (name) params[name] = sent[i]!
    }
    return [{ route, params }]
  })
}

const compiled = routes.map((route) => ({ route, parts: route.path.split('/') }))
