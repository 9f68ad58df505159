/** A form in a dialog: why its mutation was refused stands above the button that sends it. */
import type { ReactNode } from 'react'
import type { MutationRefusal } from '../api/outcome.ts'
import { Dialog } from './dialog.tsx'
import { Refusal } from './fields.tsx'
import { Form } from './form.tsx'

interface Props {
  title: string
  /** What the button says; `busy` while the mutation is under way. */
  submit: ReactNode
  busy?: string
  isDanger?: boolean
  isReady: boolean
  isWide?: boolean
  /** The mutation. */
  form: { isRunning: boolean; refused: MutationRefusal | null }
  /** What to say when it was refused, where that is not its message. */
  textOf?(refused: MutationRefusal | null): string | null
  onSubmit(): Promise<void>
  onClose(): void
  /** What the button says that closes it; none without. */
  cancel?: string
  /** What stands below the button. */
  foot?: ReactNode
  children: ReactNode
}

export function FormDialog({
  title,
  submit,
  busy,
  isDanger = false,
  isReady,
  isWide = false,
  form: { isRunning, refused },
  textOf,
  onSubmit,
  onClose,
  cancel,
  foot,
  children,
}: Props) {
  const button = (
    <button type="submit" className={isDanger ? 'danger' : 'primary'} disabled={isRunning || !isReady}>
      {isRunning ? (busy ?? submit) : submit}
    </button>
  )
  return (
    <Dialog title={title} onClose={onClose} wide={isWide}>
      <Form className="stack" onSubmit={onSubmit}>
        {children}
        <Refusal message={textOf ? textOf(refused) : (refused?.message ?? null)} />
        {cancel === undefined ? (
          button
        ) : (
          <div className="row">
            {button}
            <button type="button" data-cancel onClick={onClose}>
              {cancel}
            </button>
          </div>
        )}
        {foot}
      </Form>
    </Dialog>
  )
}
