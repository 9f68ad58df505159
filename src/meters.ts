/** Durations and tokens of units of work, counted while the server works. Labels are never ids. */
import { Histogram, Registry } from 'prom-client'
import type { Meters, UnitKind } from './core/telemetry/unit.ts'

/** The most models that get a label of their own: whoever may write agents chooses the names. */
const maxModels = 50
/** Buckets in seconds, and in tokens, as the conventions for generative AI and MCP advise. */
const modelBuckets = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
const callBuckets = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]
const tokenBuckets = Array.from({ length: 14 }, (_, i) => 4 ** i)

interface Duration {
  name: string
  help: string
  labels: string[]
  buckets: number[]
}

const durations: Record<UnitKind, Duration> = {
  agent: {
    name: 'gen_ai_invoke_agent_duration_seconds',
    help: 'Time that a run was held by this process, from its claim until it waits or ends.',
    labels: ['outcome'],
    buckets: callBuckets,
  },
  model: {
    name: 'gen_ai_client_operation_duration_seconds',
    help: 'Time of an attempt at a model response, to its end. kind: of the provider.',
    labels: ['kind', 'outcome', 'model'],
    buckets: modelBuckets,
  },
  tool: {
    name: 'gen_ai_execute_tool_duration_seconds',
    help: 'Time of a sent tool call. kind: of the tool.',
    labels: ['kind', 'outcome'],
    buckets: callBuckets,
  },
  mcp: {
    name: 'mcp_server_operation_duration_seconds',
    help: 'Time of a tools/call that this server served. kind: what the name stands for.',
    labels: ['kind', 'outcome'],
    buckets: callBuckets,
  },
}

/** A registry, and what counts in it while the server works. */
export function createMeters(): { registry: Registry; meters: Meters } {
  const registry = new Registry()
  const histogram = ({ name, help, labels: labelNames, buckets }: Duration) =>
    new Histogram({ name, help, labelNames, buckets, registers: [registry] })
  const byUnit = {
    agent: histogram(durations.agent),
    model: histogram(durations.model),
    tool: histogram(durations.tool),
    mcp: histogram(durations.mcp),
  }
  const tokens = histogram({
    name: 'gen_ai_client_token_usage',
    help: 'Tokens of a model response. kind: of the provider.',
    labels: ['kind', 'type', 'model'],
    buckets: tokenBuckets,
  })
  const models = new Set<string>()
  /** Only a model that has answered gets a label: a name that no provider has costs nothing. */
  const modelLabel = (model: string, hasAnswered: boolean) => {
    if (hasAnswered && models.size < maxModels) models.add(model)
    return models.has(model) ? model : 'other'
  }
  return {
    registry,
    meters: {
      duration(unit, seconds, { outcome, kind, model }) {
        const labels = {
          outcome,
          ...(kind === undefined ? {} : { kind }),
          ...(model === undefined ? {} : { model: modelLabel(model, outcome === 'success') }),
        }
        byUnit[unit].observe(labels, seconds)
      },
      tokens(type, count, { kind, model }) {
        tokens.observe({ type, kind, model: modelLabel(model, true) }, count)
      },
    },
  }
}
