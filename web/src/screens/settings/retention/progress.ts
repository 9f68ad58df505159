/** Reading again when a sweep has come further: what it removes, and what it leaves, is told by no event. */
import { useEffect, useRef } from 'react'

/** `progress`: how far the sweeps are, as text. */
export function useProgress(progress: string, reload: () => void): void {
  const before = useRef(progress)
  useEffect(() => {
    if (before.current !== progress) reload()
    before.current = progress
  }, [progress, reload])
}
