/** What operators see of one attempt at a model response: its span, its duration and its tokens. */
import { attributeNames as names } from '../../../core/telemetry/names.ts'
import { beginUnit, type Unit } from '../../../core/telemetry/unit.ts'
import type { Services } from '../../access/index.ts'
import { ModelError, type ModelAnswer, type ModelPort } from '../../models/index.ts'
import type { Turn } from '../transaction/turn.ts'

/** The names of providers in the conventions, where ours differ. */
const conventional: Partial<Record<ModelPort['providerKind'], string>> = { google: 'gcp.gemini' }

export function beginModelUnit({ services, held }: Turn, { name, providerKind }: ModelPort): Unit {
  const model = name.slice(name.indexOf('/') + 1)
  return beginUnit(services.meters, 'model', {
    name: model,
    parent: held.activation?.trace,
    attributes: {
      [names.operation]: 'chat',
      [names.provider]: conventional[providerKind] ?? providerKind,
      [names.requestModel]: model,
      [names.generation]: held.id,
    },
  })
}

export function endModelUnit(
  { meters }: Services,
  unit: Unit,
  { name, providerKind }: ModelPort,
  { usage, finishReason }: ModelAnswer,
): void {
  const labels = { kind: providerKind, model: name }
  unit.note({
    [names.finishReasons]: [finishReason],
    [names.inputTokens]: usage.inputTokens,
    [names.outputTokens]: usage.outputTokens,
  })
  unit.end({ ...labels, outcome: 'success' })
  meters.tokens('input', usage.inputTokens, labels)
  meters.tokens('output', usage.outputTokens, labels)
}

/** An error that is not the model's is an interruption: a cancel, or a process that shuts down. */
export function failModelUnit(unit: Unit, { name, providerKind }: ModelPort, error: unknown): void {
  const code = error instanceof ModelError ? error.code : 'interrupted'
  unit.end({ kind: providerKind, model: name, outcome: code.toLowerCase() }, code)
}
