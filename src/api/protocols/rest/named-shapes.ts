/** The names of the shapes under `components` of the OpenAPI document. */
import { z } from 'zod'
import * as runs from './run-shapes.ts'
import * as shapes from './shapes.ts'

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
const answers = {
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
const names = new Map<z.ZodType, string>(
  Object.entries({ ...requests, ...answers }).map(([name, shape]) => [shape, name]),
)

/** A reference to the schema of a shape, which must have a name. */
export function refOf(shape: z.ZodType): { $ref: string } {
  const name = names.get(shape)
  if (name === undefined) throw new Error('A shape of the REST API has no name: add it to named-shapes.ts.')
  return { $ref: `${place}${name}` }
}

/** The JSON Schemas of all shapes by name: requests as they are sent, answers as they are shown. */
export function namedSchemas(): Record<string, object> {
  return { ...schemasOf(requests, 'input'), ...schemasOf(answers, 'output') }
}

function schemasOf(shapesByName: Record<string, z.ZodType>, io: 'input' | 'output'): Record<string, object> {
  const registry = z.registry<{ id: string }>()
  for (const [id, shape] of Object.entries(shapesByName)) registry.add(shape, { id })
  const { schemas } = z.toJSONSchema(registry, { io, unrepresentable: 'any', uri: (id) => `${place}${id}` })
  return Object.fromEntries(
    Object.entries(schemas).map(([name, { $schema: _schema, $id: _id, ...schema }]) => [name, schema]),
  )
}
