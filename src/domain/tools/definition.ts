/** Validates the input for a tool when it is saved, by kind; every fault has its path. */
import { z } from 'zod'
import { check, jsonObject, text, whole } from '../../core/check.ts'
import { invalid } from '../../core/errors.ts'
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import type { Services } from '../access/index.ts'
import { faultsOf } from './definition-faults.ts'
import { gateInput } from '../gates/index.ts'
import type { HttpToolConfig } from './kinds/http.ts'
import { checkMcpConfig } from './kinds/mcp-check.ts'
import { isToolName } from './names.ts'
import {
  inputPhases,
  taskDefaults,
  taskModes,
  toolKinds,
  type TaskPolicy,
  type ToolDefinition,
} from './tool.ts'

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
  headers: z
    .custom<JsonObject>()
    .pipe(z.record(z.string().max(200), z.string().max(8000)))
    .nullish(),
  inputSchema: schemaInput,
})

const config = z
  .strictObject({
    http: httpConfig.nullish(),
    client: z.strictObject({ inputSchema: schemaInput }).nullish(),
    mcp: z.looseObject({}).nullish(),
    platform: z.strictObject({ actions: z.array(text(100, 1)).min(1).max(200) }).nullish(),
  })
  .refine((value) => Object.values(value).filter(Boolean).length === 1, 'give exactly one kind of config')

/** The fields of a tool that can be written. */
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
  agentsOnly: z.boolean().nullish(),
  task: z.object({ mode: z.enum(taskModes).nullish(), inputPhase: z.enum(inputPhases).nullish() }).nullish(),
  config,
})

export type ToolInput = z.input<typeof shape>

/** What the validation needs: the platform actions, and the egress rules for URLs. */
export type Checker = Pick<Services, 'actions' | 'egress'>

/**
 * Returns the definition that an input describes. Throws INVALID with every fault. Reads no network and no database.
 * `saved` is the definition that it replaces.
 */
export function checkDefinition(
  input: unknown,
  services: Checker,
  projectId: string,
  saved: ToolDefinition | null = null,
): ToolDefinition {
  const given = check(shape, input)
  const { http, client, mcp, platform } = given.config
  const kind = toolKinds.find((one) => given.config[one])!
  const inputSchema = (http ?? client)?.inputSchema ?? { type: 'object' }
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
    ...(given.agentsOnly ? { agentsOnly: true } : {}),
    ...(given.task ? { task: { ...taskDefaults, ...withoutNulls(given.task) } as TaskPolicy } : {}),
    http: http ? httpOf(http) : null,
    mcp: mcp ? checkMcpConfig(services, mcp) : null,
    platform: platform ? { actions: [...new Set(platform.actions)] } : null,
  }
  const issues = faultsOf(definition, services.actions, projectId, saved)
  if (issues.length > 0) throw invalid(issues)
  return definition
}

function httpOf(given: z.output<typeof httpConfig>): HttpToolConfig {
  return { url: given.url, method: given.method ?? 'POST', headers: given.headers ?? {} }
}

function withoutNulls<T extends object>(value: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(value).filter(([, v]) => v !== null && v !== undefined)) as {
    [K in keyof T]?: NonNullable<T[K]>
  }
}
