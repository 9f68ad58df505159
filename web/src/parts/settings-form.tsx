/** Settings that are edited in place; what somebody else changed meanwhile stands beside them. */
import { useState, type ReactNode } from 'react'
import { unplacedText, type MutationRefusal } from '../api/outcome.ts'
import { ActionButton } from './confirm.tsx'
import { Conflict } from './conflict.tsx'
import { Refusal } from './fields.tsx'
import { Form } from './form.tsx'
import { changedNames } from './rebase.ts'
import { t } from '../texts/texts.tsx'

/** Settings while they are edited; `standing` is what they are now. */
export function useSettings<Draft extends object>(standing: Draft) {
  const [began, setBegan] = useState(standing)
  const [draft, setDraft] = useState(standing)
  const isEdited = changedNames(began, draft).length > 0
  const isStale = changedNames(began, standing).length > 0
  const start = (from: Draft, next: Draft = from) => {
    setBegan(from)
    setDraft(next)
  }
  if (isStale && !isEdited) start(standing)
  return { standing, began, draft, setDraft, isEdited, isStale, start }
}

interface Props<Draft extends object> {
  /** The action that saving takes. */
  needs: string
  settings: ReturnType<typeof useSettings<Draft>>
  /** How the fields are called on screen. */
  names: Record<keyof Draft, string>
  mutation: { isRunning: boolean; refused: MutationRefusal | null; clear(): void }
  isDirty: boolean
  isComplete: boolean
  onSave(): Promise<void>
  /** What else is forgotten with the changes. */
  onDrop?(): void
  children: ReactNode
}

export function SettingsForm<Draft extends object>(props: Props<Draft>) {
  const { needs, settings, names, mutation, isDirty, isComplete, onSave, onDrop, children } = props
  const { standing, began, draft, isEdited, isStale, start } = settings
  const { isRunning, refused, clear } = mutation
  const again = (next: Draft) => {
    start(standing, next)
    clear()
  }
  return (
    <section aria-label={t('Settings')}>
      <h2>{t('Settings')}</h2>
      <Form className="stack" onSubmit={onSave}>
        {isStale && isEdited && !isRunning && (
          <Conflict
            base={began}
            mine={draft}
            theirs={standing}
            nameOf={(name) => names[name as keyof Draft]}
            onTake={(next) => again(next)}
          />
        )}
        {children}
        {!isStale && <Refusal message={unplacedText(refused)} />}
        <div className="row form-foot">
          <ActionButton
            needs={needs}
            type="submit"
            className="primary"
            disabled={isRunning || !isDirty || isStale || !isComplete}
          >
            {isRunning ? t('Saving …') : t('Save')}
          </ActionButton>
          {isDirty && (
            <button
              type="button"
              onClick={() => {
                again(standing)
                onDrop?.()
              }}
            >
              {t('Discard the changes')}
            </button>
          )}
        </div>
      </Form>
    </section>
  )
}
