/** The parameters of a route in the OpenAPI document, each with an example. */
import { z } from 'zod'
import { maxWaitSeconds } from '../segments/patience.ts'
import type { HeaderName, Route } from './route.ts'

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
export function parametersOf(route: Route): object[] {
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
