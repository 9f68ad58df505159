/** Editing the arguments of a question: what can be edited, what was changed, and what is sent. Pure. */
import { changesBetween, type Change } from '../diff.ts'
import { ordered } from '../ordered.ts'
import type { FormState } from '../schema-form-values.ts'
import type { Question } from './documents.ts'
import { t } from '../../texts/texts.tsx'

type Arguments = Record<string, unknown>

/** The arguments as an editor shows them: without presets, which always win, in the order of the schema. */
export function editable(question: Pick<Question, 'arguments' | 'tool' | 'question'>): Arguments {
  const presets = new Set(Object.keys(question.tool?.presetParameters ?? {}))
  const inOrder = ordered(question.arguments, question.question?.inputSchema)
  return Object.fromEntries(Object.entries(inOrder).filter(([name]) => !presets.has(name)))
}

export type Edit =
  | { state: 'same' }
  | { state: 'broken'; message: string }
  | { state: 'changed'; value: Arguments; changes: Change[] }

/** What the form means. A masked value that stays as it is keeps its real value on the server. */
export function readEdit(before: Arguments, { value, fault }: FormState): Edit {
  if (fault !== null) return { state: 'broken', message: fault }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { state: 'broken', message: t('The arguments must be a JSON object.') }
  const changes = changesBetween(before, value)
  return changes.length === 0 ? { state: 'same' } : { state: 'changed', value: value as Arguments, changes }
}
