/**
 * A unit of work that operators see: a span where they have loaded an SDK of OpenTelemetry, and always an observation of its
 * duration. Without an SDK it passes the caller's trace context on. Arguments, results and idempotency keys belong in neither.
 */
import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  isSpanContextValid,
  trace,
  type Attributes,
} from '@opentelemetry/api'
import { attributeNames, spanNames } from './names.ts'
import { spanContextOf, writeContext, type TraceContext } from './trace-context.ts'

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
