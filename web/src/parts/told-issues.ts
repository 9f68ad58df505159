/** The faults that a server found in a draft, while the draft is being mended. Pure. */
import type { Issue, MutationRefusal } from '../api/outcome.ts'
import { changedNames } from './rebase.ts'
import { t } from '../texts/texts.tsx'

/** The input that the fields of a form mean, or what is wrong with them. */
export type FieldsInput<Input> = { input: Input } | { issues: Issue[] }

/** The faults of fields that were not changed since `asked` was sent. */
export function stillTrue<Draft extends object>(
  issues: readonly Issue[],
  asked: Draft,
  draft: Draft,
): readonly Issue[] {
  const changed = changedNames(asked, draft)
  return issues.filter(({ path }) => !changed.some((name) => path.includes(name)))
}

/** What to say below the fields: null when every fault that was found has been mended. */
export function refusalText(
  refused: MutationRefusal | null,
  issues: readonly Issue[],
  left: readonly Issue[],
): string | null {
  if (issues.length === 0) return refused?.message ?? null
  return left.length > 0 ? t('Some fields need another value.') : null
}
