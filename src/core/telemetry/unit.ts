/**
 * A unit of work that operators see: its names, its context, a span where they have loaded an SDK of OpenTelemetry,
 * and always an observation of its duration.
 */
import {
  createTraceState,
  isSpanContextValid,
  type SpanContext,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
} from '@opentelemetry/api'

/** The name of a span, before the agent, model or tool that it is about. */
const spanNames = {
  agent: 'invoke_agent',
  model: 'chat',
  tool: 'execute_tool',
  mcp: 'tools/call',
} as const

export const attributeNames = {
  errorType: 'error.type',
  operation: 'gen_ai.operation.name',
  agentId: 'gen_ai.agent.id',
  agentName: 'gen_ai.agent.name',
  conversation: 'gen_ai.conversation.id',
  provider: 'gen_ai.provider.name',
  requestModel: 'gen_ai.request.model',
  finishReasons: 'gen_ai.response.finish_reasons',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  toolName: 'gen_ai.tool.name',
  toolCallId: 'gen_ai.tool.call.id',
  toolType: 'gen_ai.tool.type',
  mcpMethod: 'mcp.method.name',
  mcpVersion: 'mcp.protocol.version',
  rpcId: 'jsonrpc.request.id',
  rpcStatus: 'rpc.response.status_code',
  generation: 'gatehouse.generation.id',
  activation: 'gatehouse.activation',
  outcome: 'gatehouse.outcome',
  approval: 'gatehouse.approval.id',
  verdict: 'gatehouse.approval.verdict',
  waitMs: 'gatehouse.approval.wait_ms',
} as const

/** A place in a trace, of a valid form. */
export interface TraceContext {
  traceparent: string
  /** At most 512 characters, as its senders wrote it. */
  tracestate?: string
}

/** Later versions may have more fields after these four. */
const form = /^(?!ff)([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/

/** The context in headers, or in `_meta` of MCP; undefined without a valid one. */
export function traceContextOf(
  given: Readonly<Record<string, unknown>> | undefined,
): TraceContext | undefined {
  const { traceparent, tracestate } = given ?? {}
  if (typeof traceparent !== 'string' || traceparent.length > 256) return undefined
  const match = form.exec(traceparent)
  if (!match || (match[1] === '00' && match[5] !== undefined)) return undefined
  const [, , traceId, spanId, flags] = match
  const context = { traceId: traceId!, spanId: spanId!, traceFlags: Number.parseInt(flags!, 16) }
  if (!isSpanContextValid(context)) return undefined
  const state = typeof tracestate === 'string' ? createTraceState(tracestate) : null
  return writeContext(state ? { ...context, traceState: state } : context)
}

/** What the API of OpenTelemetry takes. */
function spanContextOf({ traceparent, tracestate }: TraceContext): SpanContext {
  const [, traceId, spanId, flags] = traceparent.split('-')
  return {
    traceId: traceId!,
    spanId: spanId!,
    traceFlags: Number.parseInt(flags!, 16),
    isRemote: true,
    ...(tracestate ? { traceState: createTraceState(tracestate) } : {}),
  }
}

/** As it is sent. */
function writeContext({ traceId, spanId, traceFlags, traceState }: SpanContext): TraceContext {
  const state = traceState?.serialize()
  return {
    traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`,
    ...(state ? { tracestate: state } : {}),
  }
}

export type UnitKind = keyof typeof spanNames

/** Labels of a duration: never ids, and names that callers choose only through a bounded list. */
export interface DurationLabels {
  outcome: string
  kind?: string
  model?: string
}

/** Where durations and tokens are counted. */
export interface Meters {
  duration(unit: UnitKind, seconds: number, labels: DurationLabels): void
  tokens(type: 'input' | 'output', count: number, labels: { kind: string; model: string }): void
}

export interface UnitOptions {
  /** What it is about, the end of the span's name: a tool, agent or model; absent: `rename` says it. */
  name?: string
  /** Where it was asked for. */
  parent?: TraceContext | undefined
  /** What it continues, in a trace of its own. */
  links?: readonly (TraceContext | undefined)[]
  attributes: Attributes
}

export interface Unit {
  /** What requests of this unit carry: the span, or without an SDK what the unit was given. */
  readonly trace: TraceContext | undefined
  /** Whether an SDK keeps the span: what only it needs is read then. */
  readonly isRecording: boolean
  note(attributes: Attributes): void
  rename(name: string): void
  /** Ends it, once; later calls do nothing. `errorType` says that it failed. */
  end(labels: DurationLabels, errorType?: string): void
}

const kinds: Record<UnitKind, SpanKind> = {
  agent: SpanKind.INTERNAL,
  model: SpanKind.CLIENT,
  tool: SpanKind.INTERNAL,
  mcp: SpanKind.SERVER,
}

const tracer = trace.getTracer('gatehouse')

/** Begins a unit. With a parent it belongs to its trace, else to a new one. */
export function beginUnit(meters: Meters, kind: UnitKind, options: UnitOptions): Unit {
  const { name, parent, attributes } = options
  const links = options.links?.filter((link) => link !== undefined) ?? []
  const span = tracer.startSpan(
    name === undefined ? spanNames[kind] : `${spanNames[kind]} ${name}`,
    { kind: kinds[kind], attributes, links: links.map((link) => ({ context: spanContextOf(link) })) },
    parent ? trace.setSpanContext(ROOT_CONTEXT, spanContextOf(parent)) : ROOT_CONTEXT,
  )
  const context = span.spanContext()
  const start = performance.now()
  let isOpen = true
  return {
    trace: isSpanContextValid(context) ? writeContext(context) : links[0] && plain(links[0]),
    isRecording: span.isRecording(),
    note: (more) => void span.setAttributes(more),
    rename: (is) => void span.updateName(`${spanNames[kind]} ${is}`),
    end(labels, errorType) {
      if (!isOpen) return
      isOpen = false
      meters.duration(kind, (performance.now() - start) / 1000, labels)
      span.setAttribute(attributeNames.outcome, labels.outcome)
      if (errorType)
        span.setAttribute(attributeNames.errorType, errorType).setStatus({ code: SpanStatusCode.ERROR })
      span.end()
    },
  }
}

/** A context from a row may have more fields than are sent. */
function plain(context: TraceContext): TraceContext {
  return writeContext(spanContextOf(context))
}
