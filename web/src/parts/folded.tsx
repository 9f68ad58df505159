/** Content that is folded when it is higher than some lines: only its own height tells, on a phone too. */
import './folded.css'
import { useEffect, useRef, useState, type ReactNode } from 'react'
import { t } from '../texts/texts.tsx'

interface Props {
  /** What is folded, for the button: `note`. */
  name: string
  children: ReactNode
}

export function Fold({ name, children }: Props) {
  const body = useRef<HTMLDivElement>(null)
  const [isHigh, setHigh] = useState(false)
  const [isOpen, setOpen] = useState(false)
  useEffect(() => {
    const element = body.current
    if (!element || isOpen) return
    const look = () => setHigh(element.scrollHeight > element.clientHeight + 1)
    const observer = new ResizeObserver(look)
    observer.observe(element)
    return () => observer.disconnect()
  }, [isOpen])
  return (
    <div data-folded={(isHigh && !isOpen) || undefined}>
      <div ref={body} className={isOpen ? undefined : 'folded'}>
        {children}
      </div>
      {isHigh && (
        <button type="button" className="quiet folded-more" onClick={() => setOpen(!isOpen)}>
          {isOpen ? t('Show less') : t('Show all')}
          <span className="sr-only"> {t('of {name}', { name })}</span>
        </button>
      )}
    </div>
  )
}
