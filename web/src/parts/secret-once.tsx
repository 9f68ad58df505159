/** A secret that is shown once. */
import type { ReactNode } from 'react'
import { CopyId } from './copy-id.tsx'
import { Dialog } from './dialog.tsx'
import { t } from '../texts/texts.tsx'

interface Props {
  title: string
  secret: string
  /** What it is for; `note` what else there is to know. */
  children: ReactNode
  note?: ReactNode
  /** What is copied. */
  label?: string
  onClose(): void
}

export function SecretOnce({ title, secret, children, note, label = t('secret'), onClose }: Props) {
  return (
    <Dialog title={title} onClose={onClose}>
      <div className="stack">
        <p>
          {t('This is shown only once.')} {children}
        </p>
        <CopyId id={secret} label={label} />
        {note}
        <button type="button" className="primary" onClick={onClose}>
          {t('I saved it')}
        </button>
      </div>
    </Dialog>
  )
}
