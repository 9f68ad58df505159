/** A modal dialog of the browser: it keeps the focus, closes with Escape and is announced by its title. */
import { useEffect, useId, useRef, type ReactNode } from 'react'
import { useKeyBarrier } from './keys.ts'
import { t } from '../texts/texts.tsx'

interface Props {
  title: string
  onClose(): void
  children: ReactNode
  /** Wide enough for an editor. */
  wide?: boolean
}

export function Dialog({ title, onClose, children, wide = false }: Props) {
  const element = useRef<HTMLDialogElement>(null)
  const id = useId()
  useKeyBarrier()
  useEffect(() => {
    const dialog = element.current
    dialog?.showModal()
    return () => dialog?.close()
  }, [])
  return (
    <dialog
      ref={element}
      className={wide ? 'dialog wide' : 'dialog'}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
    >
      <header>
        <h2 id={id}>{title}</h2>
        <button type="button" className="quiet" aria-label={t('Close')} onClick={onClose}>
          ×
        </button>
      </header>
      <div className="dialog-body">{children}</div>
    </dialog>
  )
}
