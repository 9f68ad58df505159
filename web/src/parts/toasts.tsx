/** Short news, one at a time: what became of what this person did. It goes with the screen on which it came. */
import { useEffect, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { createStore, useStore } from '../api/store.ts'
import { Foreign } from './text.tsx'
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

/** How long a toast stands, in milliseconds: a fault is read, what went well is only noticed. */
const standsMs = { good: 4_000, plain: 4_000, bad: 12_000 }

export function toast(
  text: string,
  { tone = 'plain', href = null }: Partial<Omit<Toast, 'id' | 'text'>> = {},
): void {
  newest.set({ id: next++, tone, text, href })
}

const drop = (id: number) => {
  if (newest.get()?.id === id) newest.set(null)
}

/** The screen of an address: /approvals/apr_1 is on the one of /approvals. */
const screenOf = (path: string) => path.split('/')[1]

export function Toasts() {
  const one = useStore(newest)
  return (
    <output className="toasts" aria-live="polite">
      {one && <ToastLine key={one.id} {...one} />}
    </output>
  )
}

function ToastLine({ id, tone, text, href }: Toast) {
  const screen = screenOf(useLocation()[0])
  // What leads to another screen at once, as the creation of an agent, has its toast there.
  const [own] = useState(screen)
  const [isHeld, setHeld] = useState(false)
  useEffect(() => {
    if (screen !== own) return drop(id)
    const timer = isHeld ? undefined : setTimeout(() => drop(id), standsMs[tone])
    return () => clearTimeout(timer)
  }, [id, tone, screen, own, isHeld])
  return (
    <div
      className={`toast tone-${tone}`}
      onPointerEnter={() => setHeld(true)}
      onPointerLeave={() => setHeld(false)}
      onFocus={() => setHeld(true)}
      onBlur={() => setHeld(false)}
    >
      <span>
        <Foreign text={text} max={400} />
      </span>
      {href && <Link href={href}>{t('Show')}</Link>}
      <button type="button" className="quiet" aria-label={t('Dismiss')} onClick={() => drop(id)}>
        ×
      </button>
    </div>
  )
}
