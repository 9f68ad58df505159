/** Runs one prepared call of a server-run tool of any kind. Writes nothing to the database itself. */
import { errorResult, type ToolResult } from '../../core/content.ts'
import type { JsonObject } from '../../core/json.ts'
import { compileSchema } from '../../core/json-schema.ts'
import { cleanResult, scrubber } from '../../core/scrub.ts'
import { principalById, type Services, type Requester } from '../access/index.ts'
import { downloadUrl, type Attachment } from '../files/index.ts'
import { fillSecrets, openSecrets, secretNames, SecretRefusedError } from '../secrets/index.ts'
import type { InputRequired, UpstreamRow } from '../upstream/index.ts'
import { withLinks } from './attached.ts'
import type { Callable } from './callable.ts'
import { originOf, runHttpTool, type HttpToolConfig } from './kinds/http.ts'
import { runMcpTool, type CallerChannel } from './kinds/mcp.ts'
import { runPlatformTool } from './kinds/platform.ts'
import { maskedPaths, valuesAt } from './masking.ts'
import { finishedOf, known, type Finished, type SendOutcome } from './outcome.ts'
import { isIdempotent, type CallDefinition } from './tool.ts'

export interface Run {
  projectId: string
  callable: Callable
  /** The arguments with presets merged in. */
  merged: JsonObject
  /** Files attached to the call: an http tool gets links to them. */
  attachments: readonly Attachment[] | null
  /** The tool call's id, sent as Idempotency-Key. */
  callId: string
  /** The requester's id, and the rights of a person who used a token. */
  requestedBy: string
  requester: Requester | null
  signal: AbortSignal
  /** The row of an mcp tool's upstream, if it was read with the commit of the call. */
  upstream?: UpstreamRow | null | undefined
  /**
   * Called just before the call is sent; nothing is sent when it returns false. It must return true only while this
   * process certainly holds the row of the call: otherwise another process may have reported the call UNKNOWN, and a
   * person may have run it again.
   */
  mayStart(): boolean
}

/**
 * Runs the call to its end or its timeout. A failure of the tool is a result with `isError`; `outcome` says whether the
 * effect of the call can be known. Throws only before anything is sent: WithheldError when `mayStart` returned false,
 * and errors of the database.
 */
export async function runTool(services: Services, run: Run): Promise<Finished> {
  const ran = await runToolFor(services, run, null)
  return 'result' in ran ? ran : known(notAsked)
}

/** Like `runTool`, for a caller that receives progress and can supply input that an upstream requests. */
export async function runToolFor(services: Services, run: Run, caller: CallerChannel | null): Promise<Ran> {
  let withheld = false
  const mayStart = () => {
    const may = run.mayStart()
    withheld = !may
    return may
  }
  const ran = await runGuarded(services, { ...run, mayStart }, caller)
  if (withheld) throw new WithheldError(run.callId)
  return withoutMasked(run, ran)
}

/** Masks values in the result that the arguments mask: a tool may echo them. */
function withoutMasked({ callable, merged }: Run, ran: Ran): Ran {
  const values = valuesAt(merged, maskedPaths(callable.inputSchema, merged))
  return 'result' in ran ? { ...ran, result: cleanResult(ran.result, scrubber(values)) } : ran
}

/** The call was not sent, because another worker may hold its row now. */
export class WithheldError extends Error {
  constructor(callId: string) {
    super(`The call ${callId} was not sent: its lease may have ended.`)
    this.name = 'WithheldError'
  }
}

async function runGuarded(services: Services, run: Run, caller: CallerChannel | null): Promise<Ran> {
  const { callable } = run
  if (callable.mcp && callable.action !== null) {
    const ran = await runMcpTool(services, {
      toolId: callable.id,
      projectId: run.projectId,
      action: callable.action,
      args: run.merged,
      callId: run.callId,
      timeoutMs: timeoutOf(services, callable),
      signal: run.signal,
      mayStart: run.mayStart,
      caller,
      row: run.upstream ?? null,
    })
    return 'result' in ran ? finishedOf(callable, ran) : ran
  }
  return finishedOf(callable, await runHere(services, run))
}

type Ran = Finished | { inputRequired: InputRequired }

async function runHere(services: Services, run: Run): Promise<SendOutcome> {
  const { callable } = run
  if (callable.http) {
    const { result, lost } = await runHttp(services, run, callable.http)
    return { result: checkOutput(callable, result), lost }
  }
  if (callable.platform && callable.action !== null)
    return runPlatformTool(services, {
      action: callable.action,
      args: run.merged,
      requestedBy: run.requestedBy,
      requester: run.requester,
      callId: run.callId,
      timeoutMs: timeoutOf(services, callable),
      mayStart: run.mayStart,
    })
  return unsent('not_runnable', 'This tool runs in the calling application, not here.')
}

function unsent(code: string, message: string): SendOutcome {
  return { result: errorResult(code, message), lost: false }
}

/** The result of a call whose upstream requests input that nobody can supply. */
const notAsked = errorResult(
  'input_required',
  'The server requests input from its caller, and this caller cannot supply any.',
)

async function runHttp(services: Services, run: Run, config: HttpToolConfig): Promise<SendOutcome> {
  const filled = await withSecrets(services, run.projectId, config)
  if ('refused' in filled) return unsent('secret_refused', filled.refused)
  if ('missing' in filled)
    return unsent('secret_missing', `The secret ${filled.missing} that this tool needs does not exist.`)
  const sending = await runHttpTool({
    config: filled.config,
    args: withLinks(run.merged, run.attachments, (fileId) => downloadUrl(services, fileId)),
    egress: services.egress,
    idempotencyKey: run.callId,
    timeoutMs: timeoutOf(services, run.callable),
    maxBytes: services.limits.maxResponseBytes,
    signal: run.signal,
    mayStart: run.mayStart,
    isIdempotent: isIdempotent(run.callable),
  })
  return { ...sending, result: cleanResult(sending.result, scrubber(filled.secrets)) }
}

/** The time limit for one call of the tool, in milliseconds. */
export function timeoutOf(services: Pick<Services, 'limits'>, definition: CallDefinition): number {
  return definition.timeoutMs ?? services.limits.toolTimeoutMs
}

/**
 * Fills in the secrets: unchanged in headers, URL-encoded in the URL. `refused` names a secret that may not be sent to
 * the tool's host. After a redirect to another host the headers are not sent (see egress).
 */
async function withSecrets(
  services: Services,
  projectId: string,
  config: HttpToolConfig,
): Promise<{ config: HttpToolConfig; secrets: string[] } | { missing: string } | { refused: string }> {
  const texts = [config.url, ...Object.values(config.headers)]
  const secrets = await openSecrets(services, projectId, texts.flatMap(secretNames), originOf(config)).catch(
    (error: unknown) => {
      if (error instanceof SecretRefusedError) return { refused: error.message }
      throw error
    },
  )
  if ('refused' in secrets) return secrets
  const encoded = new Map(
    [...secrets].map(([name, value]) => [name, encodeURIComponent(Buffer.from(value).toString())]),
  )
  const url = fillSecrets(config.url, encoded)
  if ('missing' in url) return url
  const headers: Record<string, string> = {}
  for (const [name, template] of Object.entries(config.headers)) {
    const value = fillSecrets(template, secrets)
    if ('missing' in value) return value
    headers[name] = value.text
  }
  return { config: { ...config, url: url.text, headers }, secrets: [...secrets.values()] }
}

/** Turns a result that does not fit the tool's outputSchema into an error. */
export function checkOutput(definition: CallDefinition, result: ToolResult): ToolResult {
  if (definition.outputSchema === null || result.isError) return result
  const schema = compileSchema(definition.outputSchema)
  const issues = schema.ok ? schema.validate(result.structuredContent ?? null) : [schema.issue]
  if (issues.length === 0) return result
  const where = issues.map((issue) => `${['output', ...issue.path].join('.')} ${issue.message}`).join('; ')
  return errorResult('output_schema_violation', `The tool's output does not fit its outputSchema: ${where}`)
}

/** The error code of a failed result, for lists and filters. */
export function codeOf(result: ToolResult): string | null {
  const error = (result.structuredContent as { error?: { code?: unknown } } | undefined)?.error
  return result.isError && typeof error?.code === 'string' ? error.code.slice(0, 100) : null
}

/** Whether the requester of a call is still valid: neither revoked nor expired. */
export async function mayStillRun(
  services: Pick<Services, 'db' | 'clock'>,
  { requestedBy, requester }: Pick<Run, 'requestedBy' | 'requester'>,
): Promise<boolean> {
  return (await principalById(services.db, requestedBy, services.clock.now(), requester)) !== null
}

/** The result of a call whose requester is no longer valid. */
export function notValidResult(): ToolResult {
  return errorResult(
    'forbidden',
    'The key that requested this call is no longer valid; the call was not run.',
  )
}

/** The result of a call whose tool no longer has the action. */
export function goneResult(): ToolResult {
  return errorResult('action_gone', 'The tool no longer has this action; nothing was run.')
}
