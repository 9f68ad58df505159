/** The W3C trace context of a caller: read, and passed on, also when no SDK makes spans of it. Pure. */
import { createTraceState, isSpanContextValid, type SpanContext } from '@opentelemetry/api'

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
export function spanContextOf({ traceparent, tracestate }: TraceContext): SpanContext {
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
export function writeContext({ traceId, spanId, traceFlags, traceState }: SpanContext): TraceContext {
  const state = traceState?.serialize()
  return {
    traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`,
    ...(state ? { tracestate: state } : {}),
  }
}
