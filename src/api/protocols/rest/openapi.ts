/**
 * The OpenAPI 3.1 document, printed from the routes, their parameters, their shapes by name, and the JSON Schemas of
 * the platform actions.
 */
import { z } from 'zod'
import * as runs from './shapes.ts'
import * as shapes from './shapes.ts'
import { maxWaitSeconds } from '../segments/requests.ts'
import type { HeaderName, Route, RouteAnswer } from './route.ts'
import type { JsonObject } from '../../../core/json.ts'
import type { PlatformAction, PlatformActions } from '../../../domain/access/index.ts'
import { namesOf } from './actions.ts'
import { error } from './shapes.ts'

/** What is sent to this API. */
const requests = {
  CreateTool: shapes.createTool,
  UpdateTool: shapes.updateTool,
  CallTool: shapes.callTool,
  CreateAgent: shapes.createAgent,
  UpdateAgent: shapes.updateAgent,
  Generate: runs.generate,
  ToolOutputs: runs.toolOutputs,
}

/** What it answers. */
const answerShapes = {
  Tool: shapes.tool,
  ToolList: shapes.toolList,
  ToolCall: shapes.toolCall,
  ToolOutput: shapes.toolOutput,
  ToolCallError: shapes.callError,
  Agent: shapes.agent,
  AgentList: shapes.agentList,
  Approval: runs.approval,
  AskedCall: runs.askedCall,
  Generation: runs.generation,
  StartedGeneration: runs.startedGeneration,
  StreamedEvent: runs.streamedEvent,
  ErrorDetails: runs.errorDetails,
  Error: runs.error,
}

const place = '#/components/schemas/'
const namesOfShapes = new Map<z.ZodType, string>(
  Object.entries({ ...requests, ...answerShapes }).map(([name, shape]) => [shape, name]),
)

/** A reference to the schema of a shape, which must have a name. */
function refOf(shape: z.ZodType): { $ref: string } {
  const name = namesOfShapes.get(shape)
  if (name === undefined) throw new Error('A shape of the REST API has no name: add it to openapi.ts.')
  return { $ref: `${place}${name}` }
}

/** The JSON Schemas of all shapes by name: requests as they are sent, answers as they are shown. */
function namedSchemas(): Record<string, object> {
  return { ...schemasOf(requests, 'input'), ...schemasOf(answerShapes, 'output') }
}

function schemasOf(shapesByName: Record<string, z.ZodType>, io: 'input' | 'output'): Record<string, object> {
  const registry = z.registry<{ id: string }>()
  for (const [id, shape] of Object.entries(shapesByName)) registry.add(shape, { id })
  const { schemas } = z.toJSONSchema(registry, { io, unrepresentable: 'any', uri: (id) => `${place}${id}` })
  return Object.fromEntries(
    Object.entries(schemas).map(([name, { $schema: _schema, $id: _id, ...schema }]) => [name, schema]),
  )
}

/** By name; ids are made up. */
const examples: Record<string, string> = {
  tool_id: 'tool_000000000000000000000042',
  tool_call_id: 'call_000000000000000000000042',
  agent_id: 'agt_000000000000000000000042',
  generation_id: 'gen_000000000000000000000042',
  project_id: 'proj_000000000000000000000042',
  limit: '20',
  after: 'MTIzNDU2',
}

const headers: Record<HeaderName, object> = {
  Prefer: {
    description: `wait=N: how many seconds the request is held at most, 0 to ${maxWaitSeconds}.`,
    schema: { type: 'string' },
    example: 'wait=20',
  },
  'Idempotency-Key': {
    description: 'A repeat with the same key joins what the first request began.',
    schema: { type: 'string', minLength: 1, maxLength: 200 },
    example: 'order-1042',
  },
  'Gatehouse-Join': {
    description: 'Whether an equal request without a key joins the run of the first one. Default: on.',
    schema: { type: 'string', enum: ['on', 'off'] },
    example: 'off',
  },
  'Last-Event-ID': {
    description: 'The cursor of the last event that the client has; only for a stream.',
    schema: { type: 'string' },
    example: 'MTIzNDU2',
  },
}

/** Those of the path, the query, and the headers that it reads. */
function parametersOf(route: Route): object[] {
  const names = [...route.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!)
  const query = route.query
    ? (z.toJSONSchema(route.query, { io: 'input' }).properties as Record<string, { description?: string }>)
    : {}
  return [
    ...names.map((name) => ({
      name,
      in: 'path',
      required: true,
      schema: { type: 'string' },
      example: exampleOf(name),
    })),
    ...Object.entries(query).map(([name, schema]) => ({
      name,
      in: 'query',
      schema,
      example: exampleOf(name),
    })),
    ...(route.headers ?? []).map((name) => ({ name, in: 'header', ...headers[name] })),
  ]
}

function exampleOf(name: string): string {
  const example = examples[name]
  if (example === undefined) throw new Error(`The parameter ${name} has no example.`)
  return example
}

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
        'listed is refused. Ids of other projects are 404. The key of a program names the person for whom it acts in the ' +
        'header Gatehouse-Acts-For.',
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
