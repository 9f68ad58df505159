/** An id or snippet that one press copies. */
import { useState, type ReactNode } from 'react'
import { Icon } from './icons.tsx'
import { t } from '../texts/texts.tsx'

interface Props {
  id: string
  label?: string
  /** What stands there instead of the id, which is then in the title. */
  children?: ReactNode
}

export function CopyId({ id, label = t('id'), children }: Props) {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(id).catch(() => {})
    setCopied(true)
    setTimeout(() => setCopied(false), 1500)
  }
  return (
    <button
      type="button"
      className={children ? 'copy-id copy-name' : 'copy-id mono'}
      onClick={() => void copy()}
      title={children ? id : t('Copy the {label}', { label })}
    >
      <span>{children ?? id}</span>
      {isCopied ? <Icon name="check" /> : <Icon name="copy" />}
      <span className="sr-only">{isCopied ? t('copied') : t('copy the {label}', { label })}</span>
    </button>
  )
}
