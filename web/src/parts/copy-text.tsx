/** Text of several lines that one press copies. */
import { useState } from 'react'
import { Icon } from './icons.tsx'
import { t } from '../texts/texts.tsx'

export function CopyText({ text, label }: { text: string; label: string }) {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text).catch(() => {})
    setCopied(true)
    setTimeout(() => setCopied(false), 1500)
  }
  return (
    <div className="copy-text">
      <pre className="mono" tabIndex={0} role="region" aria-label={label}>
        {text}
      </pre>
      <button type="button" onClick={() => void copy()}>
        <Icon name={isCopied ? 'check' : 'copy'} /> {isCopied ? t('Copied') : t('Copy')}
        <span className="sr-only"> {t('the {label}', { label })}</span>
      </button>
    </div>
  )
}
