/** Runs one prepared call of a server-run tool, whatever its kind. The only thing it writes is the outside world. */
import { errorResult, type ToolResult } from '../../core/content.ts'
import type { JsonObject } from '../../core/json.ts'
import { compileSchema } from '../../core/json-schema.ts'
import type { House } from '../access/index.ts'
import { downloadUrl, type Attachment } from '../files/index.ts'
import { fillSecrets, openSecrets, secretNames } from '../secrets/index.ts'
import { withLinks } from './attached.ts'
import { runHttpTool } from './kinds/http.ts'
import type { ToolDefinition } from './tool.ts'

export interface Run {
  projectId: string
  definition: ToolDefinition
  /** Presets merged in. */
  merged: JsonObject
  /** Files that came with the call: an http tool gets links to them. */
  attachments: readonly Attachment[] | null
  /** The tool call's id: the outside world hears it as Idempotency-Key. */
  callId: string
  signal: AbortSignal
}

/** Runs the call to its end or its timeout. Never throws: a failure of the tool is a result with `isError`. */
export async function runTool(house: House, run: Run): Promise<ToolResult> {
  const { definition } = run
  if (definition.http === null)
    return errorResult('not_runnable', 'This tool runs in the calling application, not here.')
  const headers = await fillHeaders(house, run)
  if ('missing' in headers)
    return errorResult('secret_missing', `The secret ${headers.missing} that this tool needs does not exist.`)
  const { result } = await runHttpTool({
    config: { ...definition.http, headers: headers.filled },
    args: withLinks(run.merged, run.attachments, (fileId) => downloadUrl(house, fileId)),
    egress: house.egress,
    idempotencyKey: run.callId,
    timeoutMs: timeoutOf(house, definition),
    maxBytes: house.limits.maxResponseBytes,
    signal: run.signal,
  })
  return checkOutput(definition, result)
}

/** Time for one call of the tool, in milliseconds. */
export function timeoutOf(house: Pick<House, 'limits'>, definition: ToolDefinition): number {
  return definition.timeoutMs ?? house.limits.toolTimeoutMs
}

async function fillHeaders(
  house: House,
  run: Run,
): Promise<{ filled: Record<string, string> } | { missing: string }> {
  const given = run.definition.http!.headers
  const secrets = await openSecrets(house, run.projectId, Object.values(given).flatMap(secretNames))
  const filled: Record<string, string> = {}
  for (const [name, template] of Object.entries(given)) {
    const value = fillSecrets(template, secrets)
    if ('missing' in value) return value
    filled[name] = value.text
  }
  return { filled }
}

/** A result that breaks the tool's own promise is an error, so that nobody builds on it. */
export function checkOutput(definition: ToolDefinition, result: ToolResult): ToolResult {
  if (definition.outputSchema === null || result.isError) return result
  const schema = compileSchema(definition.outputSchema)
  const issues = schema.ok ? schema.validate(result.structuredContent ?? null) : [schema.issue]
  if (issues.length === 0) return result
  const where = issues.map((issue) => `${['output', ...issue.path].join('.')} ${issue.message}`).join('; ')
  return errorResult('output_schema_violation', `The tool's output does not fit its outputSchema: ${where}`)
}

/** The code of a failed result, for lists and filters. */
export function codeOf(result: ToolResult): string | null {
  const error = (result.structuredContent as { error?: { code?: unknown } } | undefined)?.error
  return result.isError && typeof error?.code === 'string' ? error.code.slice(0, 100) : null
}

/** What the model or caller is told when nobody can know whether the call took effect. */
export function unknownResult(): ToolResult {
  return errorResult(
    'outcome_unknown',
    'The server stopped while this call was under way, so its outcome is unknown: it may have taken effect. ' +
      'It was not repeated. Check the other side before you try again.',
  )
}
