/** An id or snippet that one press copies. */
import { useState } from 'react'
import { Icon } from './icons.tsx'

export function CopyId({ id, label = 'id' }: { id: string; label?: string }) {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(id).catch(() => {})
    setCopied(true)
    setTimeout(() => setCopied(false), 1500)
  }
  return (
    <button type="button" className="copy-id mono" onClick={() => void copy()} title={`Copy the ${label}`}>
      <span>{id}</span>
      {isCopied ? <Icon name="check" /> : <Icon name="copy" />}
      <span className="sr-only">{isCopied ? 'copied' : `copy the ${label}`}</span>
    </button>
  )
}
