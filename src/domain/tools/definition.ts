/** The checks at save: what a tool's input must be, by kind, with every fault told by its path. */
import { z } from 'zod'
import { check, jsonObject, text, whole } from '../../core/check.ts'
import { invalid, type Issue } from '../../core/errors.ts'
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import { compileSchema } from '../../core/json-schema.ts'
import { gateInput } from './gate.ts'
import { checkHttpConfig, type HttpToolConfig } from './kinds/http.ts'
import { isToolName } from './names.ts'
import type { ToolDefinition } from './tool.ts'

const presetLimits = [64 * 1024, 20] as const
const schemaInput = z.custom<JsonObject>((value) => isJsonObject(value), 'must be a JSON Schema object')

const annotations = z.strictObject({
  title: text(200).nullish(),
  readOnlyHint: z.boolean().nullish(),
  destructiveHint: z.boolean().nullish(),
  idempotentHint: z.boolean().nullish(),
  openWorldHint: z.boolean().nullish(),
})

const httpConfig = z.strictObject({
  url: text(4000, 1),
  method: z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']).nullish(),
  headers: z.record(z.string().max(200), z.string().max(8000)).nullish(),
  inputSchema: schemaInput,
})

const config = z
  .strictObject({
    http: httpConfig.nullish(),
    client: z.strictObject({ inputSchema: schemaInput }).nullish(),
  })
  .refine(
    (value) => [value.http, value.client].filter(Boolean).length === 1,
    'give exactly one kind of config',
  )

/** The part of a tool that can be written. */
const shape = z.object({
  name: text(64, 1).refine(isToolName, 'must match ^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$'),
  title: text(200).nullish(),
  description: text(8000).nullish(),
  presetParameters: jsonObject(...presetLimits).nullish(),
  outputSchema: schemaInput.nullish(),
  annotations: annotations.nullish(),
  timeoutMs: whole(1, 600_000).nullish(),
  idempotent: z.boolean().nullish(),
  gate: gateInput.nullish(),
  config,
})

export type ToolInput = z.input<typeof shape>

/** The definition that an input describes, or INVALID naming every fault. Nothing is fetched or looked up. */
export function checkDefinition(input: unknown): ToolDefinition {
  const given = check(shape, input)
  const kind = given.config.http ? 'http' : 'client'
  const inputSchema = (given.config.http ?? given.config.client)!.inputSchema
  const definition: ToolDefinition = {
    name: given.name,
    kind,
    title: given.title ?? null,
    description: given.description ?? null,
    inputSchema,
    outputSchema: given.outputSchema ?? null,
    annotations: withoutNulls(given.annotations ?? {}),
    presetParameters: given.presetParameters ?? {},
    timeoutMs: given.timeoutMs ?? null,
    idempotent: given.idempotent ?? null,
    gate: given.gate ?? null,
    http: given.config.http ? httpOf(given.config.http) : null,
  }
  const issues = faultsOf(definition)
  if (issues.length > 0) throw invalid(issues)
  return definition
}

function httpOf(given: z.output<typeof httpConfig>): HttpToolConfig {
  return { url: given.url, method: given.method ?? 'POST', headers: given.headers ?? {} }
}

function faultsOf(definition: ToolDefinition): Issue[] {
  const root = ['input', 'config', definition.kind]
  const schemaPath = [...root, 'inputSchema']
  const issues: Issue[] = []
  const schema = compileSchema(definition.inputSchema, schemaPath)
  if (!schema.ok) issues.push(schema.issue)
  else if (definition.inputSchema['type'] !== undefined && definition.inputSchema['type'] !== 'object')
    issues.push({
      path: [...schemaPath, 'type'],
      message: 'must be "object": the arguments of a tool are an object',
    })
  else issues.push(...presetFaults(definition, schema.validate))
  if (definition.outputSchema) {
    const output = compileSchema(definition.outputSchema, ['input', 'outputSchema'])
    if (!output.ok) issues.push(output.issue)
  }
  if (definition.http) {
    const http = checkHttpConfig(definition.http, definition.inputSchema)
    issues.push(...http.map((issue) => ({ ...issue, path: [...root, ...issue.path] })))
  }
  return issues
}

/** A preset of a wrong shape would fail every call: better now than then. */
function presetFaults(definition: ToolDefinition, validate: (value: unknown) => Issue[]): Issue[] {
  const keys = Object.keys(definition.presetParameters)
  if (keys.length === 0) return []
  return validate(definition.presetParameters)
    .filter(
      (issue) =>
        issue.path.length > 0 &&
        keys.includes(issue.path[0]!) &&
        !(issue.path.length === 1 && issue.message === 'is required'),
    )
    .map((issue) => ({ ...issue, path: ['input', 'presetParameters', ...issue.path] }))
}

function withoutNulls<T extends object>(value: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(value).filter(([, v]) => v !== null && v !== undefined)) as never
}
