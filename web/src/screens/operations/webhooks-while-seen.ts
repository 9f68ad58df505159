/** Reading again now and then: the feed has no event for each delivery. */
import { useEffect, useRef } from 'react'

const everyMs = 4_000

/** Reads again every few seconds while the page is seen. */
export function useWhileSeen(read: () => void): void {
  const latest = useRef(read)
  useEffect(() => {
    latest.current = read
  })
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') latest.current()
    }, everyMs)
    return () => clearInterval(timer)
  }, [])
}
