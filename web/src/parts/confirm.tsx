/** Buttons that act: with a permission, and, for what cannot be taken back, a question before it. */
import { useState, type ComponentProps, type ReactNode } from 'react'
import type { CallerVariables } from '../api/client.ts'
import type { TadaDocumentNode } from '../api/document.ts'
import { useViewer } from '../api/viewer.ts'
import { Dialog } from './dialog.tsx'
import { useAction } from './use-action.ts'
import { t } from '../texts/texts.tsx'

/** A button that does nothing, and says why, for whoever lacks the permission. Until that is known it waits. */
export function ActionButton({ needs, ...button }: ComponentProps<'button'> & { needs: string | null }) {
  const viewer = useViewer()
  const may = needs === null || (viewer?.may(needs) ?? false)
  const title =
    viewer && !may ? t('You need the permission {action} to do this.', { action: needs }) : button.title
  return <button type="button" {...button} title={title} disabled={!may || button.disabled} />
}

interface Props {
  /** What the button says. */
  word: string
  /** The action that it takes; null: everybody may. */
  needs: string | null
  /** The question of the dialog: Revoke the key "ci"? */
  question: string
  children?: ReactNode
  isBusy?: boolean
  onConfirm(): void
}

export function Confirm({ word, needs, question, children, isBusy = false, onConfirm }: Props) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <ActionButton needs={needs} className="danger" disabled={isBusy} onClick={() => setOpen(true)}>
        {word}
      </ActionButton>
      {isOpen && (
        <Dialog title={question} onClose={() => setOpen(false)}>
          <div className="stack">
            {children}
            <div className="row">
              <button
                type="button"
                className="danger"
                onClick={() => {
                  setOpen(false)
                  onConfirm()
                }}
              >
                {word}
              </button>
              <button type="button" data-cancel onClick={() => setOpen(false)}>
                {t('Cancel')}
              </button>
            </div>
          </div>
        </Dialog>
      )}
    </>
  )
}

interface ActionProps<Result, Variables> extends Omit<Props, 'onConfirm' | 'isBusy'> {
  mutation: TadaDocumentNode<Result, Variables>
  variables: CallerVariables<Variables>
  /** What is said when it was done; null: nothing. */
  done: string | null
  /** After the answer, whatever it was. `isDone`: it was not refused. */
  onEnd?(isDone: boolean): void
}

/** A mutation that is confirmed first: how it ended is told in a toast. */
export function ConfirmAction<Result extends object, Variables>({
  mutation,
  variables,
  done,
  onEnd,
  ...confirm
}: ActionProps<Result, Variables>) {
  const { act, isRunning } = useAction(mutation)
  const confirmed = async () => {
    const answer = await act(variables, done)
    onEnd?.(answer !== null)
  }
  return <Confirm {...confirm} isBusy={isRunning} onConfirm={() => void confirmed()} />
}
