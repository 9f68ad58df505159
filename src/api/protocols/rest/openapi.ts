/** The OpenAPI 3.1 document, printed from the routes, their shapes, and the JSON Schemas of the platform actions. */
import { z } from 'zod'
import type { JsonObject } from '../../../core/json.ts'
import type { PlatformAction, PlatformActions } from '../../../domain/access/index.ts'
import { namesOf } from './action-names.ts'
import { namedSchemas, refOf } from './named-shapes.ts'
import { parametersOf } from './parameters.ts'
import type { Route, RouteAnswer } from './route.ts'
import { error } from './run-shapes.ts'

const json = (schema: object) => ({ 'application/json': { schema } })
const failure = { $ref: '#/components/responses/Error' }
const failures = { '4XX': failure, default: failure }
/** What the operations of a tag are about. */
const tags: Record<Route['tag'], string> = {
  Tools: 'Tools, and direct calls of them.',
  Agents: 'Agents and their runs.',
  Actions: 'Every platform action, with its arguments as the body.',
  OpenAPI: 'This document.',
}
const ownDocument = 'OpenApiDocument'

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
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    security: [{ key: [] }],
    paths,
    components: {
      securitySchemes: { key: { type: 'http', scheme: 'bearer', description: 'An API key or a token.' } },
      schemas: {
        ...namedSchemas(),
        ...Object.fromEntries(actions.list().map((action) => [resultName(action), action.outputSchema])),
        [ownDocument]: z.toJSONSchema(document),
      },
      responses: { Error: { description: 'Why nothing was done.', content: json(refOf(error)) } },
    },
  }
}

const document = z.object({
  openapi: z.string(),
  info: z.record(z.string(), z.unknown()),
  servers: z.array(z.object({ url: z.string() })),
  tags: z.array(z.object({ name: z.string(), description: z.string() })),
  security: z.array(z.record(z.string(), z.unknown())),
  paths: z.record(z.string(), z.unknown()),
  components: z.record(z.string(), z.unknown()),
})

function operationOf(route: Route): object {
  const parameters = parametersOf(route)
  const answers = Object.entries(route.answers).map(([status, answer]) => [
    status,
    { description: answer.description, ...(status === '204' ? {} : { content: contentOf(answer) }) },
  ])
  return {
    operationId: route.operationId,
    tags: [route.tag],
    ...textOf(route.summary),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(route.body
      ? { requestBody: { required: !route.body.safeParse({}).success, content: json(refOf(route.body)) } }
      : {}),
    responses: { ...Object.fromEntries(answers), ...failures },
  }
}

/** The first sentence of a text for lists of operations, and all of it. */
function textOf(text: string): { summary: string; description: string } {
  return { summary: /^.*?\.(?= [A-Z]|$)/s.exec(text)?.[0] ?? text, description: text }
}

function contentOf({ schema, events }: RouteAnswer): object {
  const body = json(schema ? refOf(schema) : { $ref: `#/components/schemas/${ownDocument}` })
  if (!events) return body
  // OpenAPI 3.1 has no word for the events of a stream: this is the schema of all of them, parsed.
  const contentSchema = { type: 'array', items: refOf(events) }
  const stream = { type: 'string', contentMediaType: 'text/event-stream', contentSchema }
  return { ...body, 'text/event-stream': { schema: stream } }
}

const resultName = ({ name }: PlatformAction) =>
  `${name.replace(/(^|-)(\w)/g, (_all, _dash, letter: string) => letter.toUpperCase())}Result`

function actionOf(action: PlatformAction): object {
  const { name, description, inputSchema } = action
  const others = namesOf(name).slice(1)
  const also = others.length > 0 ? ` Also as ${others.join(', ')}.` : ''
  const result = json({ $ref: `#/components/schemas/${resultName(action)}` })
  return {
    operationId: `action-${name}`,
    tags: ['Actions'],
    ...textOf(description + also),
    requestBody: { content: json(inputSchema as JsonObject) },
    responses: {
      200: { description: 'The result of the action.', content: result },
      ...failures,
    },
  }
}
