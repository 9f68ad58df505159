/** A button for what cannot be taken back: it asks before it acts. */
import { useState, type ReactNode } from 'react'
import { Dialog } from './dialog.tsx'
import { t } from '../texts/texts.tsx'

interface Props {
  /** What the button says. */
  word: string
  /** The question of the dialog: Revoke the key "ci"? */
  question: string
  children?: ReactNode
  isBusy?: boolean
  onConfirm(): void
}

export function Confirm({ word, question, children, isBusy = false, onConfirm }: Props) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button type="button" className="danger" disabled={isBusy} onClick={() => setOpen(true)}>
        {word}
      </button>
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
