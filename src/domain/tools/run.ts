/** Runs one prepared call of a server-run tool of any kind. Writes nothing to the database itself. */
import { errorResult, type ToolResult } from '../../core/content.ts'
import type { JsonObject } from '../../core/json.ts'
import { outputFault, ranResult, textIn } from '../../core/output.ts'
import { cleanResult, scrubber } from '../../core/scrub.ts'
import type { TraceContext } from '../../core/telemetry/unit.ts'
import { shortText } from '../../core/text.ts'
import { actsForOf, principalById, type Services, type Requester } from '../access/index.ts'
import { downloadUrl, type Attachment } from '../files/index.ts'
import { fillSecrets, openSecrets, secretNames, SecretRefusedError } from '../secrets/index.ts'
import type { InputRequired, UpstreamRow } from '../upstream/index.ts'
import { withLinks } from './prepare.ts'
import { type Callable, isIdempotent, type CallDefinition, type OwnedDefinition } from './callable.ts'
import { originOf, runHttpTool, type HttpToolConfig } from './kinds/http.ts'
import { runMcpTool, type CallerChannel } from './kinds/mcp.ts'
import { runPlatformTool } from './kinds/platform.ts'
import { maskedPaths, valuesAt } from './masking.ts'
import { finishedOf, finish, type FinishedCall, type SendOutcome } from './outcome.ts'

export interface Run {
  projectId: string
  callable: Callable
  /** The arguments with presets merged in. */
  merged: JsonObject
  /** Files attached to the call: an http tool gets links to them. */
  attachments: readonly Attachment[] | null
  /** The tool call's id, sent as Idempotency-Key. */
  callId: string
  /** The requester's id, and the rights of a person who used a token, or for whom a program acts. */
  requestedBy: string
  requester: Requester | null
  /** An earlier attempt of the call may have run. */
  wasSent: boolean
  signal: AbortSignal
  /** What the request to the tool carries, and the operations of a platform tool are asked for in. */
  trace?: TraceContext | undefined
  /** The row of an mcp tool's upstream, if it was read with the commit of the call. */
  upstream?: UpstreamRow | null | undefined
  /**
   * Called just before the call is sent; nothing is sent when it returns false. It must return true only while this
   * process certainly holds the row of the call: otherwise another process may have reported the call UNKNOWN, and a
   * person may have run it again. `delayMs`: it is sent up to so many milliseconds from now; default: 0.
   */
  mayStart(delayMs?: number): boolean
}

/**
 * Runs the call to its end or its timeout. A failure of the tool is a result with `isError`; `outcome` says whether the
 * effect of the call can be known. Throws only before anything is sent: WithheldError when `mayStart` returned false,
 * and errors of the database.
 */
export async function runTool(services: Services, run: Run): Promise<FinishedCall> {
  const ran = await runToolFor(services, run, null)
  return 'result' in ran ? ran : finish(notAsked)
}

/** Like `runTool`, for a caller that receives progress and can supply input that an upstream requests. */
export async function runToolFor(services: Services, run: Run, caller: CallerChannel | null): Promise<Ran> {
  let began = false
  let withheld = false
  const mayStart = (delayMs?: number) => {
    const may = run.mayStart(delayMs)
    began ||= may
    withheld = !may
    return may
  }
  const sent = await send(services, { ...run, mayStart }, caller)
  if ('inputRequired' in sent) return sent
  const endOf = (outcome: SendOutcome) => withoutMasked(run, finishedOf(run.callable, outcome, run.wasSent))
  const ran = endOf(sent)
  if (withheld) throw new WithheldError(run.callId, began ? ran : null)
  return sent.late ? { ...ran, late: sent.late.then(endOf) } : ran
}

/** Masks values in the result that the arguments mask: a tool may echo them. */
function withoutMasked({ callable, merged }: Run, ran: FinishedCall): FinishedCall {
  const values = valuesAt(merged, maskedPaths(callable, merged))
  return { ...ran, result: cleanResult(ran.result, scrubber(values)) }
}

/**
 * The call was not sent, because another worker may hold its row now. `refusal`: the outcome of what was tried before that and may
 * be repeated; null when nothing was.
 */
export class WithheldError extends Error {
  readonly refusal: FinishedCall | null

  constructor(callId: string, refusal: FinishedCall | null = null) {
    super(`The call ${callId} was not sent: its lease may have ended.`)
    this.name = 'WithheldError'
    this.refusal = refusal
  }
}

type Ran = FinishedCall | { inputRequired: InputRequired }

/** Sends the call as its kind does. */
function send(
  services: Services,
  run: Run,
  caller: CallerChannel | null,
): Promise<SendOutcome | { inputRequired: InputRequired }> {
  const { callable, projectId, merged: args, callId, signal, mayStart, trace } = run
  const { action, http, mcp, platform } = callable
  const timeoutMs = timeoutOf(services, callable)
  const sent = { projectId, args, callId, timeoutMs, signal, mayStart, trace }
  if (http) return runHttp(services, run, http)
  const { requestedBy, requester } = run
  if (mcp && action !== null)
    return runMcpTool(services, {
      ...sent,
      requestedBy,
      actsFor: actsForOf(requester),
      toolId: callable.id,
      action,
      caller,
      row: run.upstream ?? null,
      server: mcp,
    })
  if (platform && action !== null)
    return runPlatformTool(services, { ...sent, action, requestedBy, requester })
  return Promise.resolve(unsent('not_runnable', 'This tool runs in the calling application, not here.'))
}

function unsent(code: string, message: string): SendOutcome {
  return { result: errorResult(code, message), sent: false, lost: false }
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
    projectId: run.projectId,
    idempotencyKey: run.callId,
    trace: run.trace,
    timeoutMs: timeoutOf(services, run.callable),
    maxBytes: services.limits.maxResponseBytes,
    signal: run.signal,
    mayStart: run.mayStart,
    isIdempotent: isIdempotent(run.callable),
  })
  const result = cleanResult(sending.result, scrubber(filled.secrets))
  const fault = resultFault(run.callable, result)
  return fault === null
    ? { ...sending, result }
    : { ...sending, result: ranResult('output_schema_violation', fault, textIn(result)) }
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

/** Why a result does not fit the tool's outputSchema; null when it fits. */
export function resultFault(definition: OwnedDefinition, result: ToolResult): string | null {
  const { outputSchema, projectId } = definition
  if (outputSchema === null || result.isError) return null
  return outputFault(outputSchema, projectId, result.structuredContent ?? null)
}

/** The error code of a failed result, for lists and filters. */
export function codeOf(result: ToolResult): string | null {
  const error = (result.structuredContent as { error?: { code?: unknown } } | undefined)?.error
  return result.isError && typeof error?.code === 'string' ? shortText(error.code, 100) : null
}

/** Whether the requester of a call is still valid: neither revoked nor expired. */
export async function mayStillRun(
  services: Pick<Services, 'db' | 'clock'>,
  { requestedBy, requester }: Pick<Run, 'requestedBy' | 'requester'>,
): Promise<boolean> {
  return (await principalById(services.db, requestedBy, services.clock.now(), requester)) !== null
}

/** The result of a call whose tool no longer has the action. */
export function goneResult(): ToolResult {
  return errorResult('action_gone', 'The tool no longer has this action; nothing was run.')
}
