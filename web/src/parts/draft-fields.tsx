/** The fields of a draft, each by its name: what it is called, what it holds and what a mutation found wrong with it. */
import { useState, type ComponentProps } from 'react'
import type { Issue } from '../api/outcome.ts'
import { Check, Choice, Field, LongField } from './fields.tsx'

type NamesOf<Draft, Value> = {
  [Name in keyof Draft]: Draft[Name] extends Value ? Name : never
}[keyof Draft] &
  string
type More<Props> = Partial<Omit<Props, 'value' | 'onChange'>>

export interface DraftProps<Draft> {
  draft: Draft
  set(part: Partial<Draft>): void
  issues: readonly Issue[]
}

/** A draft while it is edited. */
export function useDraft<Draft extends object>(empty: Draft) {
  const [draft, setDraft] = useState(empty)
  const set = (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part }))
  return { draft, set }
}

export function fieldsOf<Draft extends object>(
  names: Record<keyof Draft & string, string>,
  { draft, set, issues }: DraftProps<Draft>,
) {
  const common = <Name extends keyof Draft & string>(name: Name) => ({
    label: names[name],
    issues,
    at: name,
    onChange: (value: unknown) => set({ [name]: value } as Partial<Draft>),
  })
  return {
    text: (name: NamesOf<Draft, string>, more: More<ComponentProps<typeof Field>> = {}) => (
      <Field {...common(name)} value={draft[name] as string} {...more} />
    ),
    long: (name: NamesOf<Draft, string>, more: More<ComponentProps<typeof LongField>> = {}) => (
      <LongField {...common(name)} value={draft[name] as string} {...more} />
    ),
    check: (name: NamesOf<Draft, boolean>, more: More<ComponentProps<typeof Check>> = {}) => (
      <Check {...common(name)} value={draft[name] as boolean} {...more} />
    ),
    choice: <Name extends NamesOf<Draft, string>>(
      name: Name,
      options: readonly { value: Draft[Name] & string; name: string }[],
    ) => <Choice {...common(name)} value={draft[name] as Draft[Name] & string} options={options} />,
  }
}
