/** What stands where data would: while it loads, when there is none, when it failed. */
import { Component, useEffect, useState, type ReactNode } from 'react'
import { messageOf } from '../api/client.ts'
import { t } from '../texts/texts.tsx'

/** Grey lines, shown only when loading takes long enough to be noticed. */
export function Skeleton({ lines = 4 }: { lines?: number }) {
  const [isShown, setShown] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), 150)
    return () => clearTimeout(timer)
  }, [])
  if (!isShown) return null
  return (
    <div className="skeleton" role="status" aria-label={t('Loading')}>
      {Array.from({ length: lines }, (_, at) => (
        <div key={at} />
      ))}
    </div>
  )
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <h2>{title}</h2>
      {children && <p>{children}</p>}
    </div>
  )
}

/** Why something could not be read or done, with a way on. */
export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
  return (
    <div className="failure" role="alert">
      <p>{messageOf(error)}</p>
      {retry && (
        <button type="button" onClick={retry}>
          {t('Try again')}
        </button>
      )}
    </div>
  )
}

/** Keeps a part that cannot be drawn or loaded from taking the page with it. */
export class Boundary extends Component<
  { children: ReactNode; renderFallback: (retry: () => void) => ReactNode },
  { failed: boolean }
> {
  override state = { failed: false }
  static getDerivedStateFromError() {
    return { failed: true }
  }
  override render() {
    return this.state.failed
      ? this.props.renderFallback(() => this.setState({ failed: false }))
      : this.props.children
  }
}
