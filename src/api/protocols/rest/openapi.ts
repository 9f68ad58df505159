/** The OpenAPI 3.1 document, printed from the routes, their shapes, and the JSON Schemas of the platform actions. */
import { z } from 'zod'
import type { JsonObject } from '../../../core/json.ts'
import type { PlatformAction, PlatformActions } from '../../../domain/access/index.ts'
import { namesOf } from './action-names.ts'
import type { Route } from './route.ts'
import { error } from './shapes.ts'

type Io = 'input' | 'output'

/** The JSON Schema of a shape: as it is sent, or as it is shown. */
function schemaOf(shape: z.ZodType, io: Io): object {
  const { $schema: _, ...schema } = z.toJSONSchema(shape, { io, unrepresentable: 'any' })
  return schema
}

const json = (schema: object) => ({ 'application/json': { schema } })
const failure = { $ref: '#/components/responses/Error' }

/** The document. It lists each platform action as a path of its own. */
export function openApiOf(routes: readonly Route[], actions: PlatformActions): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const route of routes) {
    if (route.path.endsWith('/{action}')) continue
    const operations = (paths[route.path] ??= {})
    operations[route.method.toLowerCase()] = operationOf(route)
  }
  for (const action of actions.list()) paths[`/api/v1/actions/${action.name}`] = { post: actionOf(action) }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Gatehouse',
      version: '1',
      description:
        'Tools, agents and their runs in the names of SOAT’s REST API, and every platform action. A field that is not ' +
        'listed is refused. Ids of other projects are 404.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ key: [] }],
    paths,
    components: {
      securitySchemes: { key: { type: 'http', scheme: 'bearer', description: 'An API key or a token.' } },
      responses: {
        Error: { description: 'Why nothing was done.', content: json(schemaOf(error, 'output')) },
      },
    },
  }
}

function operationOf(route: Route): object {
  const names = [...route.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!)
  const query = route.query
    ? (schemaOf(route.query, 'input') as { properties: Record<string, object> })
    : null
  const parameters = [
    ...names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
    ...Object.entries(query?.properties ?? {}).map(([name, schema]) => ({ name, in: 'query', schema })),
  ]
  const answers = Object.entries(route.answers).map(([status, { description, schema }]) => {
    const content = status === '204' ? {} : { content: json(schema ? schemaOf(schema, 'output') : {}) }
    return [status, { description, ...content }]
  })
  return {
    operationId: route.operationId,
    tags: [route.tag],
    summary: route.summary,
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(route.body ? { requestBody: { content: json(schemaOf(route.body, 'input')) } } : {}),
    responses: { ...Object.fromEntries(answers), default: failure },
  }
}

function actionOf({ name, description, inputSchema }: PlatformAction): object {
  const others = namesOf(name).slice(1)
  const also = others.length > 0 ? ` Also as ${others.join(', ')}.` : ''
  return {
    operationId: `action-${name}`,
    tags: ['Actions'],
    summary: description + also,
    requestBody: { content: json(inputSchema as JsonObject) },
    responses: {
      200: { description: 'The result of the action.', content: json({ type: 'object' }) },
      default: failure,
    },
  }
}
