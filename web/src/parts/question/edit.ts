/** Editing the arguments of a question: what can be edited, what was changed, and what is sent. Pure. */
import { isObject } from '../../../../src/core/exact-json.ts'
import { changesBetween, type Change } from '../diff.ts'
import type { FormState } from '../schema-form-values.ts'
import type { Question } from './documents.ts'
import { t } from '../../texts/texts.tsx'

type Arguments = Record<string, unknown>

/** The arguments as an editor shows them: without presets, which always win. */
export function editable(question: Pick<Question, 'arguments' | 'tool'>): Arguments {
  const presets = new Set(Object.keys(question.tool?.presetParameters ?? {}))
  return Object.fromEntries(Object.entries(question.arguments).filter(([name]) => !presets.has(name)))
}

export type Edit =
  | { state: 'same' }
  | { state: 'broken'; message: string }
  | { state: 'changed'; value: Arguments; changes: Change[] }

/** What the form means. A masked value that stays as it is keeps its real value on the server. */
export function readEdit(before: Arguments, { value, fault }: FormState): Edit {
  if (fault !== null) return { state: 'broken', message: fault }
  if (!isObject(value)) return { state: 'broken', message: t('The arguments must be a JSON object.') }
  const changes = changesBetween(before, value)
  return changes.length === 0 ? { state: 'same' } : { state: 'changed', value: value as Arguments, changes }
}
