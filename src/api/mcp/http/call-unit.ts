/** What operators see of one tools/call that this server serves: its span and its duration. */
import { isJsonObject } from '../../../core/json.ts'
import { attributeNames as names, traceContextOf, beginUnit } from '../../../core/telemetry/unit.ts'
import type { Ctx } from '../../../domain/access/index.ts'
import type { McpRequest } from './mcp-request.ts'

/** The longest name of a tool in a span, in characters: callers choose it. */
const maxName = 100

/**
 * Serves the call with a ctx in its trace. The context in `_meta` is the parent (SEP-414), and that of the HTTP request a link
 * then. `kind`: what the name stands for.
 */
export async function asCallUnit<Result extends object>(
  { ctx, http, body }: Pick<McpRequest, 'ctx' | 'http' | 'body'>,
  params: { name: string; _meta?: object | undefined },
  kind: string,
  serve: (ctx: Ctx) => Promise<Result>,
): Promise<Result> {
  const message = isJsonObject(body) ? body : null
  const sent = message && isJsonObject(message['params']) ? message['params']['_meta'] : params._meta
  const own = traceContextOf(sent as Record<string, unknown> | undefined)
  const name = params.name.slice(0, maxName)
  const version = http.headers['mcp-protocol-version']
  const id = message?.['id']
  const unit = beginUnit(ctx.meters, 'mcp', {
    name,
    parent: own ?? ctx.trace,
    links: own ? [ctx.trace] : [],
    attributes: {
      [names.mcpMethod]: 'tools/call',
      [names.toolName]: name,
      ...(typeof version === 'string' ? { [names.mcpVersion]: version.slice(0, maxName) } : {}),
      ...(typeof id === 'string' || typeof id === 'number'
        ? { [names.rpcId]: String(id).slice(0, maxName) }
        : {}),
    },
  })
  try {
    const result = await serve(unit.trace ? { ...ctx, trace: unit.trace } : ctx)
    const failed = 'isError' in result && result.isError === true
    unit.end({ kind, outcome: failed ? 'tool_error' : 'success' }, failed ? 'tool_error' : undefined)
    return result
  } catch (error) {
    const code = (error as { code?: unknown }).code
    if (typeof code === 'number') unit.note({ [names.rpcStatus]: String(code) })
    unit.end({ kind, outcome: 'error' }, typeof code === 'number' ? String(code) : 'error')
    throw error
  }
}
