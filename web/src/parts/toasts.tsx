/** Short news at the edge of the page, one at a time: what became of what this person did. */
import { useEffect } from 'react'
import { Link } from 'wouter'
import { createStore, useStore } from '../api/store.ts'
import { t } from '../texts/texts.tsx'

interface Toast {
  id: number
  tone: 'good' | 'bad' | 'plain'
  text: string
  /** Where to look at it; null when there is nothing to see. */
  href: string | null
}

const newest = createStore<Toast | null>(null)
let next = 0

/** How long a toast stands, in milliseconds. */
const standsMs = 8_000

export function toast(
  text: string,
  { tone = 'plain', href = null }: Partial<Omit<Toast, 'id' | 'text'>> = {},
): void {
  newest.set({ id: next++, tone, text, href })
}

const drop = (id: number) => {
  if (newest.get()?.id === id) newest.set(null)
}

export function Toasts() {
  const one = useStore(newest)
  return (
    <output className="toasts" aria-live="polite">
      {one && <ToastLine key={one.id} {...one} />}
    </output>
  )
}

function ToastLine({ id, tone, text, href }: Toast) {
  useEffect(() => {
    const timer = setTimeout(() => drop(id), standsMs)
    return () => clearTimeout(timer)
  }, [id])
  return (
    <div className={`toast tone-${tone}`}>
      <span>{text}</span>
      {href && <Link href={href}>{t('Show')}</Link>}
      <button type="button" className="quiet" aria-label={t('Dismiss')} onClick={() => drop(id)}>
        ×
      </button>
    </div>
  )
}
