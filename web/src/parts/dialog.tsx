/**
 * A modal dialog of the browser: it keeps the focus, closes with Escape and is announced by its title. Its first field has the
 * focus, else what cancels it; Ctrl+Enter presses its primary button.
 */
import { useEffect, useId, useRef, type ReactNode } from 'react'
import { KeyScope, useKeys, useKeyScope } from './keys.ts'
import { t } from '../texts/texts.tsx'

interface Props {
  title: string
  onClose(): void
  children: ReactNode
  /** Wide enough for an editor. */
  wide?: boolean
}

const fields = ':is(input,textarea,select):not(:disabled,[type=hidden],[type=radio]:not(:checked))'
const primary = 'button:is(.primary,.approve,.danger):not(:disabled)'

/** What takes the focus: never a button that acts, or that closes what was just opened. */
function firstIn(dialog: HTMLElement): HTMLElement | null {
  const field = dialog.querySelector('.dialog-body')?.querySelector<HTMLElement>(fields)
  return field ?? dialog.querySelector<HTMLElement>('[data-cancel]') ?? dialog.querySelector('h2')
}

export function Dialog({ title, onClose, children, wide = false }: Props) {
  const element = useRef<HTMLDialogElement>(null)
  const body = useRef<HTMLDivElement>(null)
  const id = useId()
  const scope = useKeyScope()
  useEffect(() => {
    const dialog = element.current
    dialog?.showModal()
    if (dialog) firstIn(dialog)?.focus()
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
      <KeyScope value={scope}>
        <PrimaryKey press={() => body.current?.querySelector<HTMLElement>(primary)?.click()} />
        <header>
          <h2 id={id} tabIndex={-1}>
            {title}
          </h2>
          <button type="button" className="quiet" aria-label={t('Close')} onClick={onClose}>
            ×
          </button>
        </header>
        <div ref={body} className="dialog-body">
          {children}
        </div>
      </KeyScope>
    </dialog>
  )
}

function PrimaryKey({ press }: { press(): void }) {
  useKeys({ 'mod+Enter': press })
  return null
}
