/** The form of the arguments, and every place that was changed, before and after. */
import { useEffect, useMemo, useRef } from 'react'
import { Changes } from '../changes.tsx'
import type { Issue } from '../../api/outcome.ts'
import { SchemaForm, type FormState } from '../schema-form.tsx'
import type { Edit } from './edit.ts'
import { Fault } from '../fault.tsx'
import { t } from '../../texts/texts.tsx'

interface Props {
  schema: Record<string, unknown>
  state: FormState
  edit: Edit
  /** What the server refused; the paths begin at the input. */
  issues: readonly Issue[]
  onChange(state: FormState): void
  onCancel(): void
}

export function EditArguments({ schema, state, edit, issues, onChange, onCancel }: Props) {
  const own = useMemo(
    () =>
      issues
        .filter(({ path }) => path[1] === 'arguments')
        .map(({ path, message }) => ({ path: path.slice(2), message })),
    [issues],
  )
  const section = useRef<HTMLElement>(null)
  useEffect(() => section.current?.querySelector<HTMLElement>('input, textarea, select')?.focus(), [])
  return (
    <section ref={section} className="stack" aria-label={t('Edit the arguments')}>
      <div className="row">
        <h2>{t('Edit the arguments')}</h2>
        <button type="button" className="quiet spread" onClick={onCancel}>
          {t('Discard the changes')}
        </button>
      </div>
      <SchemaForm
        schema={schema}
        state={state}
        onChange={onChange}
        label={t('Arguments to send')}
        issues={own}
        showsAll
      />
      {edit.state === 'broken' && state.fault === null && <Fault className="" text={edit.message} />}
      {edit.state === 'changed' && <Changes changes={edit.changes} label={t('Changes')} />}
    </section>
  )
}
